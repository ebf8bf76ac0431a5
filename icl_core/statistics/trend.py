"""Whether a training had converged when it ended; a claim about a result is not decided before."""

import numpy as np

from icl_core.statistics.over_seeds import standard_error

SHARE = 10  # the trend is that of a curve's last tenth
FEWEST = 5  # the number of evaluations from which on a line is fitted


def still_falling(curve: np.ndarray, matters: float = 0.0, steps: np.ndarray | None = None) -> str:
    """Return a sentence if a loss was still falling over its last tenth, else an empty string.

    A fall counts if it exceeds two standard errors and `matters`, in the curve's own units. Too few
    evaluations in the last tenth also give a sentence. `curve` is [seeds, evaluations], or
    [evaluations] of one seed; `steps` [evaluations] are equally spaced if None.
    """
    at = _steps(curve, steps)
    if steps is not None and len(at) >= FEWEST and at[-1] - at[-tail(at)] > (at[-1] - at[0]) / 2:
        return "The training was evaluated too rarely to tell whether its loss was still falling."
    fall, error = last_fall(curve, at)
    if not fall > max(2 * error, matters):  # NaN is no fall
        return ""
    return (
        f"The loss was still falling: by {fall:.2g} ± {error:.1g} over the last tenth of the "
        "training."
    )


def tail(steps: np.ndarray, fewest: int = FEWEST) -> int:
    """Return how many evaluations at `steps` [evaluations] lie in the last tenth, at least
    `fewest`."""
    return max(fewest, int((steps > steps[-1] - (steps[-1] - steps[0]) / SHARE).sum()))


def last_fall(curve: np.ndarray, steps: np.ndarray | None = None) -> tuple[float, float]:
    """Return how far `curve` falls over its last tenth, as the mean over seeds, and its standard
    error.

    The fall is that of the least-squares line through the last `tail` evaluations. The error is
    computed from the seeds' slopes or, for one seed, from its residuals. `curve` is
    [seeds, evaluations], or [evaluations] of one seed. Both numbers are NaN if there are fewer than
    FEWEST evaluations or if one is not finite.
    """
    at = _steps(curve, steps)
    last = np.atleast_2d(curve)[:, -tail(at) :]  # [seeds, points]
    tenth = (at[-1] - at[0]) / SHARE
    points = last.shape[1]
    if points < FEWEST or not np.isfinite(last).all():
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
    last = np.atleast_2d(curve)[:, -tail(_steps(curve, steps), 1) :].mean(1)  # [seeds]
    remaining = int((last > (1 - share) * level).sum())
    if not remaining:
        return ""
    return f"{remaining} of {len(last)} seeds had not left the plateau at {level:.3g}."


def _steps(curve: np.ndarray, steps: np.ndarray | None) -> np.ndarray:
    if steps is None:
        return np.arange(np.shape(curve)[-1], dtype=float)
    return np.asarray(steps, float)
