"""The numbers in words.md, and which answers are right."""

from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import first_from
from icl_core.contract.words import Reading, Words
from icl_core.papers.gdssm.nonlinear.claims import ratios
from icl_core.papers.gdssm.nonlinear.load_run import (
    gained_blind,
    learned,
    lines,
    loss_at_snapshot,
    model_at,
    nearest_sine,
)
from icl_core.papers.gdssm.nonlinear.settings import BENT, STRAIGHT, Config, View
from icl_core.papers.gdssm.nonlinear.train import MEAN, WATCHED
from icl_core.papers.gdssm.shared.captions import prompt
from icl_core.papers.gdssm.shared.load_run import row_of
from icl_core.papers.gdssm.shared.typed_points import points

WAVES = 0.9  # R² of sin x and of cos x from which on features hold them
MLP = "mlp"  # the model that is asked for them
NEAR = 0.05  # as good


def _tensor(name: str) -> Reading:
    """Return the reading of a loss, as the mean over seeds."""
    return lambda run, view: float(run[name].mean())


def _share_left(id: str) -> Reading:
    """Return the reading of how much of the loss of predicting zero a model leaves."""
    return lambda run, view: float(run[f"evaluated/{id}"].mean()) / float(run["baseline/zero"][0])


def _waves(run: Run) -> float | None:
    """Return the snapshot from which on the MLP's features hold both waves, with the first seed."""
    snapshots = range(len(run.snapshot_steps))
    hold = [learned(model_at(run, MLP, index, 0)).r2.min() > WAVES for index in snapshots]
    return first_from(run.snapshot_steps, hold)


def _r2(wave: int) -> Reading:
    """Return the reading of how much of sin x (0) or cos x (1) the MLP's features hold."""
    return lambda run, view: float(
        learned(model_at(run, MLP, run.snapshot_at(view), row_of(run, view))).r2[wave]
    )


def _explains(run: Run, view: Any) -> tuple[float, float]:
    """Return how much of the MLP's curve through the view's points, as R², the nearest line through
    zero makes, and how much the nearest sine."""
    pairs = np.array(points(view.points), dtype=np.float32)
    curves = lines(run, pairs, run.snapshot_at(view), row_of(run, view))
    x = curves["x"]
    y = curves[MLP]
    nearest = x * (x @ y) / (x @ x), nearest_sine(np.stack([x, y], 1), x)
    line, sine = (1 - float(((y - curve) ** 2).sum() / (y**2).sum()) for curve in nearest)
    return line, sine


def _of_line(run: Run, view: Any) -> int:
    line, sine = _explains(run, view)
    return 2 if max(line, sine) < 0.8 else 0 if line > sine else 1


def _trained_above(run: Run, id: str) -> np.ndarray:
    """Return the loss of trained layers over that of constructed ones less 1, seed by seed."""
    return ratios(run, f"{id} trained", id)


def _trained(run: Run, view: Any) -> int:
    above = float(np.median(_trained_above(run, "linear")))
    return 0 if above < -NEAR else 1 if above <= NEAR else 2


def _compared(text: str, id: str, of_seeds: Any = np.median) -> Reading:
    """Return the reading of where trained layers stand beside constructed ones, as the text says
    it: in the median over seeds, or in the least or the most of them."""

    def reading(run: Run, view: Any) -> str:
        above = float(of_seeds(_trained_above(run, id)))
        return WORDS.text(text, size=abs(above), above=above > 0)

    return reading


WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        # what is shown
        "step": lambda run, view: run.step(view),
        "shown_seed": lambda run, view: row_of(run, view) + 1,
        "finished": lambda run, view: run.finished,
        # losses at the step shown: behind an MLP embedding and a linear one, both gated
        "bent_loss": lambda run, view: loss_at_snapshot(run, view, BENT),
        "straight_loss": lambda run, view: loss_at_snapshot(run, view, STRAIGHT),
        "straight_over_bent": lambda run, view: (
            loss_at_snapshot(run, view, STRAIGHT) / loss_at_snapshot(run, view, BENT)
        ),
        "watched": lambda run, view: WATCHED,
        # at the end
        "bent_left": _share_left(BENT),
        "straight_left": _share_left(STRAIGHT),
        "straight_blind_loss": _tensor(f"evaluated/{STRAIGHT}/blind"),
        "blind_share": lambda run, view: gained_blind(run, STRAIGHT),
        "holds_trained": lambda run, view: "linear trained" in run.names("variants"),
        "trained_loss": _tensor("evaluated/linear trained"),
        # of gradient descent on sin x and cos x, the best straight lines, the mean of all sines
        "ideal_loss": _tensor("baseline/ideal"),
        "line_loss": _tensor("baseline/line"),
        "mean_loss": _tensor("baseline/mean"),
        "mean_height": lambda run, view: MEAN,
        # trained layers beside constructed ones
        "plain_standing": _compared("standing", "linear"),
        "gated_standing": _compared("standing", "linear gate"),
        "median_plain": _compared("loses", "linear"),
        "least_gated": _compared("loses", "linear gate", np.min),
        "most_gated": _compared("loses", "linear gate", np.max),
        # what the MLP has learned, and draws through the points
        "sine_r2": _r2(0),
        "cosine_r2": _r2(1),
        "line_explains": lambda run, view: _explains(run, view)[0],
        "sine_explains": lambda run, view: _explains(run, view)[1],
    },
    at={"waves": _waves},
    right={"line": _of_line, "trained": _trained},
    example=prompt(("−2.8", "−0.39"), ("−0.9", "0.04"), query="2.1", answer="0.02"),
)
