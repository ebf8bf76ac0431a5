"""The step at which a curve first reaches a level."""

import numpy as np


def first_crossing(steps: np.ndarray, curve: np.ndarray, level: float) -> float:
    """Return the step at which a rising `curve` [evaluations] first reaches `level`.

    `steps` [evaluations] are the steps of its evaluations. Between two evaluations the curve is the
    straight line through them. Infinite if the level is never reached; NaN counts as not reached.
    For a falling curve, pass the negative of curve and level.
    """
    reached = np.flatnonzero(curve >= level)
    if not len(reached):
        return np.inf
    after = int(reached[0])
    if after == 0:
        return float(steps[0])
    low = curve[after - 1]
    high = curve[after]
    return float(
        steps[after - 1] + (level - low) / (high - low) * (steps[after] - steps[after - 1])
    )
