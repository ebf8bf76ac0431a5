"""Brings a run that was kept under the names of then to those of today."""

from icl_core.contract.experiment import Tensors

SWEPT = ("alpha", "trained", "constructed", "closed", "zero")


def upgrade(tensors: Tensors) -> Tensors:
    """What was called judged is evaluated, and the sweep over test scales is called so."""
    swept = {f"scale/{name}": f"sweep/{name}" for name in SWEPT}
    return {
        swept.get(name, name.replace("judged/", "evaluated/")): array
        for name, array in tensors.items()
    }
