"""Runs that were kept in an older form: other names, no names of what was measured, snapshots as floats."""

import numpy as np

from icl_core.experiment import Tensors, compact, names

# what runs of that form had measured, whatever today's do
PROBES = ("W_O2", "W_K2", "W_K1_early", "W_K1")
BASELINES = ("repeat", "one_layer", "bayes")


def upgrade(tensors: Tensors) -> Tensors:
    """Today's form of a run's tensors, whatever form they are in."""
    found = {name.replace("judged/", "evaluated/"): array for name, array in tensors.items()}
    found.setdefault("names/probes", names(PROBES if "final/W_K1" in found else PROBES[:2]))
    found.setdefault("names/baselines", names(name for name in BASELINES if f"baseline/{name}" in found))
    return compacted(found)


def compacted(tensors: Tensors) -> dict[str, np.ndarray]:
    """The same with its snapshots, which no metric reads, in a byte an entry."""
    found = dict(tensors)
    for name, array in tensors.items():
        if name.startswith("snapshot/") and np.issubdtype(array.dtype, np.floating):
            found |= compact(name.removeprefix("snapshot/"), array.astype(np.float32))
    return found
