"""Brings a run of an older form to that of today."""

from icl_core.experiment import Tensors, names
from icl_core.papers.gdssm.nonlinear.train import READ
from icl_core.papers.gdssm.shared import kept

THEN = ("linear", "state", "linear gate", "mlp", "mlp gate")  # the models of a run that does not name them


def upgrade(tensors: Tensors) -> Tensors:
    """The tensors in today's form, snapshots packed, models named."""
    return {"names/variants": names(THEN), **kept.upgrade(tensors, READ)}
