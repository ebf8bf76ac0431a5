"""What is told of it."""

import numpy as np
from icl_core.papers.toy.walk.settings import View

from icl_core.contract.experiment import Run
from icl_core.contract.story import FIRST, HEADLINE, LAST, Beat, Example, Question, Story, Task, Try


def _halved(run: Run) -> float | None:
    """The first evaluated step at which the loss is below half of what it was."""
    losses = run["curve/loss"].mean(0)
    below = np.nonzero(losses < losses[0] / 2)[0]
    return float(run["curve/step"][below[0]]) if below.size else None


def _fell(run: Run, view: View) -> str:
    losses = run["curve/loss"].mean(0)
    return f"It fell from {losses[0]:.2g} to {losses[-1]:.2g}."


STORY = Story(
    task=Task(
        "A teacher multiplies numbers by weights that the student never sees. From examples the "
        "student finds them.",
        Example((("x₁", "x"), (" ", ""), ("y₁", "y"), ("   x₂ ", "query")), "y₂"),
    ),
    beats=(
        Beat("start", "At first the student knows nothing.", FIRST, ("loss",)),
        Beat(
            "fall",
            "Half of the loss is gone soon.",
            _halved,
            ("loss",),
            ask=Question(
                "How far does the loss fall?",
                ("to a half", "to a tenth", "to less"),
                lambda run, view: int(np.digitize(-run["curve/loss"].mean(0)[-1], (-0.3, -0.05))),
                _fell,
                "Each step takes away a share of what is left.",
                ("loss", HEADLINE),
            ),
        ),
        Beat(
            "end",
            "In the end it has found the teacher.",
            LAST,
            ("weights",),
            {"seed_shown": 1},
            do="Look at seed 0.",
            done=lambda view: view.seed_shown == 0,
            then="Each seed finds it.",
        ),
    ),
    tries=(Try("A larger step diverges: raise the rate", fields={"rate": 5.0}, marks=("loss",)),),
)
