"""When the head stands, and how that grows with the length."""

from typing import NamedTuple

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.figures import number_text as number
from icl_core.statistics.crossing import first_crossing
from icl_core.statistics.over_seeds import standard_error

# A model of one layer, without a head, gets little more than half of the predictions right (the
# induction head's experiment measures .57), so at .8 there is a head. A memory is half there when
# it recalls half of its pairs.
LEVELS = {"accuracy": 0.8, "W_K2": 0.5, "W_K1": 0.5}
QUADRATIC = 2.0


class Slope(NamedTuple):
    """How a time grows with the length: as T to the power `mean`, over seeds; `error` is None for
    one seed."""

    mean: float
    error: float | None


def times(run: Run, measure: str, optimiser: str) -> np.ndarray:
    """Training steps until a measure reaches its level, [seeds, lengths]; infinite where it never
    does."""
    curves = run[f"curve/{measure}_{optimiser}"]
    steps = run["curve/step"]
    return np.array(
        [[first_crossing(steps, curve, LEVELS[measure]) for curve in seed] for seed in curves]
    )


def slopes(lengths: np.ndarray, arrived: np.ndarray) -> np.ndarray:
    """Return the slope of log time against log length, by least squares, of each seed that arrives
    at every length."""
    whole = arrived[np.isfinite(arrived).all(1)]
    x = np.log(lengths) - np.log(lengths).mean()
    return np.log(np.maximum(whole, 1.0)) @ x / (x @ x)


def slope(run: Run, measure: str, optimiser: str) -> Slope | None:
    """Return the mean slope over seeds; None if no seed arrives at every length."""
    found = slopes(run["task/lengths"], times(run, measure, optimiser))
    return Slope(float(found.mean()), standard_error(found)) if len(found) else None


def doubling(run: Run, measure: str, optimiser: str) -> float:
    """Return how many times as long it takes when the length is doubled, by the slope; NaN if that
    is not known."""
    found = slope(run, measure, optimiser)
    return 2**found.mean if found else float("nan")


def written(found: Slope | None) -> str:
    """Return a slope in words."""
    if found is None:
        return "unknown"
    return number(found.mean, 2) + (
        f" ± {number(found.error, 2)}" if found.error is not None else ""
    )
