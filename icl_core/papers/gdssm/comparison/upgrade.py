"""Brings a run that was kept under the models' labels of then to the form of today, in which it names their ids."""

import numpy as np

from icl_core.experiment import Tensors, names

# The models of then, in their order: label, id, layers. The 1-D runs had no GD-SSM of two layers.
THEN = (
    ("GD-SSM, 1 layer", "gd-ssm-1", 1),
    ("GD-SSM, 2 layers", "gd-ssm-2", 2),
    ("S5", "s5", 1),
    ("Mamba", "mamba", 1),
    ("Griffin", "griffin", 1),
    ("Linear transformer, 1 layer", "linear-1", 1),
    ("Linear transformer, 2 layers", "linear-2", 2),
    ("Softmax transformer, 1 layer", "softmax-1", 1),
    ("Softmax transformer, 2 layers", "softmax-2", 2),
)


def upgrade(tensors: Tensors) -> Tensors:
    """The tensors in today's form; those that are in it already, as they are."""
    if "names/models" in tensors:
        return tensors
    then = THEN if tensors["judged/loss"].shape[1] == len(THEN) else (THEN[0], *THEN[2:])
    renamed = {f"curve/{label}": f"curve/{id}" for label, id, _ in then} | {"judged/loss": "evaluated/loss"}
    ids = [id for _, id, _ in then]
    return {
        **{renamed.get(name, name): array for name, array in tensors.items()},
        "names/models": names(ids),
        "names/baselines": names(id for id in ids if not id.startswith("gd-ssm")),
        "size/layers": np.array([layers for _, _, layers in then]),
    }
