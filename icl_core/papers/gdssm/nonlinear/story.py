"""The story of the models of sines."""

from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import FIRST, LAST, Beat, Question, Story, Task, Try, first_from
from icl_core.figures import number_text
from icl_core.papers.gdssm.nonlinear.draw import stage
from icl_core.papers.gdssm.nonlinear.load_run import (
    gained_blind,
    learned,
    lines,
    model_at,
    nearest_sine,
)
from icl_core.papers.gdssm.nonlinear.metrics import ratios
from icl_core.papers.gdssm.nonlinear.settings import Config
from icl_core.papers.gdssm.shared.captions import prompt
from icl_core.papers.gdssm.shared.load_run import percent, row_of
from icl_core.papers.gdssm.shared.typed_points import points

WAVES = 0.9  # R² of sin x and of cos x from which on features hold them
MLP = "mlp"  # the model that is asked for them
NEAR = 0.05  # as good
LINE = (
    "-4.5:-.36, -3.5:-.28, -2.5:-.2, -1.5:-.12, -.5:-.04, .5:.04, 1.5:.12, 2.5:.2, 3.5:.28, 4.5:.36"
)
# .4 sin 2 x
FASTER = (
    "-4.5:.17, -3.6:-.32, -2.7:.39, -1.8:.18, -.9:-.39, 0:0, .9:.39, 1.8:-.18, 2.7:-.39, 3.6:.32"
)
# drawers
OWN = "Your own points"
FIGURE = "Figure 4 B"


def _waves(run: Run) -> float | None:
    """Return the snapshot from which on the MLP's features hold both waves, with the first seed."""
    held = [
        learned(model_at(run, MLP, index, 0)).r2.min() > WAVES
        for index in range(len(run.snapshot_steps))
    ]
    return first_from(run.snapshot_steps, held)


def _learned(run: Run, view: Any) -> str:
    snapshot = run.snapshot_at(view)
    sine, cosine = (
        number_text(float(r2), 2)
        for r2 in learned(model_at(run, MLP, snapshot, row_of(run, view))).r2
    )
    return (
        f"By step {run.snapshot_steps[snapshot]} the MLP has turned x into waves. Its features "
        f"hold sin x with R² = {sine} and cos x with {cosine} (1 is all of it), and every sine is "
        "a sum of these two."
    )


def _drawn(run: Run, view: Any) -> tuple[float, float]:
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
    line, sine = _drawn(run, view)
    return 2 if max(line, sine) < 0.8 else 0 if line > sine else 1


def _of_line_said(run: Run, view: Any) -> str:
    line, sine = (percent(share) for share in _drawn(run, view))
    return (
        f"The nearest sine explains {sine} of the MLP's curve, the nearest straight line through "
        f"zero {line}."
    )


def _trained(run: Run, view: Any) -> int:
    away = float(np.median(ratios(run, "linear trained", "linear")))
    return 0 if away < -NEAR else 1 if away <= NEAR else 2


def _trained_said(run: Run, view: Any) -> str:
    gated, plain = (ratios(run, f"{id} trained", id) for id in ("linear gate", "linear"))
    lowest, highest, median = (
        f"{percent(abs(away))} {'more' if away > 0 else 'less'}"
        for away in map(float, (gated.min(), gated.max(), np.median(plain)))
    )
    return (
        f"In the median over seeds trained layers lose {median} than constructed ones. With the "
        f"gated unit single seeds lose from {lowest} to {highest}."
    )


def _blind(run: Run, view: Any) -> str:
    return (
        "A gated unit on the layer's output bends too, behind a linear embedding. But hide the "
        "labels of its prompt (diamonds), and it keeps "
        f"{percent(gained_blind(run, 'linear gate'))} of what it gained: most of its bend is the "
        "mean of all sines."
    )


def _close(run: Run, view: Any) -> str:
    ours = stage.loss_at_snapshot(run, view, stage.BENT)
    ideal = float(run["baseline/ideal"][0])
    return (
        "You have seen what has to bend: the features, before the layer adds anything up. On them "
        f"it loses {number_text(ours, 4)}, where one step of gradient descent on sin x and cos x "
        f"loses {number_text(ideal, 4)}."
    )


def _task(config: Config) -> str:
    return (
        f"A prompt shows {config.N} point{'s' * (config.N > 1)} (x, y) of one sine, with another "
        "amplitude and phase in every prompt, and asks for the y at a new x. One step of gradient "
        "descent on x is a straight line: something has to bend."
    )


OF_LINE = Question(
    "The models were trained on sines alone. Now the ten points of a prompt lie on a straight "
    "line. What does a model with an MLP draw through them?",
    ("A straight line", "A sine", "Neither: some other curve"),
    _of_line,
    _of_line_said,
    "Its features were learned once, and a prompt only weighs them. Whatever the points are, it "
    "answers with a sum of sin x and cos x.",
    ("points",),
)
TRAINED = Question(
    "The paper embeds x linearly. Leave out the gated unit behind: which layers lose less, trained "
    "ones, or ones constructed as a step of gradient descent?",
    (
        "Trained ones, by more than 5%",
        "Neither by more than 5%",
        "Constructed ones, by more than 5%",
    ),
    _trained,
    _trained_said,
    "Trained layers may multiply the query's x with itself, which a step of gradient descent does "
    "not. That bends the curve a little.",
    ("beside",),
)

STORY = Story(
    task=Task(
        _task,
        prompt(("−2.8", "−0.39"), ("−0.9", "0.04"), query="2.1", answer="0.02"),
    ),
    beats=(
        Beat(
            "before",
            "Before training. The dots are a prompt, and a curve is what a model answers at every "
            "x. No model knows yet what to do with the dots.",
            at=FIRST,
            marks=("fit", "features"),
        ),
        Beat("waves", _learned, at=_waves, marks=("features", "fit")),
        Beat(
            "line",
            "One step of gradient descent finds the weights of the features, and no new features.",
            at=LAST,
            marks=("points",),
            view={"points": LINE},
            drawer=OWN,
            ask=OF_LINE,
        ),
        Beat("blind", _blind, at=LAST, marks=("losses",)),
        Beat(
            "trained",
            "This is the comparison of the paper, behind a linear embedding: blue is trained, "
            "orange constructed.",
            at=LAST,
            marks=("beside",),
            drawer=FIGURE,
            ask=TRAINED,
        ),
        Beat("close", _close, at=LAST, marks=("fit", "losses")),
    ),
    tries=(
        Try(
            "Play the training: which curve bends, and which goes through the points?",
            step=0,
            marks=("fit",),
        ),
        Try(
            "Look at the features of the gated linear embedding: can they become waves?",
            fields={"features_of": "linear gate"},
            marks=("features",),
        ),
        Try(
            "Points of a wave that is twice as fast: what does the MLP make of them?",
            fields={"points": FASTER},
            drawer=OWN,
            marks=("points",),
        ),
        Try(
            "Two layers: are trained ones better than two steps of gradient descent now?",
            preset="several layers",
            drawer=FIGURE,
            marks=("beside",),
        ),
    ),
)
