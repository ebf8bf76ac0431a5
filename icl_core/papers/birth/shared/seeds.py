"""What several seeds, or several embeddings, tell together."""

import numpy as np

from icl_core.contract.experiment import Claim, Metric


def seeds_error(values: np.ndarray) -> float | None:
    """The standard error of the mean of a value a seed; None for a single seed."""
    return float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else None


def over_seeds(claim: Claim, values: np.ndarray, reason: str = "") -> Metric:
    """The claim measured by the mean of a value a seed, with its standard error."""
    return Metric(claim, float(values.mean()), seeds_error(values), reason=reason)
