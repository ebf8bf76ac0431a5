"""Several seeds, or several embeddings: a claim measured over them, and the models that a run keeps
of them."""

from collections.abc import Mapping

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Tensors
from icl_core.contract.seeds import other_seeds
from icl_core.statistics.over_seeds import mean_and_error


def over_seeds(claim: Claim, values: np.ndarray, reason: str = "") -> Metric:
    """The claim measured by the mean of a value a seed, with its standard error."""
    return Metric(claim, *mean_and_error(values), reason=reason)


def seed_models(
    results: Mapping[str, Tensors], seeds: int, kinds: tuple[str, ...]
) -> dict[str, np.ndarray]:
    """Return the tensors that store the models of all seeds but the first.

    results  what the phases "seed 0", "seed 1", … of a run have ended in, by name
    seeds    the number of seeds
    kinds    how the names begin of the tensors that make a model: "final/"
    """
    models: dict[int, Tensors] = {}
    for index in range(1, seeds):
        tensors = results[f"seed {index}"]
        models[index + 1] = {
            name: array for name, array in tensors.items() if name.startswith(kinds)
        }
    return other_seeds(models)
