"""Natural logarithms of losses, as the paper's figures show them."""

from typing import Any

import numpy as np

LEAST = 1e-12  # a loss below it is zero to rounding


def log_of(losses: Any) -> np.ndarray:
    """The natural logarithm; NaN for what is not positive and finite."""
    values = np.asarray(losses, dtype=float)
    good = np.isfinite(values) & (values > 0)
    return np.where(good, np.log(np.where(good, values, 1.0)), np.nan)


def log_from_least(losses: Any) -> np.ndarray:
    """The natural logarithm; what is zero to rounding counts as 1e-12."""
    return np.log(np.maximum(losses, LEAST))
