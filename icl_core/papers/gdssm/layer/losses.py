"""What is read of a run's losses. The levels that they are compared with (Figure 4 A): the best of
as many steps of gradient descent, a single step, and steps that share one rate. When a training has
arrived: the step from which on its loss stays within 1% of L*. The loss on tasks whose x is larger
or smaller than in training (Figures 1 D and 2 D)."""

from typing import Any, NamedTuple

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.figures import mean_of
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import closed_forms, train
from icl_core.papers.gdssm.shared.load_run import constructed_of, curve_of, row_of, trained_at
from icl_core.papers.gdssm.shared.settings import Config

COUNTED = ("no", "one", "two", "three", "four")
ZERO = "predicting zero"
SINGLE = "one step"
SHARED = "one rate"
# the cases in which the levels mean something else; words.md has a text for each
CASES = ("one layer", "penalised layers", "loops", "several layers")
ARRIVED = 0.01  # the share above L* within which a loss stays
TASKS = (2**12, 2**19)  # at the scale that is looked at: at most, and numbers of x at most
PLAIN = "gradient descent"  # the kind of a line that is grey and dashed


class Level(NamedTuple):
    """What some steps of gradient descent reach, as a line of `figures.curves`."""

    name: str
    loss: float
    kind: str = PLAIN  # "floor" is the best that as many steps can do as the model has layers


def case_of(config: Config) -> str:
    """Return which of `CASES` a model is."""
    if config.layers == 1:
        return "one layer"
    if config.penalty > 0:
        return "penalised layers"
    return "loops" if config.tied and config.layers > 2 else "several layers"


def levels(run: Run) -> list[Level]:
    """Return the levels of the best steps, a single one, and those of one rate. Up to two steps
    they are in closed form, else fitted to the run's own held-out tasks and known once it is
    evaluated.

    The lines know no penalty: with one built in, the steps of one rate are the construction, and no
    line.
    """
    config = run.config
    counted = COUNTED[run.config.layers]
    f = config.f
    N = config.N
    r = config.r
    one = closed_forms.best_loss(f, N, r)
    if config.layers == 1:
        return [Level("best expected loss", one, "floor")]
    best = f"{counted} steps, " + ("no penalty" if config.penalty > 0 else f"{counted} rates")
    if config.layers == 2:
        low = closed_forms.two_steps_free(f, N, r).loss
        tied = closed_forms.two_steps_shared(f, N, r).loss
    else:
        low, tied = (
            float(run.tensors.get(f"baseline/{name}", [np.nan])[0]) for name in ("floor", "shared")
        )
    shared = np.nan if config.penalty > 0 else tied
    known = [
        Level(best, low, "floor"),
        Level(SINGLE, one),
        Level(f"{counted} steps, {SHARED}", shared),
    ]
    return [level for level in known if np.isfinite(level.loss)]


def beaten(run: Run, ratio: float) -> list[str]:
    """Return the names of the simpler steps than which a trained model is better that is `ratio`
    times the construction, which is as good as the best steps: so the tasks' noise drops out."""
    best, *others = levels(run)
    return [
        level.name.replace(",", " of")
        for level in others
        if best.kind == "floor" and best.loss * ratio < level.loss
    ]


def watched_loss(run: Run) -> float:
    """Return the construction's loss on the tasks that the curves are watched on, NaN if it is not
    known yet."""
    return float(run.tensors.get("watched/constructed", [np.nan])[0])


def watched_off(run: Run) -> float:
    """Return by what share that loss differs from the best steps' over all tasks."""
    return abs(watched_loss(run) / levels(run)[0].loss - 1)


def above(run: Run, view: Any) -> tuple[float, float]:
    """Return by what share the loss at the view's snapshot is above the construction's on the same
    tasks, as the mean over seeds, and by what share predicting zero is."""
    x, rows = curve_of(run, "loss")
    step = run.step(view)
    beside = float(run["watched/constructed"][0])
    zero = float(run["baseline/zero"][0])
    shown = float(mean_of(rows)[np.abs(x - step).argmin()])
    return shown / beside - 1, zero / beside - 1


