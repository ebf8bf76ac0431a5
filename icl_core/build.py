"""Builds the shipped runs, one for every preset that asks for it, the atlases and the gallery.

A run that exists already is not trained again. Trainings are ordinary jobs, so that an interrupted
build continues where it was; their files then move to artifacts/. Tensors that several runs of a
paper have in common are stored once.
"""

import dataclasses
import sys
from dataclasses import dataclass
from typing import Any

from icl_core import registry
from icl_core.contract import knobs
from icl_core.contract.knobs import BadSetting
from icl_core.contract.message import did_you_mean
from icl_core.contract.run import Tensors, thinned
from icl_core.evidence import measurements
from icl_core.evidence.measurements import Finding
from icl_core.jobs import estimate, queue
from icl_core.jobs.faults import Failed
from icl_core.jobs.terminal import INTERRUPTED, interruptible, submit, watch_all
from icl_core.runs import store
from icl_core.runs.disk import unwritable
from icl_core.runs.file import Damaged
from icl_core.runs.header import key_of
from icl_core.runs.request import Request
from icl_core.runs.store import Header
from icl_core.share import gallery
from icl_core.sweeps import atlas
from icl_core.training import segments

LARGE = 2**20  # bytes of snapshots
LARGE_MODELS = 2**18  # bytes of the models of other seeds
FEWER = 12  # snapshots of a large run that opens no page


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
    """Build, refresh and prune the shipped runs; unless `presets` are named, the atlases and the
    cards of the gallery, too.

    `ids` are experiments, all if the list is empty; `presets` are names, all if it is None.
    Returns what the runs measured, and a sentence for each run or card that could not be made.
    Raises `BadSetting` for an unknown experiment or preset and for what `check_preconditions`
    refuses, and `Failed` if artifacts/ or the queue cannot be written. Ctrl-C stops the trainings
    at a checkpoint and raises `KeyboardInterrupt` with a sentence.
    """
    ids = ids or registry.experiment_ids()
    wanted = [run for experiment_id in ids for run in wanted_runs(experiment_id)]
    chosen = [run for run in wanted if presets is None or set(presets) & set(run.presets)]
    if presets is not None and not chosen:
        shipped = [name for run in wanted for name in run.presets]
        hint = did_you_mean(presets[0], shipped)
        raise BadSetting(
            f"--preset must name a shipped preset, got {', '.join(presets)!r:.80}{hint}"
        )
    queue.check_preconditions()
    check_writable()
    failures = _train([run for run in chosen if not _exists_whole(run)], workers)
    problems = list(failures.values())
    measured = []
    for run in chosen:
        if run.key in failures:
            continue
        try:
            header = _ship(run)
        except Exception as problem:  # an experiment's metrics may fail in any way: ship the others
            problems.append(f"{run}: {type(problem).__name__}: {problem}")
        else:
            measured += measurements.of_run(header)
    _prune(ids, wanted)
    _share_tensors(ids)
    if presets is None:
        for experiment_id in ids:
            problems += _build_atlas(experiment_id, workers)
            measured += measurements.of_atlas(experiment_id, store.default())
        problems += gallery.write(ids)
    return measured, problems


def check_writable() -> None:
    """Raise `Failed` unless what is shipped can be written: before anything is trained for
    it."""
    folder = store.default().shipped
    if (obstacle := unwritable(folder)) is not None:
        raise Failed(
            f"{obstacle} must be a folder that this user may write to; ICL_ARTIFACTS names another"
        )


def _build_atlas(experiment_id: str, workers: int | None) -> list[str]:
    """Build what is missing of an experiment's atlas; return a sentence for each failure."""
    configs = atlas.configs(experiment_id)
    by_key = {key_of(experiment_id, config): config for config in configs}
    missing = [key for key in by_key if atlas.atlas_header(experiment_id, key) is None]
    failures = _train(
        [WantedRun(experiment_id, key, by_key[key], ["atlas"]) for key in missing], workers
    )
    if not failures:
        atlas.write(experiment_id, configs)
    return list(failures.values())


def wanted_runs(experiment_id: str) -> list[WantedRun]:
    """Return the runs that the presets of an experiment ship, with as many seeds as they say.

    Presets of equal settings share one run.
    """
    wanted: dict[str, WantedRun] = {}
    for preset in registry.experiment(experiment_id).presets:
        if not preset.shipped:
            continue
        config = preset.config
        if "seeds" in knobs.knobs_of(type(config)):
            config = dataclasses.replace(config, seeds=preset.seeds)
        key = key_of(experiment_id, config)
        run = wanted.setdefault(key, WantedRun(experiment_id, key, config, []))
        run.presets.append(preset.name)
    return list(wanted.values())


