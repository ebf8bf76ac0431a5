"""How a run keeps its snapshots, and how one that was kept in an older form becomes one of today."""

import numpy as np

from icl_core.experiment import Tensors, compact

SHORT = 8  # numbers a row: for fewer a scale takes more room than it saves
SWEPT = ("alpha", "trained", "constructed", "closed", "zero")


def packed(tensors: Tensors, read: tuple[str, ...] = ()) -> dict[str, np.ndarray]:
    """The tensors with their snapshots [snapshots, ...] as a run keeps them: `compact`, or half precision where rows
    are short and where a metric reads them (`read`: how their names begin). What is packed already stays."""
    found: dict[str, np.ndarray] = {}
    for name, array in tensors.items():
        inner = name.removeprefix("snapshot/")
        if inner == name or inner == "step" or array.dtype != np.float32:
            found[name] = array
        elif array.shape[-1] < SHORT or inner.startswith(read):
            found[name] = array.astype(np.float16)
        else:
            found |= compact(inner, array)
    return found


def upgrade(tensors: Tensors, read: tuple[str, ...] = ()) -> dict[str, np.ndarray]:
    """What was called judged is evaluated now, the sweep over test scales is called so, and snapshots are packed."""
    swept = {f"scale/{name}": f"sweep/{name}" for name in SWEPT}
    named = {swept.get(name, name.replace("judged/", "evaluated/")): array for name, array in tensors.items()}
    return packed(named, read)
