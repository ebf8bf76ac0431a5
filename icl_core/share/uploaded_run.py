"""A run's file that a visitor uploads: it is checked before it is kept and shown.

The file states what it holds, and anybody can write such a file. So its tensors are compared with
those of the runs that are here, its numbers are measured anew, and its stage is drawn once.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from icl_core import registry
from icl_core.contract.experiment import STAGE, CannotDraw, Experiment
from icl_core.contract.knobs import BadSetting
from icl_core.contract.message import printable
from icl_core.contract.run import PER_SNAPSHOT, Run, Tensors
from icl_core.evidence import measurements
from icl_core.machine import limits
from icl_core.runs.file import Damaged, Record, unpack
from icl_core.runs.header import Header, header_of, key_of_record, stored_settings, typed_config
from icl_core.runs.least_size import NO_SHAPE
from icl_core.runs.store import Store

LARGEST = 64 * 2**20  # bytes
MOST_OF_A_NAME = 60  # characters
# The circumstances that are kept: numbers are measured anew, and presets are the project's own.
_CIRCUMSTANCES = ("date", "device", "packages", "precision", "seconds", "threads")


def store_upload(content: bytes, name: str, store: Store) -> Header:
    """Check the bytes of a run's file called `name`, store its run and return its header.

    Raises `BadSetting` with what was expected and what the file has instead; then nothing is kept.
    Raises `OSError` with a sentence if it cannot be written.
    """
    limits.check_writable()
    record, tensors = _read(content)
    experiment_id = record["experiment"]
    config = _config(record)
    key = key_of_record(record)
    if (here := store.exact(experiment_id, key)) is not None:
        raise BadSetting(_already_here(here, record["digest"]))
    whole = [header for header in store.headers(experiment_id) if header.key != key]
    _check_tensors(tensors, record["config"], _loaded(whole, store))
    run = Run(config, tensors, {}, record["digest"], shipped=store.shipped_runs(experiment_id))
    records = _measured_anew(registry.experiment(experiment_id), run)
    info = {field: record[field] for field in _CIRCUMSTANCES if field in record}
    title = printable(" ".join(name.split()))[:MOST_OF_A_NAME]
    info = {**info, "metrics": records, "given": title or "a file"}
    return store.save(experiment_id, config, tensors, info)


def _read(content: bytes) -> tuple[Record, Tensors]:
    """Return what the file holds, if it is whole, of an experiment here and of its version."""
    if len(content) > LARGEST:
        raise BadSetting(
            f"a run's file must be at most {LARGEST // 2**20} MiB, got {len(content):,} bytes"
        )
    try:
        record, tensors = unpack(content)
    except Damaged as problem:
        raise BadSetting(f"the file must be a run as this app gives it: {problem}") from problem
    version = registry.version(record["experiment"])
    if record["version"] != version:
        raise BadSetting(
            f"the run must be of version {version} of {record['experiment']}, got version "
            f"{record['version']!r:.20}: it would compute other numbers"
        )
    return record, tensors


def _config(record: Record) -> Any:
    """Return the settings in the record, each in its range."""
    header = header_of(record, key_of_record(record), "local", Path())
    try:
        config = typed_config(header)
    except Damaged as problem:
        raise BadSetting(str(problem)) from problem
    if stored_settings(config) != record["config"]:
        raise BadSetting(
            f"the settings must be those of {record['experiment']}, each once, got others"
        )
    return config


def _already_here(header: Header, digest: str) -> str:
    same = "the same numbers" if header.digest == digest else "other numbers"
    return (
        f"the run of these settings is here already, with {same} (digest {header.digest[:12]}, "
        f"the file's {digest[:12]})"
    )


def _loaded(headers: Sequence[Header], store: Store) -> list[tuple[Mapping[str, Any], Tensors]]:
    """Return settings and tensors of the runs that can be read."""
    loaded = [(header.config, store.load(header, typed=False)) for header in headers]
    return [(config, run.tensors) for config, run in loaded if run is not None]


def _check_tensors(
    tensors: Tensors,
    config: Mapping[str, Any],
    known: Sequence[tuple[Mapping[str, Any], Tensors]],
) -> None:
    """Compare names, shapes and finiteness with the `known` runs of the experiment; raises
    `BadSetting`.

    Names and shapes depend on the settings: only a twin tells what they must be. What was not
    measured is NaN: only those kinds of tensors may have gaps that have some in a known run.
    """
    rows = len(tensors.get("snapshot/step", ()))
    for name, array in tensors.items():
        is_row_each = rows and _kind(name) in PER_SNAPSHOT
        if is_row_each and (array.ndim == 0 or len(array) != rows):
            raise BadSetting(
                f"{name!r:.80} must have a row for each of {rows} snapshots, got the shape "
                f"{array.shape}"
            )
    for other_config, others in known:
        if _is_twin(config, other_config):
            _check_shapes(tensors, others)
    may_lack = {_kind(name) for _, others in known for name in others if _has_gap(others[name])}
    for name, array in tensors.items():
        if known and _has_gap(array) and _kind(name) not in may_lack:
            raise BadSetting(f"{name!r:.80} must hold finite numbers, got one that is not")


def _check_shapes(tensors: Tensors, others: Tensors) -> None:
    """Compare names and shapes with those of a twin; raises `BadSetting`. Either may lack the
    models of seeds but the first, and may hold any number of snapshots."""
    odd = sorted(name for name in set(tensors) ^ set(others) if _kind(name) != "seed")
    if odd:
        missing = odd[0] in others
        raise BadSetting(
            f"the run must {'' if missing else 'not '}have the tensor {odd[0]!r:.80} at its "
            f"settings, got {'none' if missing else 'one'} of that name"
        )
    for name in set(tensors) & set(others):
        array = tensors[name]
        other = others[name]
        first = 1 if _kind(name) in PER_SNAPSHOT else 0
        is_like = array.ndim == other.ndim and array.dtype.kind == other.dtype.kind
        if not is_like or array.shape[first:] != other.shape[first:]:
            raise BadSetting(
                f"{name!r:.80} must be {other.dtype} of shape {other.shape} at its settings, got "
                f"{array.dtype} of shape {array.shape}"
            )


def _kind(name: str) -> str:
    return name.split("/")[0]


def _is_twin(config: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether runs of the two settings have tensors of the same shapes: only fractions,
    seeds' beginning and the batch differ."""
    if config.keys() != other.keys():
        return False
    return all(
        value == other[name] or name in NO_SHAPE or float in (type(value), type(other[name]))
        for name, value in config.items()
    )


def _has_gap(array: np.ndarray) -> bool:
    """Return whether a tensor holds a number that is not finite."""
    return array.dtype.kind == "f" and not bool(np.isfinite(array).all())


def _measured_anew(experiment: Experiment, run: Run) -> list[dict[str, Any]]:
    """Return the run's numbers, measured anew, after its stage was drawn; raises `BadSetting` if
    that fails."""
    view = experiment.view()
    try:
        records = measurements.measure(experiment, run)
        experiment.headline(run, view)
        for drawing in experiment.drawings:
            if drawing.place == STAGE and drawing.applies(run.config):
                with suppress(CannotDraw):  # a sentence that a sound run may give, too
                    drawing.panel(run, view)
    except Exception as problem:  # tensors that do not fit may fail in any way
        raise BadSetting(
            f"the run's numbers cannot be measured and drawn ({type(problem).__name__}): its "
            "tensors do not fit its settings"
        ) from problem
    return records
