"""What the curves and the one-step memory say: the tuned learning rate, when a width arrives, and
theory's contour."""

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.statistics import first_crossing
from icl_core.papers.birth.dimension.settings import FACTORS

HALF = 0.5  # of the pairs
FIXED = FACTORS.index(1.0)  # the index of the fixed learning rate
FROM = 64  # the least width at which theory's recall is compared with simulation


def over_training(run: Run) -> np.ndarray:
    """Return the mean recall over the training, [seeds, widths, rates]: learning rates are tuned
    for it."""
    steps = run["curve/step"]
    return np.trapezoid(run["curve/recall"], steps, axis=-1) / (steps[-1] - steps[0])


def tuned(run: Run) -> np.ndarray:
    """Return the index of the best learning rate of each width, by the mean over seeds,
    [widths]."""
    recalls = np.nan_to_num(over_training(run)).mean(0)  # (widths, rates)
    return recalls.argmax(-1)


def at_rates(values: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Return `values` [seeds, widths, rates, …] at one rate of each width, [seeds, widths, …].

    `rates` [widths] holds the index of each width's rate.
    """
    return np.stack([values[:, width, rate] for width, rate in enumerate(rates)], 1)


def fixed(run: Run) -> np.ndarray:
    """Return the index of the fixed learning rate once for each width, [widths]."""
    return np.full(len(run["task/widths"]), FIXED)


def halves(run: Run, rates: np.ndarray) -> np.ndarray:
    """Return the training step at which each seed recalls half of the pairs, [seeds, widths], at
    the rates of these indices [widths]; infinite where it never does."""
    steps = run["curve/step"]
    arrivals = []
    for curves in at_rates(run["curve/recall"], rates):  # (widths, evaluations), of a seed
        arrivals.append([first_crossing(steps, curve, HALF) for curve in curves])
    return np.array(arrivals)


def contour(run: Run, level: float) -> np.ndarray:
    """Return the width at which theory's recall, the mean over seeds, passes a level, for each
    number of batches, [numbers]; NaN where it does not between the ends of `theory/fine`."""
    log_widths = np.log(run["theory/fine"])  # (fine,)
    recall = run["theory/recall"].mean(0)  # (numbers, fine)
    crossings = np.array([first_crossing(log_widths, row, level) for row in recall])
    inside = np.isfinite(crossings) & (crossings > log_widths[0])
    return np.where(inside, np.exp(crossings), np.nan)


def at_widths(run: Run) -> np.ndarray:
    """Return theory's recall at the widths of the run, the mean over seeds, [numbers, widths]; it
    is interpolated over the logarithm of the width."""
    log_fine = np.log(run["theory/fine"])  # (fine,)
    log_widths = np.log(run["task/widths"])  # (widths,)
    recall = run["theory/recall"].mean(0)  # (numbers, fine)
    return np.array([np.interp(log_widths, log_fine, row) for row in recall])
