"""A claim measured over several seeds, or several embeddings."""

import numpy as np

from icl_core.contract.experiment import Claim, Metric
from icl_core.statistics.over_seeds import mean_and_error


def over_seeds(claim: Claim, values: np.ndarray, reason: str = "") -> Metric:
    """The claim measured by the mean of a value a seed, with its standard error."""
    return Metric(claim, *mean_and_error(values), reason=reason)
