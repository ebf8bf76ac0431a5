"""The numbers in words.md, when a beat comes, and which answers are right."""

import numpy as np
from icl_core.papers.toy.walk.settings import Config, View

from icl_core.contract.experiment import Run
from icl_core.contract.story import Example
from icl_core.contract.words import Words


def losses(run: Run) -> np.ndarray:
    """Return the loss at every evaluation, the mean over seeds."""
    return run["curve/loss"].mean(0)


def _halved(run: Run) -> float | None:
    """Return the first evaluated step at which the loss is below half of what it was."""
    below = np.nonzero(losses(run) < losses(run)[0] / 2)[0]
    return float(run["curve/step"][below[0]]) if below.size else None


WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        "step": lambda run, view: run.step(view),
        "loss": lambda run, view: np.interp(run.step(view), run["curve/step"], losses(run)),
        "first_loss": lambda run, view: losses(run)[0],
        "last_loss": lambda run, view: losses(run)[-1],
    },
    at={"halved": _halved},
    right={"fall": lambda run, view: int(np.digitize(-losses(run)[-1], (-0.3, -0.05)))},
    done={"end": lambda view: view.seed_shown == 0},
    example=Example((("x₁", "x"), (" ", ""), ("y₁", "y"), ("   x₂ ", "query")), "y₂"),
)
