"""Brings a run of an older form to that of today."""

from icl_core.experiment import Tensors


def upgrade(tensors: Tensors) -> Tensors:
    """The penalised step as the paper prints it, under the name of today."""
    return {name.replace("printed penalty", "as_printed_penalty"): array for name, array in tensors.items()}
