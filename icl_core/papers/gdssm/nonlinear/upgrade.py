"""Brings a run of an older form to that of today."""

import numpy as np

from icl_core.experiment import Tensors, names
from icl_core.papers.gdssm.shared import upgrade as shared

THEN = ("linear", "state", "linear gate", "mlp", "mlp gate")  # the models of a run that does not name them


def upgrade(tensors: Tensors) -> Tensors:
    """The tensors in today's form, snapshots in half precision, models named."""
    renamed = shared.upgrade(tensors)
    snapshots = {name: array for name, array in renamed.items() if name.startswith("snapshot/") and "step" not in name}
    halved = {name: array.astype(np.float16) for name, array in snapshots.items()}
    return {"names/variants": names(THEN), **renamed, **halved}
