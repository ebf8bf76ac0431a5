"""The story of the formulas as printed."""

from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import HEADLINE, Beat, Question, Story, Task, Try
from icl_core.figures import number_text
from icl_core.papers.gdssm.corrections.run import best_gain, gain
from icl_core.papers.gdssm.corrections.settings import Config
from icl_core.papers.gdssm.shared.captions import EXAMPLE
from icl_core.papers.gdssm.shared.load_run import percent


def _left(run: Run, name: str) -> float:
    """Return what is left of the gain of a right step."""
    return best_gain(run, name) / best_gain(run, "right")


def _transposed(run: Run, view: Any) -> int:
    left = _left(run, "Q")
    return 0 if left > 0.9 else 1 if left > 0.1 else 2


def _transposed_said(run: Run, view: Any) -> str:
    right, printed = (percent(best_gain(run, name)) for name in ("right", "Q"))
    return (
        f"A right step removes {right} of the loss of predicting zero, the printed one {printed}."
    )


def _every(run: Run, view: Any) -> str:
    return (
        "A window holds x, y and the next x. If it moves on by one token and not by one pair, "
        "every other window adds an x and a y that do not belong together: "
        f"{percent(1 - _left(run, 'odd'))} of the gain is lost in their noise. So t in the "
        "formulas counts pairs."
    )


def _behind(run: Run, view: Any) -> int:
    one, other = np.abs(run["contexts/gradient"])
    return 0 if abs(one - other) < 0.01 * max(one, other) else 2 if min(one, other) < 1e-6 else 1


def _behind_said(run: Run, view: Any) -> str:
    one, other = (number_text(float(value) + 0.0) for value in run["contexts/gradient"])
    return (
        f"Both states are {number_text(float(run['contexts/state'][0]), 0)}; the gradients are "
        f"{one} and {other}."
    )


def _turned(run: Run, view: Any) -> str:
    return (
        f"At {number_text(view.times, 1)} times the best length the gain is "
        f"{number_text(gain(run, 'right', view.times), 2)}: worse than zero, as for any length "
        "below zero. That is the sign of eq. 13. Either the rate has the minus or the sum has it; "
        "with both plus or both minus it works."
    )


def _task(config: Config) -> str:
    return (
        f"A prompt shows {config.N} examples (x, y) of one linear map and asks for the y of a new "
        "x. No model is trained: what the paper prints for the layer is built as it stands, and "
        "asked."
    )


TRANSPOSED = Question(
    "The paper prints Q = e₁ e₂ᵀ, with which the state adds up x yᵀ. It should be y xᵀ. How much "
    "of the gain is left?",
    ("Nearly all of it: a transpose is a matter of notation", "About half", "Next to nothing"),
    _transposed,
    _transposed_said,
    "x yᵀ is y xᵀ on its diagonal alone, one of the f entries of each row. All other entries are "
    "noise, and at the best rate 1/f² of the gain is left.",
    (HEADLINE, "gains", "lengths", "table"),
)
BEHIND = Question(
    "For a non-linear model g(wᵀx) the paper has an MLP turn the state, ∑ (w₀ᵀx − y) x, into the "
    "gradient. The prompts of one pair (1, 1) and (2, ½) have the same state at w₀ = 0. With a "
    "sigmoid g, the same gradient too?",
    (
        "Yes, the same",
        "Not the same, but neither is zero",
        "No: one of them is zero and the other is not",
    ),
    _behind,
    _behind_said,
    "An MLP behind the sum sees one number for both prompts, so it cannot give both gradients. If "
    "the layer bends what it adds before it adds it up, the state is the gradient: the statement "
    "holds, and its proof does not.",
    ("table",),
)

STORY = Story(
    task=Task(_task, EXAMPLE),
    beats=(
        Beat(
            "transposed",
            "Nothing is trained here. A bar is a formula, and its height the share of the loss of "
            "predicting zero that it removes: its gain. Orange is what gradient descent gains.",
            marks=("gains",),
            ask=TRANSPOSED,
        ),
        Beat("every", _every, marks=("gains",)),
        Beat(
            "sign",
            "A step can be too short or too long. Against its length the gain is a parabola.",
            marks=("lengths",),
            view={"times": 1.0},
            do="Move “length of the step” (under View) below zero.",
            done=lambda view: view.times < 0,
            then=_turned,
        ),
        Beat(
            "behind",
            "Every formula has a row here: what is printed, what gives gradient descent, and what "
            "we measured.",
            marks=("table",),
            drawer="Formula by formula",
            ask=BEHIND,
        ),
        Beat(
            "close",
            "You have seen what the formulas give as they are printed. None of it touches the "
            "message of the paper: with the slips corrected, a state-space layer adds up a "
            "gradient.",
            marks=("gains",),
        ),
    ),
    tries=(
        Try(
            "Turn the step around: that is the sign of eq. 13. How much does it cost?",
            fields={"times": -1.0},
            marks=("lengths",),
        ),
        Try(
            "Two features only: how does Q as printed do now?",
            preset="small",
            marks=("gains",),
        ),
        Try(
            "Formula by formula: in the last row, what do the states share that the gradients do "
            "not?",
            drawer="Formula by formula",
            marks=("table",),
        ),
    ),
)
