"""The models that a run of several seeds keeps of them."""

from collections.abc import Mapping

import numpy as np

from icl_core.contract.experiment import Tensors
from icl_core.contract.seeds import other_seeds


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
