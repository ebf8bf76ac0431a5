"""Which version an experiment has, and how far two settings are apart. Imports no torch."""

import ast
import importlib.util
import math
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from icl_core import knobs, registry
from icl_core.experiment import Experiment

# Another seed shows the same thing again: such a run is nearer than any other difference.
_SEED_WEIGHT = 0.01


def current_version(experiment_id: str) -> int:
    """The experiment's version. Read from its source as long as nobody has imported it, since that imports torch."""
    module = imported(experiment_id)
    return module.version if module else _written_version(experiment_id)


def imported(experiment_id: str) -> Experiment | None:
    """The experiment if its module is loaded already, else None."""
    return getattr(sys.modules.get(f"icl_core.papers.{experiment_id}"), "EXPERIMENT", None)


@cache
def _written_version(experiment_id: str) -> int:
    """The number in `Experiment(..., version=3)`, found in the source; by import if it is not written so."""
    if experiment_id in registry.experiment_ids():
        spec = importlib.util.find_spec(f"icl_core.papers.{experiment_id}")
        if spec and spec.origin:
            for node in ast.walk(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Experiment":
                    for word in node.keywords:
                        if word.arg == "version" and isinstance(word.value, ast.Constant):
                            return int(word.value.value)  # type: ignore[arg-type]
    return registry.experiment(experiment_id).version


def distance(known: Mapping[str, knobs.Knob], config: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    """How far two settings are apart: for each field the difference as a share of its range, a choice counts 1."""
    return sum(_apart(name, knob, config.get(name), other.get(name)) for name, knob in known.items())


def _apart(name: str, knob: knobs.Knob, one: Any, other: Any) -> float:
    if one == other:
        return 0.0
    if name in ("seed", "seeds"):
        return _SEED_WEIGHT
    if knob.kind != "slider" or one is None or other is None or knob.low is None or knob.high is None:
        return 1.0
    if knob.log and knob.low > 0:
        return abs(math.log(one / other)) / math.log(knob.high / knob.low)
    return abs(one - other) / (knob.high - knob.low)
