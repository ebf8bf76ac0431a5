"""The median of independent values, with an interval that is exact whatever their distribution."""

import math

import numpy as np

CONFIDENCE = 0.95
NORMAL = 1.96  # standard errors to either side that a normal distribution has at that confidence


def interval(values: np.ndarray) -> tuple[float, float] | None:
    """Return the ends of the interval that holds the median of the distribution with 95 %
    confidence or more; None for fewer than six `values` [values], of which none is so certain.

    The number of values below the median is binomial with probability 1/2, so that the interval
    from the k-th smallest to the k-th largest misses it with probability 2 P(fewer than k below).
    """
    count = len(values)
    ordered = np.sort(values)
    missed = 0.0
    below = 0  # k - 1: how many values lie beyond each end
    while True:
        missed += 2 * math.comb(count, below) / 2**count
        if missed > 1 - CONFIDENCE:
            break
        below += 1
    if below == 0:
        return None
    return float(ordered[below - 1]), float(ordered[count - below])


def median_and_error(values: np.ndarray, limit: float) -> tuple[float, float | None]:
    """Return the median of `values` [values] and an error by which a claim with this `limit` is
    decided as the exact interval decides it: 1.96 such errors reach to the end of the interval
    that is on the side of the limit. The error is None for fewer than six values."""
    middle = float(np.median(values))
    ends = interval(values)
    if ends is None:
        return middle, None
    end = ends[0] if limit < middle else ends[1]
    return middle, abs(end - middle) / NORMAL
