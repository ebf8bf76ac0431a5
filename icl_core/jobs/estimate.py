"""Estimate how long a run will take on this machine, from the runs that are known, above all those
with like settings. Called by pages, sweeps and `queue.submit`.

Known are the runs of the presets, whose seconds are shipped (`preset_seconds`) and converted to the
pace of this machine, and the runs that were trained here. The cost of a run is counted in
operations (`Experiment.cost`), but how many of them a second makes depends on the settings: small
products are mostly waiting. So the seconds of an operation are those of the nearest runs. Seconds
are of processor time, which other processes do not stretch.
"""

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from icl_core import registry
from icl_core.contract import settings_io
from icl_core.contract.experiment import Experiment
from icl_core.jobs import preset_seconds
from icl_core.jobs.folder import jobs_folder
from icl_core.jobs.reading import read_json
from icl_core.machine.pace import Pace, is_pace, measure_pace
from icl_core.runs import store
from icl_core.runs.disk import write_whole
from icl_core.runs.header import stored_settings, typed_config

FIGURES = 0.7  # seconds from the request to a worker, and from the run to its figures
NEAR = 0.01  # a distance between settings that makes no difference
TRAINED_HERE = 4.0  # weight of a run trained on this machine; that of a preset's is 1
OLD = 86400.0  # seconds after which a measured pace is forgotten


@dataclass(frozen=True)
class _KnownRun:
    """A run whose seconds on this machine are known; `settings` by field, as files hold them."""

    settings: dict[str, Any] = field(hash=False)
    cost: float
    seconds: float
    weight: float


def estimate_seconds(experiment_id: str, config: Any) -> float | None:
    """Return the seconds until the figures of `config` are there, on an idle core; None if no run
    is known."""
    return estimates(experiment_id, [config], alone=True)[0]


def estimates(
    experiment_id: str, configs: Sequence[Any], alone: bool = False
) -> list[float | None]:
    """Return `estimate_seconds` of each of `configs`, reading the known runs once for all.

    Runs of one tensor program take less time each: with `alone` they are left out, if there are
    others.
    """
    experiment = registry.experiment(experiment_id)
    known = [*_presets(experiment_id), *_trained_here(experiment_id, alone)]
    return [_estimate(experiment, config, known) for config in configs]


def _presets(experiment_id: str) -> Iterator[_KnownRun]:
    """Yield the runs of the presets whose seconds are shipped."""
    measured = preset_seconds.load()
    if measured is None:
        return
    here = machine_pace() or measured.pace
    seconds_by_name = measured.by_experiment.get(experiment_id, {})
    experiment = registry.experiment(experiment_id)
    for preset in experiment.presets:
        if preset.name in seconds_by_name:
            cost = _cost(experiment.cost, preset.config)
            seconds = measured.pace.converted(seconds_by_name[preset.name], cost, here)
            yield _KnownRun(stored_settings(preset.config), cost, seconds, 1.0)


def _trained_here(experiment_id: str, alone: bool) -> list[_KnownRun]:
    """Return the runs that were trained on this machine, by the device that trains now."""
    headers = [
        header
        for header in store.default().headers(experiment_id)
        if header.origin == "local"
        and header.info.get("seconds")
        and not header.info.get("given")  # it was trained on another machine
    ]
    if not headers:
        return []
    from icl_core.machine import device

    headers = [header for header in headers if header.info.get("device") == device.describe()]
    if alone:
        headers = [header for header in headers if header.info.get("together", 1) == 1] or headers
    experiment = registry.experiment(experiment_id)
    return [
        _KnownRun(
            header.config,
            _cost(experiment.cost, typed_config(header)),
            header.info["seconds"],
            TRAINED_HERE,
        )
        for header in headers
    ]


def _estimate(experiment: Experiment, config: Any, known: Sequence[_KnownRun]) -> float | None:
    """Return the cost of `config`, times the weighted geometric mean of the seconds per cost."""
    if not known:
        return None
    settings = stored_settings(config)
    weights = [
        run.weight / (settings_io.distance(experiment.config, settings, run.settings) + NEAR) ** 2
        for run in known
    ]
    weighted = sum(
        weight * math.log(run.seconds / run.cost)
        for weight, run in zip(weights, known, strict=True)
    )
    return FIGURES + math.exp(weighted / sum(weights)) * experiment.cost(config)


@lru_cache(4096)
def _cost(cost: Callable[[Any], float], config: Any) -> float:
    """Return the cost of a known run; cached, as every page needs it for all its runs."""
    return cost(config)


def machine_pace() -> Pace | None:
    """Return the pace of this machine as it was last measured; None before that."""
    record = read_json(jobs_folder() / "machine_pace.json", is_pace, "what a pace measured here is")
    return Pace(**record) if record else None


def know_pace() -> None:
    """Measure the pace of this machine, and keep the least that was measured: a machine with other
    things to do is slower than it is. What is older than a day is forgotten."""
    path = jobs_folder() / "machine_pace.json"
    pace = measure_pace()
    try:
        if path.exists() and time.time() - path.stat().st_mtime <= OLD:
            pace = Pace(*map(min, pace, machine_pace() or pace))
        write_whole(path, json.dumps(pace._asdict()).encode())
    except OSError:  # estimates then take this machine to be as fast as any other
        return