def _exists_whole(run: WantedRun) -> bool:
    """Return whether the run exists with all its tensors.

    A damaged shipped file is deleted: workers look at headers alone, would take it for the run and
    train nothing.
    """
    header = store.default().exact(run.experiment, run.key)
    if header is None:
        return False
    if header.origin == "local" and segments.is_compiled(header.info):
        return False
    if store.default().load(header) is not None:
        return True
    if header.origin == "local":
        return False  # the store has set it aside
    print(f"{run}: {header.path} is damaged; it is made anew", file=sys.stderr)
    header.path.unlink(missing_ok=True)
    return _exists_whole(run)  # there may be a local run of the same key


def _train(missing: list[WantedRun], workers: int | None) -> dict[str, str]:
    """Train the missing runs by torch alone; return a sentence for each that failed or was refused,
    by key."""
    failures = {}
    keys: list[str] = []
    runs = store.default()
    with interruptible(), segments.reference():
        try:
            for run in missing:
                header = runs.exact(run.experiment, run.key)
                if header is not None and segments.is_compiled(header.info):
                    runs.delete(header)  # the run of a visitor
                try:
                    keys.append(submit(Request(run.experiment, run.config)))
                except BadSetting as problem:  # a run that can never be kept here: train the others
                    failures[run.key] = f"{run}: {problem}"
            watch_all(keys, workers)
        except KeyboardInterrupt:
            for run in missing:
                queue.interrupt(run.key)
            raise KeyboardInterrupt(INTERRUPTED) from None
    for run in missing:
        state = queue.state(run.key)
        if state is not None and state.status != "done":
            failures[run.key] = f"{run}: {state.status}: {state.message}"
    return failures


def _ship(wanted: WantedRun) -> Header:
    """Move the run into artifacts/, or bring its presets and metrics there up to date.

    Raises `Damaged` if it cannot be read.
    """
    runs = store.default()
    header = runs.exact(wanted.experiment, wanted.key)
    run = runs.load(header) if header else None
    if header is None or run is None:
        raise Damaged(f"expected the run {wanted.key}, got none that can be read")
    records = measurements.measure(registry.experiment(wanted.experiment), run)
    info = {**header.info, "metrics": records, "presets": wanted.presets}
    info.pop("message", None)  # it said that the metrics failed
    info.pop("code", None)  # a run that comes with the project is the project's
    if (
        header.origin == "shipped"
        and header.info.get("presets") == wanted.presets
        and measurements.records_agree(header.info.get("metrics", ()), records)
    ):
        return header
    shipped = runs.ship(wanted.experiment, wanted.config, _lean(wanted, run.tensors), info)
    if header.origin == "local":
        # a tensor program's run takes less time than one alone; a GPU's says nothing of a CPU's
        if header.info.get("device", "").startswith("CPU") and "together" not in header.info:
            estimate.note_preset_seconds(
                wanted.experiment, wanted.config, header.info["seconds"], wanted.presets
            )
        runs.delete(header)
    return shipped


def _lean(wanted: WantedRun, tensors: Tensors) -> Tensors:
    """Return the tensors that are shipped: of a large run that opens no page, fewer snapshots and
    the model of the first seed alone."""
    if registry.experiment(wanted.experiment).presets[0].name in wanted.presets:
        return tensors
    if _size(tensors, "snapshot/") >= LARGE:
        tensors = thinned(tensors, FEWER)
    if _size(tensors, "seed/") < LARGE_MODELS:
        return tensors
    return {name: array for name, array in tensors.items() if not name.startswith("seed/")}


def _size(tensors: Tensors, prefix: str) -> int:
    """Return the bytes of the tensors whose names begin with a prefix."""
    return sum(array.nbytes for name, array in tensors.items() if name.startswith(prefix))


def _prune(ids: list[str], wanted: list[WantedRun]) -> None:
    """Delete shipped files that no preset asks for: earlier versions, renamed presets."""
    files = {(run.experiment, run.key) for run in wanted}
    for experiment_id in ids:
        for path in store.default().shipped_files(experiment_id):
            if (experiment_id, path.stem) not in files:
                print(f"pruned {path}", file=sys.stderr)
                path.unlink()


def _share_tensors(ids: list[str]) -> None:
    """Store tensors that runs have in common once, in the papers of the experiments `ids`."""
    papers = dict.fromkeys(experiment_id.partition(".")[0] for experiment_id in ids)
    for paper in papers:
        experiments = [
            experiment_id
            for experiment_id in registry.experiment_ids()
            if experiment_id.startswith(f"{paper}.")
        ]
        for path in store.default().share_tensors(experiments):
            print(f"pruned {path}", file=sys.stderr)
