"""Means over seeds, their differences, medians, crossings and trends of measured curves.

Imports nothing of the project.
"""

import math

import numpy as np

# Quantiles of Student's t distribution: with so many degrees of freedom, from 1 on, 95 % of all
# draws lie within this distance of 0.
_QUANTILES = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
_NORMAL = 1.96  # that of the normal distribution, which many degrees of freedom come to


def standard_error(values: np.ndarray) -> float | None:
    """Return the standard error of the mean of `values` [seeds]; None for a single seed.

    The standard deviation is the sample's, with one degree of freedom less than there are seeds.
    """
    if len(values) < 2:
        return None
    return float(np.std(values, ddof=1) / len(values) ** 0.5)


def mean_and_error(values: np.ndarray) -> tuple[float, float | None]:
    """Return the mean of `values` [seeds] and its standard error, None for a single seed."""
    return float(values.mean()), standard_error(values)


def certain_from(count: int | None) -> float:
    """Return how many standard errors from a limit a mean lies on one side of it for certain.

    Certain is 95 % confidence, by Student's t, two-sided: of two values one needs 12.7 standard
    errors, of three 4.3, of five 2.8. `count` is the number of independent values behind the mean,
    at least two; None stands for so many that their spread is known.
    """
    if count is None or count - 1 > len(_QUANTILES):
        return _NORMAL
    return _QUANTILES[count - 2]


ROUNDING = 1e-9  # a difference as small is one of rounding


def error_of_difference(first: float | None, second: float | None) -> float | None:
    """Return the standard error of the difference of two independent means from theirs; None if
    one of them is not known."""
    if first is None or second is None:
        return None
    return float((first**2 + second**2) ** 0.5)


def is_certain(
    difference: float, errors: tuple[float | None, float | None], counts: tuple[int | None, ...]
) -> bool:
    """Return whether a difference of two means is not zero with 95 % confidence, by Welch's test.

    errors  the standard error of each mean
    counts  the number of independent values behind each, at least two; None for so many that their
            spread is known

    The degrees of freedom are those of Welch and Satterthwaite, rounded down: to the safe side.
    Where all values behind a mean are the same, such as an accuracy of 1 for every seed, its error
    is 0. Of two such means any difference beyond rounding is certain, as the test knows no spread
    but that of these values.
    """
    if math.isclose(difference, 0.0, abs_tol=ROUNDING):
        return False
    error = error_of_difference(*errors)
    if error is None:
        return False
    squares = [float(one_error or 0.0) ** 2 for one_error in errors]
    weights = [
        square**2 / (count - 1)
        for square, count in zip(squares, counts, strict=True)
        if count is not None
    ]
    if not sum(weights):  # known spreads, or none at all
        return abs(difference) > certain_from(None) * error
    freedom = max(1, int(sum(squares) ** 2 / sum(weights)))
    return abs(difference) > certain_from(freedom + 1) * error


CONFIDENCE = 0.95  # of the interval of a median


def median_interval(values: np.ndarray) -> tuple[float, float] | None:
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
    ends = median_interval(values)
    if ends is None:
        return middle, None
    end = ends[0] if limit < middle else ends[1]
    return middle, abs(end - middle) / _NORMAL


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


TREND_SHARE = 10  # the trend is that of a curve's last tenth
FEWEST_FITTED = 5  # the number of evaluations from which on a line is fitted


def still_falling(curve: np.ndarray, matters: float = 0.0, steps: np.ndarray | None = None) -> str:
    """Return a sentence if a loss was still falling over its last tenth, else an empty string.

    A fall counts if it exceeds two standard errors and `matters`, in the curve's own units. Too few
    evaluations in the last tenth also give a sentence. `curve` is [seeds, evaluations], or
    [evaluations] of one seed; `steps` [evaluations] are equally spaced if None.
    """
    at = _evaluation_steps(curve, steps)
    if (
        steps is not None
        and len(at) >= FEWEST_FITTED
        and at[-1] - at[-last_tenth(at)] > (at[-1] - at[0]) / 2
    ):
        return "The training was evaluated too rarely to tell whether its loss was still falling."
    fall, error = last_fall(curve, at)
    if not fall > max(2 * error, matters):  # NaN is no fall
        return ""
    return (
        f"The loss was still falling: by {fall:.2g} ± {error:.1g} over the last tenth of the "
        "training."
    )


def last_tenth(steps: np.ndarray, fewest: int = FEWEST_FITTED) -> int:
    """Return how many evaluations at `steps` [evaluations] lie in the last tenth, at least
    `fewest`."""
    return max(fewest, int((steps > steps[-1] - (steps[-1] - steps[0]) / TREND_SHARE).sum()))


def last_fall(curve: np.ndarray, steps: np.ndarray | None = None) -> tuple[float, float]:
    """Return how far `curve` falls over its last tenth, as the mean over seeds, and its standard
    error.

    The fall is that of the least-squares line through the `last_tenth` of the evaluations. The
    error is computed from the seeds' slopes or, for one seed, from its residuals. `curve` is
    [seeds, evaluations], or [evaluations] of one seed. Both numbers are NaN if there are fewer than
    FEWEST_FITTED evaluations or if one is not finite.
    """
    at = _evaluation_steps(curve, steps)
    last = np.atleast_2d(curve)[:, -last_tenth(at) :]  # [seeds, points]
    tenth = (at[-1] - at[0]) / TREND_SHARE
    points = last.shape[1]
    if points < FEWEST_FITTED or not np.isfinite(last).all():
        return float("nan"), float("nan")
    at = at[-points:] - at[-points:].mean()  # [points], centred
    slopes = last @ at / (at @ at)  # [seeds]
    error = standard_error(slopes)
    if error is None:
        residuals = last[0] - last[0].mean() - slopes[0] * at  # [points]
        error = (residuals @ residuals / (points - 2) / (at @ at)) ** 0.5
    width = min(np.ptp(at), tenth)
    return float(-slopes.mean() * width), float(error * width)


def on_plateau(
    curve: np.ndarray, level: float, share: float = 0.02, steps: np.ndarray | None = None
) -> str:
    """Return a sentence if some seed ended on the plateau at `level`, else an empty string.

    A seed is on the plateau if the mean of its last tenth is at most the fraction `share` below it.
    `curve` is [seeds, evaluations]; `steps` [evaluations] are equally spaced if None.
    """
    at = _evaluation_steps(curve, steps)
    last = np.atleast_2d(curve)[:, -last_tenth(at, 1) :].mean(1)  # [seeds]
    remaining = int((last > (1 - share) * level).sum())
    if not remaining:
        return ""
    return f"{remaining} of {len(last)} seeds had not left the plateau at {level:.3g}."


def _evaluation_steps(curve: np.ndarray, steps: np.ndarray | None) -> np.ndarray:
    if steps is None:
        return np.arange(np.shape(curve)[-1], dtype=float)
    return np.asarray(steps, float)
