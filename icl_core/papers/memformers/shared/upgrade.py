"""Brings the tensors of runs that were kept in an older form to today's names. Of what is in
today's form it changes nothing."""

import re

import numpy as np

from icl_core.contract.experiment import Tensors, names

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
RENAMED = (
    ("^judged/", "evaluated/"),
    ("^tried/", "test_time/"),
    (r"^curve/(linear|lfom) (\d+)$", r"curve/\1/\2"),
    ("^curve/loss of (.+)$", r"curve/beside/\1"),
    (r"^final of (.+)/(\d+/\w+)$", r"beside/\1/final/\2"),
)
STARTS = ("even", "ones", "zeros", "last")
BASELINES = ("cg", "pcg", "gd", "momentum", "momentum_tuned", "nesterov", "nesterov_tuned")
METHODS = {
    "variances": ("gated", "scalar", "last", "even"),
    "mixture": (
        "linear/gated",
        "lfom/gated",
        "lfom/adapted",
        "linear/scalar",
        "lfom/scalar",
        "linear/even",
        "lfom/even",
        "linear/mixture",
        "lfom/mixture",
    ),
}


def upgrade(tensors: Tensors) -> Tensors:
    """Labels in names become ids, what was judged is evaluated, and the names of what was measured
    are added."""
    found = {_renamed(name): array for name, array in tensors.items()}
    return {**_named(found), **found}


def _renamed(name: str) -> str:
    for old, new in RENAMED:
        name = re.sub(old, new, name)
    return re.sub("(?<=beside/)[^/]+", lambda found: IDS.get(found[0], found[0]), name)


def _named(tensors: Tensors) -> dict[str, np.ndarray]:
    """The names that a run of the older form does not hold: what there is says what it was."""
    found: dict[str, np.ndarray] = {}
    if "baseline/gd" in tensors:
        found["names/baselines"] = names(BASELINES)
    if "frozen/rotation" in tensors and "depth/layers" in tensors:
        found["names/beside"] = names(
            name for name in IDS.values() if f"beside/{name}/loss" in tensors
        )
    if "test_time/variance" in tensors:
        found |= {"names/methods": names(METHODS["variances"]), "names/starts": names(STARTS)}
    if "shape/at" in tensors:
        found |= {
            "names/methods": names(METHODS["mixture"]),
            "names/kinds": names(("linear", "lfom")),
        }
    return found
