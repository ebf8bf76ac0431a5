"""The numbers in words.md, and which answers are right."""

from typing import Any

from icl_core.contract.experiment import Run
from icl_core.contract.story import Example
from icl_core.contract.words import Reading, Words
from icl_core.papers.learners.rotation.claims import LAYERS
from icl_core.papers.learners.rotation.settings import Config, View

FLOOR, FLOOR_ROTATED = "floor/fixed", "floor/rotated"
CONJUGATE, CONJUGATE_THAT_KNOWS = "conjugate/rotated", "conjugate/fixed"
BETWEEN = (" ", "")
EXAMPLE = Example(
    (("(0.5, 1)", "x"), BETWEEN, ("2", "y"), BETWEEN, ("(0.2, −0.3)", "query")), "−0.25"
)


def layer_shown(run: Run, view: View) -> int:
    """Return the number of layers that is shown."""
    return min(view.layer, run.config.layers)


def _depth(run: Run, view: Any = None) -> int:
    """Return the number of layers that is asked for."""
    return min(LAYERS, run.config.layers)


def _share(run: Run, name: str, layer: int) -> float:
    """Return the share that a method leaves in a case after a layer."""
    return float(run[f"share/{name}"][layer, 0])


def _ahead(run: Run, view: Any) -> int:
    ratio = _share(run, FLOOR, _depth(run)) / _share(run, CONJUGATE, _depth(run))
    return 0 if ratio < 0.8 else 1 if ratio < 1.25 else 2


def _after(run: Run, view: Any) -> int:
    ratio = _share(run, FLOOR_ROTATED, _depth(run)) / _share(run, FLOOR, _depth(run))
    return 0 if ratio < 2 else 1 if ratio < 8 else 2


def _left(name: str) -> Reading:
    """Return the reading of what a method leaves after the layers that are shown."""
    return lambda run, view: _share(run, name, layer_shown(run, view))


def _left_at_depth(name: str) -> Reading:
    """Return the reading of what a method leaves after those that are asked for."""
    return lambda run, view: _share(run, name, _depth(run))


WORDS = Words(
    __file__,
    Config,
    View,
    readings={
        "layer": layer_shown,
        "fixed": _left(FLOOR),
        "rotated": _left(FLOOR_ROTATED),
        "conjugate": _left(CONJUGATE),
        "rotated_over_conjugate": lambda run, view: (
            _left(FLOOR_ROTATED)(run, view) / _left(CONJUGATE)(run, view)
        ),
        "conjugate_that_knows": _left(CONJUGATE_THAT_KNOWS),
        "depth": _depth,
        "fixed_at_depth": _left_at_depth(FLOOR),
        "rotated_at_depth": _left_at_depth(FLOOR_ROTATED),
        "conjugate_at_depth": _left_at_depth(CONJUGATE),
    },
    right={"ahead": _ahead, "after": _after},
    example=EXAMPLE,
)
