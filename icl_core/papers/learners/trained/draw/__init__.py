"""The drawings of trained learners, and how each learner is drawn wherever it is."""

from typing import Any

import numpy as np

from icl_core import figures
from icl_core.contract.experiment import Run
from icl_core.contract.trained_learner import TrainedLearner
from icl_core.figures import Curve

DECADES = 3
LEAST = 10.0**-DECADES  # the ends of the axes of errors
LARGEST = 2.0
ROOM = 1.3  # of a plane around its points
MARK = 11  # pixels


def mark_of(learner: TrainedLearner) -> dict[str, Any]:
    """Return a learner's mark."""
    colour = figures.colour(learner.kind)
    return {
        "symbol": learner.symbol,
        "size": MARK,
        "color": colour,
        "line": {"color": colour, "width": 2},
    }


def curve_of(learner: TrainedLearner, steps: np.ndarray, run: Run) -> Curve:
    """Return what a learner leaves at every step at which it was evaluated, [evaluations]."""
    y = np.clip(run.tensors[f"curve/{learner.id}"], LEAST, None)
    return Curve(learner.short, steps, y, learner.kind, learner.dash)
