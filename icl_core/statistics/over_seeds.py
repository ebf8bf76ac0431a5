"""The mean over seeds, its standard error, and how many of these make it certain."""

import numpy as np

# Quantiles of Student's t distribution: with so many degrees of freedom, from 1 on, 95 % of all
# draws lie within this distance of 0.
_QUANTILES = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
_NORMAL = 1.960  # that of the normal distribution, which many degrees of freedom come to


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
