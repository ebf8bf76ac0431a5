"""When a training has arrived: the step from which on its loss stays within 1% of L*."""

import numpy as np

from icl_core.contract.experiment import Run

NEAR = 0.01


def apart(steps: np.ndarray, arrivals: np.ndarray) -> float:
    """Return how far before an arrival [seeds] the evaluation before it lies, in steps, at most:
    what the arrival may be late by."""
    places = np.searchsorted(steps, arrivals[np.isfinite(arrivals)])
    return float((steps[places] - steps[np.maximum(places - 1, 0)]).max(initial=0))


def arrivals(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Return the steps [seeds] of the run's training and of ours beside it; NaN of a seed that has
    not arrived."""
    level = float(run["watched/constructed"][0])  # L* on the very tasks that are watched
    theirs = arrived(run["curve/step"], run["curve/loss"] / level - 1)
    ours = arrived(run["beside/step"], run["beside/loss"] / level - 1)
    return theirs, ours


def arrived(steps: np.ndarray, away: np.ndarray) -> np.ndarray:
    """Return the first of `steps` [points] from which on the share above L* `away` [seeds, points]
    stays within 1%."""
    near = np.abs(away) <= NEAR
    stays = np.logical_and.accumulate(near[:, ::-1], 1)[:, ::-1]
    return np.where(stays.any(1), steps[stays.argmax(1)], np.nan)


def spread(values: np.ndarray) -> str:
    """Return the steps or ratios of the seeds that arrived as text: "9,600 to 12,000"."""
    low, high = (
        f"{end:,.0f}" if end >= 10 else f"{end:.2g}"
        for end in (np.nanmin(values), np.nanmax(values))
    )
    return low if low == high else f"{low} to {high}"
