"""Whether a training had come to its end: what a claim about its result is not decided by."""

import numpy as np

SHARE = 10  # the last tenth of a curve is looked at
FEWEST = 5  # points


def still_falling(curve: np.ndarray, matters: float = 0.0, steps: np.ndarray | None = None) -> str:
    """A sentence if a loss was still falling over its last tenth, by more than two standard errors
    and by more than `matters`, in the curve's own units, or if that cannot be told; else empty.
    `curve` [seeds, points] at `steps` [points], or at equal distances."""
    at = _steps(curve, steps)
    if steps is not None and len(at) >= FEWEST and at[-1] - at[-tail(at)] > (at[-1] - at[0]) / 2:
        return "The training was evaluated too rarely to tell whether its loss was still falling."
    fall, error = last_fall(curve, at)
    if not fall > max(2 * error, matters):
        return ""
    return (
        f"The loss was still falling: by {fall:.2g} ± {error:.1g} over the last tenth of the "
        "training."
    )


def tail(steps: np.ndarray, fewest: int = FEWEST) -> int:
    """How many of the last points at `steps` [points] lie in the last tenth; at least so many."""
    return max(fewest, int((steps > steps[-1] - (steps[-1] - steps[0]) / SHARE).sum()))


def last_fall(curve: np.ndarray, steps: np.ndarray | None = None) -> tuple[float, float]:
    """How far `curve` [seeds, points] falls over its last tenth, along the line of least squares
    through its `tail`, as the mean over seeds, with its standard error: of the seeds' slopes, or of
    one seed's residuals. NaN for fewer than FEWEST points."""
    at = _steps(curve, steps)
    last, tenth = np.atleast_2d(curve)[:, -tail(at) :], (at[-1] - at[0]) / SHARE
    seeds, points = last.shape
    if points < FEWEST or not np.isfinite(last).all():
        return float("nan"), float("nan")
    at = at[-points:] - at[-points:].mean()
    slopes = last @ at / (at @ at)  # [seeds]
    if seeds > 1:
        error = slopes.std(ddof=1) / seeds**0.5
    else:
        residuals = last[0] - last[0].mean() - slopes[0] * at
        error = (residuals @ residuals / (points - 2) / (at @ at)) ** 0.5
    width = min(np.ptp(at), tenth)
    return float(-slopes.mean() * width), float(error * width)


def on_plateau(
    curve: np.ndarray, level: float, share: float = 0.02, steps: np.ndarray | None = None
) -> str:
    """A sentence if some seed's loss had not left the plateau at `level` at its end: its last tenth
    is at most `share` below it; else empty. `curve` [seeds, points] at `steps` [points], or at
    equal distances."""
    last = np.atleast_2d(curve)[:, -tail(_steps(curve, steps), 1) :].mean(1)
    held = int((last > (1 - share) * level).sum())
    return f"{held} of {len(last)} seeds had not left the plateau at {level:.3g}." if held else ""


def _steps(curve: np.ndarray, steps: np.ndarray | None) -> np.ndarray:
    return (
        np.arange(np.shape(curve)[-1], dtype=float) if steps is None else np.asarray(steps, float)
    )
