"""When the head has formed, and how that time grows with the sequence length."""

from typing import NamedTuple

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.statistics import first_crossing, standard_error
from icl_core.figures import number_text as number

# A model of one layer, without a head, gets little more than half of the predictions right (the
# induction head's experiment measures .57), so at .8 there is a head. A memory counts as formed
# when it recalls half of its pairs.
LEVELS = {"accuracy": 0.8, "W_K2": 0.5, "W_K1": 0.5}
QUADRATIC = 2.0  # the slope of a time that grows with the square of the length


class Slope(NamedTuple):
    """How a time grows with the length T: as T to the power `mean`, the mean over seeds. `error` is
    its standard error, None for one seed."""

    mean: float
    error: float | None


def times(run: Run, measure: str, optimiser: str) -> np.ndarray:
    """Return the training steps until a measure reaches its level, [seeds, lengths]; infinite where
    it never does."""
    steps = run["curve/step"]
    level = LEVELS[measure]
    arrivals = []
    for curves in run[f"curve/{measure}_{optimiser}"]:  # (lengths, evaluations), of a seed
        arrivals.append([first_crossing(steps, curve, level) for curve in curves])
    return np.array(arrivals)


def slopes(lengths: np.ndarray, arrivals: np.ndarray) -> np.ndarray:
    """Return the slope of log time against log length, by least squares, of each seed that arrives
    at every length, [those seeds].

    `lengths` is [lengths], `arrivals` are the times [seeds, lengths].
    """
    complete = arrivals[np.isfinite(arrivals).all(1)]  # (those seeds, lengths)
    log_times = np.log(np.maximum(complete, 1.0))  # at least one step, as log 0 is infinite
    x = np.log(lengths) - np.log(lengths).mean()  # (lengths,)
    return log_times @ x / (x @ x)


def mean_times(steps: np.ndarray) -> np.ndarray:
    """Return the geometric mean over seeds of steps [seeds, lengths]; infinite where one never
    arrives."""
    return np.exp(np.log(np.maximum(steps, 1.0)).mean(0))


def slope(run: Run, measure: str, optimiser: str) -> Slope | None:
    """Return the mean slope over seeds; None if no seed arrives at every length."""
    values = slopes(run["task/lengths"], times(run, measure, optimiser))
    return Slope(float(values.mean()), standard_error(values)) if len(values) else None


def doubling(run: Run, measure: str, optimiser: str) -> float:
    """Return how many times as long it takes when the length is doubled, by the slope; NaN if no
    seed arrives at every length."""
    growth = slope(run, measure, optimiser)
    return 2**growth.mean if growth else float("nan")


def written(growth: Slope | None) -> str:
    """Return a slope in words: its mean and, of several seeds, its standard error."""
    if growth is None:
        return "unknown"
    mean = number(growth.mean, 2)
    if growth.error is None:
        return mean
    return f"{mean} ± {number(growth.error, 2)}"
