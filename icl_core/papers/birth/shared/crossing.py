"""When a curve first reaches a level."""

import numpy as np


def first_crossing(steps: np.ndarray, curve: np.ndarray, level: float) -> float:
    """The step at which a curve [evaluations] first reaches a level, between two evaluations on the
    line through them; infinite if it never does."""
    passed = np.flatnonzero(curve >= level)
    if not len(passed):
        return np.inf
    at = int(passed[0])
    if at == 0:
        return float(steps[0])
    low, high = curve[at - 1], curve[at]
    return float(steps[at - 1] + (level - low) / (high - low) * (steps[at] - steps[at - 1]))
