"""Which panel shows a claim: the one that draws the tensors on which the claim's number depends.

It is found once for each claim by `python -m icl_core gallery --panels` and kept in
artifacts/panels.json, as it takes minutes: each tensor that a panel draws is changed, and
the numbers are measured again.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from icl_core import registry
from icl_core.contract.experiment import STAGE, CannotDraw, Experiment
from icl_core.contract.knobs import BadSetting
from icl_core.contract.run import Run
from icl_core.runs.header import Header, stamp
from icl_core.runs.store import Store

_AXES = ("curve/step", "snapshot/step")  # of the clock: every panel reads them


class _Traced(Mapping[str, np.ndarray]):
    """Tensors that note which of them are read."""

    def __init__(self, tensors: Mapping[str, np.ndarray]) -> None:
        self.tensors = tensors
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> np.ndarray:
        array = self.tensors[name]
        self.read.add(name)
        return array

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)


def path(store: Store) -> Path:
    """Return the file that holds the panels of all claims."""
    return store.shipped / "panels.json"


def panel_of(store: Store, experiment_id: str, claim_id: str) -> str:
    """Return the name of the drawing that shows a claim; empty if none is known."""
    file = path(store)
    try:
        return _read(file, stamp(file)).get(experiment_id, {}).get(claim_id, "")
    except OSError:
        return ""


@lru_cache(maxsize=2)
def _read(file: Path, file_stamp: tuple[int, int]) -> dict[str, dict[str, str]]:
    with suppress(ValueError):
        return json.loads(file.read_bytes())
    return {}


def write(store: Store, experiment_ids: list[str]) -> None:
    """Find the panels of the claims of experiments anew, and write them beside those of others."""
    file = path(store)
    panels: dict[str, dict[str, str]] = {}
    with suppress(OSError, ValueError):
        panels = json.loads(file.read_bytes())
    for experiment_id in experiment_ids:
        panels[experiment_id] = find(store, experiment_id)
    panels = {each: panels[each] for each in registry.experiment_ids() if each in panels}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(panels, indent=1) + "\n", encoding="utf-8")


def find(store: Store, experiment_id: str) -> dict[str, str]:
    """Return the panel of each claim of an experiment that a shipped run has measured, by the
    claim's id; claims that no panel draws are left out."""
    experiment = registry.experiment(experiment_id)
    panels: dict[str, str] = {}
    earlier: set[str] = set()
    for header in _in_order(store, experiment):
        values = {record["claim"] for record in header.info["metrics"] if record["value"]}
        if not values - earlier:
            continue
        run = store.load(header)
        if run is None:
            continue
        for claim, panel in _panels(experiment, run).items():
            panels.setdefault(claim, panel)
        earlier |= values
    return {claim.id: panels[claim.id] for claim in experiment.claims if claim.id in panels}


def _in_order(store: Store, experiment: Experiment) -> list[Header]:
    """Return the shipped runs of an experiment in the order of its presets."""
    paper_id = next(
        each for each in registry.experiment_ids() if registry.experiment(each) is experiment
    )
    headers = [store.preset(paper_id, preset.name) for preset in experiment.presets]
    return [header for header in headers if header is not None]


def _panels(experiment: Experiment, run: Run) -> dict[str, str]:
    """Return the panel of each claim that the run measures and a panel draws."""
    drawn = _drawn(experiment, run)
    traced = _Traced(run.tensors)
    values = _values(experiment, replace(run, tensors=traced))
    depends: dict[str, set[str]] = {claim: set() for claim in values}
    for name in sorted(traced.read & set().union(*drawn.values()) - {*_AXES}):
        array = run.tensors[name]
        if array.dtype.kind != "f":
            continue
        changed = {**run.tensors, name: _changed(array)}
        for claim, value in _values(experiment, replace(run, tensors=changed)).items():
            if not math.isclose(value, values.get(claim, math.nan), rel_tol=1e-9):
                depends[claim].add(name)
    panels: dict[str, str] = {}
    for claim, names in depends.items():
        shares = {panel: _likeness(names, read) for panel, read in drawn.items()}
        best = max(shares, key=lambda panel: shares[panel], default="")
        if best and shares[best] > 0:
            panels[claim] = best
    return panels


def _drawn(experiment: Experiment, run: Run) -> dict[str, set[str]]:
    """Return the tensors that each drawing reads, at the last snapshot; those of the stage come
    first, as the first of equals is taken."""
    drawn: dict[str, set[str]] = {}
    view = experiment.view(**experiment.presets[0].view)
    for drawing in sorted(experiment.drawings, key=lambda drawing: drawing.place != STAGE):
        if not drawing.applies(run.config):
            continue
        traced = _Traced(run.tensors)
        with suppress(CannotDraw, BadSetting):
            drawing.panel(replace(run, tensors=traced), view)
            drawn[drawing.name] = traced.read - {*_AXES}
    return drawn


def _values(experiment: Experiment, run: Run) -> dict[str, float]:
    """Return what the run measures, by claim; nothing where its tensors were changed too much."""
    measure: Callable[[Run], list[Any]] = experiment.metrics
    with suppress(Exception):  # a changed tensor may be refused in any way
        return {
            metric.claim.id: float(metric.value)
            for metric in measure(run)
            if metric.value is not None
        }
    return {}


def _changed(array: np.ndarray) -> np.ndarray:
    """Return a tensor whose second half of entries is half as large: neither a factor nor a sum
    hides it."""
    factors = np.ones(array.size, array.dtype)
    factors[array.size // 2 :] = 0.5
    return array * factors.reshape(array.shape)


def _likeness(names: set[str], read: set[str]) -> float:
    """Return the share of tensors that a claim and a panel have in common, of all of both."""
    return len(names & read) / max(len(names | read), 1)
