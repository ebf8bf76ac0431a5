"""Estimate how long a run will take on this machine, from the runs that are known, above all those
with like settings. Called by pages, sweeps and `queue.submit`.

Known are the runs of the presets, whose seconds are shipped in artifacts/seconds.json and converted
to the pace of this machine, and the runs that were trained here. The cost of a run is counted in
operations (`Experiment.cost`), but how many of them a second makes depends on the settings: small
products are mostly waiting. So the seconds of an operation are those of the nearest runs. Seconds
are of processor time, which other processes do not stretch; of a run that is trained alone, those
that one waits for it where no other process holds it up, as far as runs trained here tell: several
cores take less than their processor time.
"""

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from icl_core import registry
from icl_core.contract import settings_io
from icl_core.contract.experiment import Experiment
from icl_core.contract.knobs import BadSetting, knobs_of
from icl_core.jobs.folder import jobs_folder, read_json
from icl_core.machine.pace import Pace, is_pace, measure_pace
from icl_core.runs import store
from icl_core.runs.disk import write_whole
from icl_core.runs.header import stored_settings, typed_config
from icl_core.runs.request import Request
from icl_core.runs.settings_index import SettingsIndex
from icl_core.training import segments


class PresetSeconds(NamedTuple):
    """Seconds by experiment's id and preset's name, at one pace."""

    pace: Pace
    by_experiment: Mapping[str, Mapping[str, float]]


def load_preset_seconds() -> PresetSeconds | None:
    """Return what was measured; None if the file is not there or cannot be read."""
    try:
        status = _presets_path().stat()
    except OSError:
        return None
    return _load_preset_seconds(_presets_path(), status.st_mtime_ns)


@lru_cache(4)
def _load_preset_seconds(path: Path, changed: int) -> PresetSeconds | None:
    """Return what the file holds; it is read anew once it has `changed`."""
    try:
        record = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not _is_record(record):
        return None
    return PresetSeconds(Pace(**record["pace"]), record["presets"])


