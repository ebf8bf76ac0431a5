"""Brings a run of an older form to that of today."""

from icl_core.experiment import Tensors, names
from icl_core.papers.gdssm.nonlinear.train import packed
from icl_core.papers.gdssm.shared import upgrade as shared

THEN = ("linear", "state", "linear gate", "mlp", "mlp gate")  # the models of a run that does not name them


def upgrade(tensors: Tensors) -> Tensors:
    """The tensors in today's form, snapshots packed, models named."""
    return {"names/variants": names(THEN), **packed(shared.upgrade(tensors))}
