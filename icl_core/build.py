"""Makes the shipped runs: one for every preset that asks for it, and the atlases. What is there
already stays as it is.

The trainings are ordinary jobs, so an interrupted build goes on where it was; their files then move
to artifacts/.
"""

import dataclasses
import math
import sys
from dataclasses import dataclass
from typing import Any

from icl_core import registry
from icl_core.contract import knobs
from icl_core.contract.knobs import BadSetting
from icl_core.contract.run import Tensors, thinned
from icl_core.findings import findings
from icl_core.findings.findings import Finding
from icl_core.jobs import queue
from icl_core.jobs.terminal import watch_all
from icl_core.runs import store
from icl_core.runs.file import Damaged
from icl_core.runs.store import Header
from icl_core.sweeps import atlas

LARGE = 2**20  # bytes of snapshots
FEWER = 12


@dataclass
class WantedRun:
    """A run to ship, with the names of the presets that it serves."""

    experiment: str
    key: str
    config: Any
    presets: list[str]

    def __str__(self) -> str:
        return f"{self.experiment} ({', '.join(self.presets)})"


def build_runs(
    ids: list[str], presets: list[str] | None, workers: int | None
) -> tuple[list[Finding], list[str]]:
    """Make, refresh and prune the shipped runs of `ids` (all, if none are named) and of `presets`
    (all, if None), and their atlases unless presets are named.

    What they measured, and a sentence for each that could not be made. Raises `BadSetting` for an
    unknown experiment or preset. Ctrl-C stops the trainings at a checkpoint.
    """
    ids = ids or registry.experiment_ids()
    everything = [item for name in ids for item in wanted_runs(name)]
    chosen = [item for item in everything if presets is None or set(presets) & set(item.presets)]
    if presets is not None and not chosen:
        raise BadSetting(f"--preset must name a shipped preset, got {', '.join(presets)!r:.80}")
    failed = _train([item for item in chosen if not _whole(item)], workers)
    found, problems = [], list(failed.values())
    for item in chosen:
        if item.key not in failed:
            try:
                header = _ship(item)
            except (
                Exception
            ) as problem:  # whatever an experiment's metrics do wrong: the other runs are shipped
                problems.append(f"{item}: {type(problem).__name__}: {problem}")
            else:
                found += findings.of_run(header)
    _prune(ids, everything)
    if presets is None:
        for name in ids:
            problems += _map(name, workers)
            found += findings.of_atlas(name, store.default())
    return found, problems


def _map(experiment_id: str, workers: int | None) -> list[str]:
    """Make what is missing of an experiment's atlas; a sentence for each run that could not be
    made."""
    configs = atlas.configs(experiment_id)
    made = {store.key_of(experiment_id, config): config for config in configs}
    missing = [key for key in made if atlas.atlas_header(experiment_id, key) is None]
    failed = _train(
        [WantedRun(experiment_id, key, made[key], ["atlas"]) for key in missing], workers
    )
    if not failed:
        atlas.write(experiment_id, configs)
    return list(failed.values())


def wanted_runs(experiment_id: str) -> list[WantedRun]:
    """The runs that the presets of an experiment ship, of as many seeds as they say; equal settings
    share one."""
    found: dict[str, WantedRun] = {}
    for preset in registry.experiment(experiment_id).presets:
        if preset.shipped:
            config = preset.config
            if "seeds" in knobs.knobs_of(type(config)):
                config = dataclasses.replace(config, seeds=preset.seeds)
            key = store.key_of(experiment_id, config)
            found.setdefault(key, WantedRun(experiment_id, key, config, [])).presets.append(
                preset.name
            )
    return list(found.values())


def _whole(item: WantedRun) -> bool:
    """Whether the run is there with all its tensors. A damaged shipped file is removed: the
    workers, who look at headers, would take it for the run and train nothing."""
    header = store.default().exact(item.experiment, item.key)
    if header is None or store.default().load(header) is not None:
        return header is not None
    if header.origin == "local":
        return False  # set aside by the store
    print(f"{item}: {header.path} is damaged; it is made anew", file=sys.stderr)
    header.path.unlink(missing_ok=True)
    return _whole(item)  # there may be a local run behind it


def _train(missing: list[WantedRun], workers: int | None) -> dict[str, str]:
    """Train all that is missing; a sentence for each that failed, by key."""
    keys = [queue.submit(item.experiment, item.config) for item in missing]
    try:
        watch_all(keys, workers)
    except KeyboardInterrupt:
        for key in keys:
            queue.interrupt(key)
        print("interrupted; the same command goes on from here", file=sys.stderr)
        raise
    failed = {}
    for item in missing:
        end = queue.state(item.key)
        if end is not None and end.status != "done":
            failed[item.key] = f"{item}: {end.status}: {end.message}"
    return failed


def _ship(item: WantedRun) -> Header:
    """Bring the run into artifacts/, or what is said of it there up to date. Raises `Damaged` if it
    cannot be read."""
    header = store.default().exact(item.experiment, item.key)
    run = store.default().load(header) if header else None
    if header is None or run is None:
        raise Damaged(f"expected the run {item.key}, got none that can be read")
    records = findings.measure(registry.experiment(item.experiment), run)
    info = {**header.info, "metrics": records, "presets": item.presets}
    info.pop("message", None)  # that its metrics failed once
    if header.origin == "shipped" and _same(header.info, info):
        return header
    shipped = store.default().ship(item.experiment, item.config, _lean(item, run.tensors), info)
    if header.origin == "local":
        store.default().delete(header)
    return shipped


def _lean(item: WantedRun, tensors: Tensors) -> Tensors:
    """A run as it is shipped: of a large one that opens no page, half the snapshots."""
    first = registry.experiment(item.experiment).presets[0].name in item.presets
    size = sum(array.nbytes for name, array in tensors.items() if name.startswith("snapshot/"))
    return tensors if first or size < LARGE else thinned(tensors, FEWER)


def _same(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether nothing but rounding differs: another machine's last digit is no reason to rewrite a
    file."""
    if old.get("presets") != new["presets"] or len(old.get("metrics", ())) != len(new["metrics"]):
        return False
    return all(
        one.keys() == other.keys() and all(_close(one[name], other[name]) for name in one)
        for one, other in zip(old["metrics"], new["metrics"], strict=True)
    )


def _close(one: Any, other: Any) -> bool:
    both = isinstance(one, float) and isinstance(other, float)
    return math.isclose(one, other, rel_tol=1e-4, abs_tol=1e-9) if both else one == other


def _prune(ids: list[str], everything: list[WantedRun]) -> None:
    """Delete shipped files that no preset asks for: older versions, renamed presets."""
    kept = {(item.experiment, item.key) for item in everything}
    for name in ids:
        for path in store.default().shipped_files(name):
            if (name, path.stem) not in kept:
                print(f"pruned {path}", file=sys.stderr)
                path.unlink()
