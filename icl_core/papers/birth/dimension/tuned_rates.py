"""What the curves and the one-step memory tell: the tuned learning rate, when a width arrives,
theory's contour."""

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.papers.birth.dimension.settings import FACTORS
from icl_core.statistics.crossing import first_crossing

HALF = 0.5
FIXED = FACTORS.index(1.0)
FROM = 64  # the least width of which theory's recall is held against simulation


def over_training(run: Run) -> np.ndarray:
    """Return the mean recall over the training, [seeds, widths, rates]: what a learning rate is
    tuned for."""
    steps = run["curve/step"]
    return np.trapezoid(run["curve/recall"], steps, axis=-1) / (steps[-1] - steps[0])


def tuned(run: Run) -> np.ndarray:
    """Return the index of the best learning rate of each width, by the mean over seeds,
    [widths]."""
    return np.nan_to_num(over_training(run)).mean(0).argmax(-1)


def at_rates(values: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """[seeds, widths, rates, …] at a rate for each width, [seeds, widths, …]."""
    return np.stack([values[:, width, rate] for width, rate in enumerate(rates)], 1)


def fixed(run: Run) -> np.ndarray:
    """Return the fixed learning rate's index, for each width."""
    return np.full(len(run["task/widths"]), FIXED)


def halves(run: Run, rates: np.ndarray) -> np.ndarray:
    """Return the step at which each seed recalls half of the pairs, [seeds, widths]; infinite where
    it never does."""
    curves = at_rates(run["curve/recall"], rates)
    return np.array(
        [[first_crossing(run["curve/step"], curve, HALF) for curve in seed] for seed in curves]
    )


def contour(run: Run, level: float) -> np.ndarray:
    """Return the width at which theory's recall passes a level, for each number of batches, the
    mean over seeds; NaN where it does not between the ends of `theory/fine`."""
    fine = run["theory/fine"]
    recall = run["theory/recall"].mean(0)
    found = np.array([first_crossing(np.log(fine), row, level) for row in recall])
    return np.where(np.isfinite(found) & (found > np.log(fine[0])), np.exp(found), np.nan)


def at_widths(run: Run) -> np.ndarray:
    """Theory's recall at the widths of the run, the mean over seeds, [numbers, widths]."""
    fine = np.log(run["theory/fine"])
    recall = run["theory/recall"].mean(0)
    return np.array([np.interp(np.log(run["task/widths"]), fine, row) for row in recall])