def late_by(steps: np.ndarray, arrivals: np.ndarray) -> float:
    """Return how far before an arrival [seeds] the evaluation before it lies, in steps, at most:
    what the arrival may be late by."""
    places = np.searchsorted(steps, arrivals[np.isfinite(arrivals)])
    return float((steps[places] - steps[np.maximum(places - 1, 0)]).max(initial=0))


def arrivals(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Return the steps [seeds] of the run's training and of ours beside it; NaN of a seed that has
    not arrived."""
    level = float(run["watched/constructed"][0])  # L* on the very tasks that are watched
    theirs = arrived(run["curve/step"], run["curve/loss"] / level - 1)
    ours = arrived(run["beside/step"], run["beside/loss"] / level - 1)
    return theirs, ours


def arrived(steps: np.ndarray, away: np.ndarray) -> np.ndarray:
    """Return the first of `steps` [points] from which on the share above L* `away` [seeds, points]
    stays within 1%."""
    near = np.abs(away) <= ARRIVED
    stays = np.logical_and.accumulate(near[:, ::-1], 1)[:, ::-1]
    return np.where(stays.any(1), steps[stays.argmax(1)], np.nan)


def spread(values: np.ndarray) -> str:
    """Return the steps or ratios of the seeds that arrived as text: "9,600 to 12,000"."""
    low, high = (
        f"{end:,.0f}" if end >= 10 else f"{end:.2g}"
        for end in (np.nanmin(values), np.nanmax(values))
    )
    return low if low == high else f"{low} to {high}"


def at_scale(run: Run, view: Any) -> tuple[float, float, float, int]:
    """Return the losses at the scale that the view asks for, trained, constructed and of predicting
    zero, and on how many fresh tasks."""
    config = run.config
    row = row_of(run, view)
    alpha = view.alpha
    tasks = train.held_out(config, TASKS).times(alpha).to("cpu")
    ours, theirs = (
        float(models.losses(model, tasks)[0])
        for model in (trained_at(run, -1, row), constructed_of(run))
    )
    return ours, theirs, closed_forms.zero_loss(config.f, alpha * config.r), len(tasks)


def off_closed_form(run: Run) -> float:
    """Return the largest relative gap to the closed form at any test scale and seed."""
    return float(np.abs(_losses_in_closed_form(run) / run["sweep/closed"] - 1).max())


def worse_than_zero(run: Run) -> float:
    """Return the test scale from which on the trained model is worse than predicting zero, of the
    seed that is farthest from sqrt 2."""
    losses = (
        _losses_in_closed_form(run)
        if np.isfinite(run["sweep/closed"]).all()
        else run["sweep/trained"]
    )
    scales = np.array([crossing(run["sweep/alpha"], row, run["sweep/zero"]) for row in losses])
    return float(scales[np.abs(scales - 2**0.5).argmax()])


def crossing(alpha: np.ndarray, losses: np.ndarray, zero: np.ndarray) -> float:
    """Return the scale from which on a loss is above that of predicting zero, by interpolation; the
    first scale if it is above everywhere, NaN if nowhere."""
    above = losses / zero - 1
    if (above > 0).all():
        return float(alpha[0])
    beyond = np.flatnonzero((above[1:] > 0) & (above[:-1] <= 0))
    if not len(beyond):
        return float("nan")
    i = beyond[-1]
    return float(alpha[i] + (alpha[i + 1] - alpha[i]) * -above[i] / (above[i + 1] - above[i]))


def _losses_in_closed_form(run: Run) -> np.ndarray:
    """Return, [seeds, scales], the closed form times trained over constructed on the same tasks,
    which removes most of the tasks' noise."""
    return run["sweep/closed"] * run["sweep/trained"] / run["sweep/constructed"]
