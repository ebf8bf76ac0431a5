"""Brings the tensors of runs that were kept in an older form to today's names. Of what is in today's form it changes
nothing."""

import re

import numpy as np

from icl_core.experiment import Tensors, names

# what was trained beside a model, by the label that stood in names
IDS = {
    "linear transformer": "linear",
    "CGD-like": "cgd",
    "LFOM": "lfom",
    "Γ shared": "shared",
    "Γ free": "free",
    "one head": "one-head",
    "learned in original coordinates": "original",
    "learned in whitened coordinates": "whitened",
}
STARTS = ("even", "ones", "zeros", "last")
BASELINES = ("cg", "pcg", "gd", "momentum", "momentum_tuned", "nesterov", "nesterov_tuned")
METHODS = {
    "variances": ("gated", "scalar", "last", "even"),
    "mixture": (
        "linear/gated", "lfom/gated", "lfom/adapted", "linear/scalar", "lfom/scalar", "linear/even", "lfom/even",
        "linear/mixture", "lfom/mixture",
    ),
}  # fmt: skip


def upgrade(tensors: Tensors) -> Tensors:
    """Labels in names become ids, what was judged is evaluated, and the names of what was measured are added."""
    found = {_renamed(name): array for name, array in tensors.items()}
    return {**_named(found), **found}


def _renamed(name: str) -> str:
    name = re.sub(r"^judged/", "evaluated/", name)
    name = re.sub(r"^tried/", "test_time/", name)
    name = re.sub(r"^curve/(linear|lfom) (\d+)$", r"curve/\1/\2", name)
    name = re.sub(r"^curve/loss of (.+)$", lambda found: f"curve/beside/{_id(found[1])}", name)
    name = re.sub(r"^final of (.+)/(\d+/\w+)$", lambda found: f"beside/{_id(found[1])}/final/{found[2]}", name)
    return re.sub(r"^beside/([^/]+)/", lambda found: f"beside/{_id(found[1])}/", name)


def _id(label: str) -> str:
    return IDS.get(label, label)


def _named(tensors: Tensors) -> dict[str, np.ndarray]:
    """The names that a run of the older form does not hold: what there is says what it was."""
    found: dict[str, np.ndarray] = {}
    if "baseline/gd" in tensors:
        found["names/baselines"] = names(BASELINES)
    if "frozen/rotation" in tensors and "depth/layers" in tensors:
        order = [name for name in IDS.values() if f"beside/{name}/loss" in tensors]
        found["names/beside"] = names(order)
    if "test_time/variance" in tensors:
        found |= {"names/methods": names(METHODS["variances"]), "names/starts": names(STARTS)}
    if "shape/at" in tensors:
        found |= {"names/methods": names(METHODS["mixture"]), "names/kinds": names(("linear", "lfom"))}
    return found
