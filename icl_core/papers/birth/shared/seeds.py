"""What several seeds, or several embeddings, tell together."""

import numpy as np


def seeds_error(values: np.ndarray) -> float | None:
    """The standard error of the mean of a value a seed; None for a single seed."""
    return float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else None
