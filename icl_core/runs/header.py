"""The header of a run: what is known of it without reading its tensors."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from icl_core import identity, registry
from icl_core.identity import plain, run_key
from icl_core.knobs import BadSetting, from_kept
from icl_core.runs.file import Damaged, Record


@dataclass(frozen=True)
class Header:
    """What is known of a stored run without reading its tensors. `origin` is "shipped" or "local".

    `info` holds version, packages, device, precision, threads, seconds, loss, date, metrics (a `message` if they
    failed), and for a shipped run the names of its `presets`.
    """

    experiment: str
    key: str
    config: dict[str, Any] = field(hash=False)
    info: dict[str, Any] = field(hash=False)
    digest: str
    origin: str
    path: Path


def typed_config(header: Header) -> Any:
    """The settings as the experiment's own class; raises `Damaged` if they are out of range today."""
    try:
        return from_kept(registry.experiment(header.experiment).config, header.config)
    except (TypeError, BadSetting) as problem:
        raise Damaged(f"expected settings of {header.experiment}, got others: {problem}") from problem


def new_record(experiment_id: str, config: Any, info: Mapping[str, Any]) -> Record:
    """What a run's file says beside the tensors."""
    version = {"version": identity.current_version(experiment_id)}
    return {**version, **info, "experiment": experiment_id, "config": plain(config)}


def info_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """The circumstances among what a file says."""
    return {name: value for name, value in record.items() if name not in ("experiment", "config", "digest")}


def header_of(record: Mapping[str, Any], key: str, origin: str, path: Path) -> Header:
    """The header in `record`; raises `Damaged` unless it is the run called `key`."""
    experiment_id, config = record["experiment"], record["config"]
    made = run_key(experiment_id, record["version"], config)
    if made != key:
        raise Damaged(f"expected the run {key}, got {made} ({experiment_id} version {record['version']})")
    return Header(experiment_id, key, config, info_of(record), record["digest"], origin, path)
