"""Whether a training had come to its end: what a claim about its result is not decided by."""

import numpy as np

SHARE = 10  # the last tenth of a curve is looked at
FEWEST = 5  # points


def still_falling(curve: np.ndarray, matters: float = 0.0) -> str:
    """A sentence if a loss was still falling over its last tenth, by more than two standard errors and by more than
    `matters`, in the curve's own units; else empty. `curve` [seeds, points] at equal distances."""
    fall, error = last_fall(curve)
    if not fall > max(2 * error, matters):
        return ""
    return f"The loss was still falling: by {fall:.2g} ± {error:.1g} over the last tenth of the training."


def last_fall(curve: np.ndarray) -> tuple[float, float]:
    """How far the last tenth of `curve` [seeds, points] falls along its line of least squares, as the mean over seeds,
    with its standard error: of the seeds' slopes, or of one seed's residuals. NaN for fewer than FEWEST points."""
    last = np.atleast_2d(curve)[:, -max(FEWEST, np.shape(curve)[-1] // SHARE) :]
    seeds, points = last.shape
    if points < FEWEST or not np.isfinite(last).all():
        return float("nan"), float("nan")
    at = np.arange(points) - (points - 1) / 2
    slopes = last @ at / (at @ at)  # [seeds]
    if seeds > 1:
        error = slopes.std(ddof=1) / seeds**0.5
    else:
        residuals = last[0] - last[0].mean() - slopes[0] * at
        error = (residuals @ residuals / (points - 2) / (at @ at)) ** 0.5
    return float(-slopes.mean() * (points - 1)), float(error * (points - 1))


def on_plateau(curve: np.ndarray, level: float, share: float = 0.02) -> str:
    """A sentence if some seed's loss had not left the plateau at `level` at its end: its last tenth is at most `share`
    below it; else empty. `curve` [seeds, points]."""
    last = np.atleast_2d(curve)[:, -max(1, np.shape(curve)[-1] // SHARE) :].mean(1)
    held = int((last > (1 - share) * level).sum())
    return f"{held} of {len(last)} seeds had not left the plateau at {level:.3g}." if held else ""
