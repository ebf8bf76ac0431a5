"""Runs that were kept before they held the names of what was measured."""

from icl_core.experiment import Tensors, names

# what runs of that form had measured, whatever today's do
HELD = {
    "names/cross_talk": ("kept", "within", "stream"),
    "names/memories": ("W_O2", "W_K2", "W_K1"),
    "names/errors": ("first", "attention", "output"),
}


def upgrade(tensors: Tensors) -> Tensors:
    """Today's form of a run's tensors, whatever form they are in."""
    return {**{name: names(ids) for name, ids in HELD.items()}, **tensors}