def write_preset_seconds(measured: PresetSeconds) -> None:
    """Write the file. Raises `OSError`."""
    rounded = {
        experiment: {preset: float(f"{seconds:.4g}") for preset, seconds in presets.items()}
        for experiment, presets in measured.by_experiment.items()
    }
    pace = {name: float(f"{seconds:.4g}") for name, seconds in measured.pace._asdict().items()}
    record = {"pace": pace, "presets": rounded}
    write_whole(_presets_path(), (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode())


def note_preset_seconds(
    experiment_id: str, config: Any, seconds: float, presets: list[str]
) -> None:
    """Write what the run of `config`, which has just taken `seconds` on this machine, says of the
    presets that it serves; they may ask for fewer seeds. Raises `OSError`."""
    here = machine_pace() or measure_pace()
    known = load_preset_seconds() or PresetSeconds(here, {})
    experiment = registry.experiment(experiment_id)
    by_name = {preset.name: preset.config for preset in experiment.presets}
    times = dict(known.by_experiment.get(experiment_id, {}))
    for name in presets:
        cost = experiment.cost(by_name[name])
        share = seconds * cost / experiment.cost(config)
        times[name] = here.converted(share, cost, known.pace)
    write_preset_seconds(PresetSeconds(known.pace, {**known.by_experiment, experiment_id: times}))


def _presets_path() -> Path:
    return store.default().shipped / "seconds.json"


def _is_record(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and is_pace(value.get("pace"))
        and isinstance(value.get("presets"), dict)
        and all(
            isinstance(presets, dict) and all(map(_is_seconds, presets.values()))
            for presets in value["presets"].values()
        )
    )


def _is_seconds(value: Any) -> bool:
    return isinstance(value, (int, float)) and 0 < value < math.inf


FIGURES = 0.7  # seconds from the request to a worker, and from the run to its figures
NEAR = 0.01  # a distance between settings that makes no difference
TRAINED_HERE = 4.0  # weight of a run trained on this machine; that of a preset's is 1
OLD = 86400.0  # seconds after which a measured pace is forgotten
# times as fast as by torch are trainings in compiled segments: 2.2 to 17, see tests/bench/README.md
SEGMENTS = 6.0


class _KnownRun(NamedTuple):
    """A run of a preset, whose seconds on this machine are known; `settings` by field, as files
    hold them."""

    settings: Mapping[str, Any]
    cost: float
    seconds: float


class _TrainedHere(NamedTuple):
    """The runs that were trained on this machine: their numbers in the index, and the logarithms of
    their seconds per cost, as if by torch alone, both of shape (runs,)."""

    numbers: np.ndarray
    logarithms: np.ndarray


def estimate_seconds(request: Request) -> float | None:
    """Return the seconds until the figures of a run are there, on an idle machine; None if no run
    is known."""
    return estimates(request.id, [request.config], alone=True)[0]


def estimates(
    experiment_id: str, configs: Sequence[Any], alone: bool = False
) -> list[float | None]:
    """Return `estimate_seconds` of each of `configs`, reading the known runs once for all.

    Runs of one tensor program take less time each: with `alone` they are left out, if there are
    others. Where several runs are trained at once, each has a core: without `alone` the seconds of
    a run are those of one core.
    """
    experiment = registry.experiment(experiment_id)
    presets = list(_presets(experiment_id))
    index = store.default().index(experiment_id)
    return [_estimate(experiment, config, presets, index, alone) for config in configs]


def _presets(experiment_id: str) -> Iterator[_KnownRun]:
    """Yield the runs of the presets whose seconds are shipped."""
    measured = load_preset_seconds()
    if measured is None:
        return
    here = machine_pace() or measured.pace
    seconds_by_name = measured.by_experiment.get(experiment_id, {})
    experiment = registry.experiment(experiment_id)
    for preset in experiment.presets:
        if preset.name in seconds_by_name:
            cost = _cost(experiment.cost, preset.config)
            seconds = measured.pace.converted(seconds_by_name[preset.name], cost, here)
            yield _KnownRun(stored_settings(preset.config), cost, seconds)


@lru_cache(32)
def _trained_here(index: SettingsIndex, alone: bool) -> _TrainedHere:
    """Return the runs that were trained on this machine, by the device that trains now."""
    local = [
        (number, header)
        for number, header in enumerate(index.headers)
        if header.origin == "local"
        and header.info.get("seconds")
        and not header.info.get("given")  # it was trained on another machine
    ]
    if not local:
        return _TrainedHere(np.empty(0, np.intp), np.empty(0))
    from icl_core.machine import device

    runs = [run for run in local if run[1].info.get("device") == device.describe()]
    if alone:
        runs = [run for run in runs if run[1].info.get("together", 1) == 1] or runs
    logarithms = []
    for _, header in runs:
        cost = _cost(registry.experiment(header.experiment).cost, typed_config(header))
        seconds = (header.waited if alone else None) or header.info["seconds"]
        by_torch = seconds * SEGMENTS if segments.is_compiled(header.info) else seconds
        logarithms.append(math.log(by_torch / cost))
    return _TrainedHere(np.array([run[0] for run in runs], np.intp), np.array(logarithms))


def _estimate(
    experiment: Experiment,
    config: Any,
    presets: Sequence[_KnownRun],
    index: SettingsIndex,
    alone: bool,
) -> float | None:
    """Return the cost of `config`, times the weighted geometric mean of the seconds per cost."""
    here = _trained_here(index, alone)
    if not presets and not here.numbers.size:
        return None
    settings = stored_settings(config)
    of_presets = [
        settings_io.distance(experiment.config, settings, run.settings) for run in presets
    ]
    of_runs = index.distances(experiment.config, settings)[here.numbers]
    weights = np.concatenate(
        [1 / (np.array(of_presets) + NEAR) ** 2, TRAINED_HERE / (of_runs + NEAR) ** 2]
    )
    logarithms = [math.log(run.seconds / run.cost) for run in presets]
    mean = weights @ np.concatenate([logarithms, here.logarithms]) / weights.sum()
    by_torch = math.exp(mean) * experiment.cost(config)
    with suppress(BadSetting):  # of the environment, which refuses a training once it is asked for
        if segments.compiler(experiment, config):
            return FIGURES + by_torch / SEGMENTS
    return FIGURES + by_torch


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


def ready_values(request: Request) -> dict[str, list[Any]]:
    """Return, by field, the values at which a run exists if only that field of what is asked for
    changes.

    The values are ascending, and hold the field's own if its run exists.
    """
    settings = request.settings
    knobs = knobs_of(request.experiment.config)
    by_stored_name = {knob.was or name: name for name, knob in knobs.items()}
    stored_names = list(by_stored_name)
    ready: dict[str, set[Any]] = {name: set() for name in by_stored_name.values()}
    index = store.default().index(request.id)
    differ = index.differences(stored_names, settings)
    for number in np.flatnonzero(differ.sum(axis=0) <= 1).tolist():
        run = index.headers[number]
        differing = [stored_names[field] for field in np.flatnonzero(differ[:, number]).tolist()]
        for name in differing or stored_names:
            ready[by_stored_name[name]].add(run.config.get(name))
    return {field: _ascending(field, values) for field, values in ready.items()}


def _ascending(field: str, values: set[Any]) -> list[Any]:
    """Return the values in order; a run of several seeds holds every smaller number of them."""
    present = values - {None}  # a file leaves out a field that was added later
    if field == "seeds" and present:
        return list(range(1, max(present) + 1))
    return sorted(present)


def seconds_of_moves(
    request: Request, moves: Mapping[str, Sequence[Any]]
) -> dict[str, float | None]:
    """Return, by field, the seconds until the figures of the dearest of the field's `moves`.

    A move is another value of the field, all others unchanged; one whose run exists costs
    0 s, and one that the experiment refuses is left out. None where no time is known.
    """
    configs: list[tuple[str, Any]] = []
    seconds: dict[str, float | None] = dict.fromkeys(moves, 0.0)
    for name, values in moves.items():
        for value in values:
            try:
                moved = replace(request.config, **{name: value})
            except BadSetting:
                continue
            if store.default().find(Request(request.id, moved)) is None:
                configs.append((name, moved))
    times = estimates(request.id, [moved for _, moved in configs], alone=True) if configs else []
    for (name, _), needed in zip(configs, times, strict=True):
        dearest = seconds[name]
        seconds[name] = None if needed is None or dearest is None else max(dearest, needed)
    return seconds
