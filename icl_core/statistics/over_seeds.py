"""The mean over seeds and its standard error."""

import numpy as np


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
