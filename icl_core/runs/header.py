"""What makes two runs the same run, and the header of a run: what is known of it without reading
its tensors."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from icl_core import registry
from icl_core.contract import settings_io
from icl_core.contract.knobs import BadSetting, NotHere, knobs_of
from icl_core.contract.settings_io import from_stored
from icl_core.runs.file import IDENTITY, Damaged, Record, canonical

# How tensors are named and packed. `Experiment.upgrade` brings those of a lower form, or of none,
# up to this one.
FORM = 2


def stored_settings(config: Any) -> dict[str, Any]:
    """The settings as files keep them, be they a settings instance, a mapping or a namespace."""
    if isinstance(config, Mapping):
        return dict(config)
    return (
        vars(config).copy()
        if isinstance(config, SimpleNamespace)
        else settings_io.to_stored(config)
    )


def key_of(experiment_id: str, config: Any) -> str:
    """The key of `config` with the experiment's version of today; `BadSetting` for an unknown
    experiment."""
    return key_of_record(new_record(experiment_id, config, {}))


@dataclass(frozen=True)
class Header:
    """What is known of a stored run without reading its tensors. `origin` is "shipped" or "local".

    `info` holds version, packages, device, precision, threads, seconds, date, metrics (a `message`
    if they failed), and for a shipped run the names of its `presets`.
    """

    experiment: str
    key: str
    config: dict[str, Any] = field(hash=False)
    info: dict[str, Any] = field(hash=False)
    digest: str
    origin: str
    path: Path

    @cached_property
    def _typed(self) -> Any:
        return from_stored(registry.experiment(self.experiment).config, self.config)

    @cached_property
    def _gives(self) -> bool:
        """Whether the settings name what a visitor gave, which may be gone tomorrow."""
        known = knobs_of(type(self._typed))
        return any(
            knob.kind == "document" and getattr(self._typed, name) for name, knob in known.items()
        )


def typed_config(header: Header) -> Any:
    """The settings as the experiment's own class; raises `Damaged` if they are out of range today,
    `NotHere` if they need what is not on this computer."""
    try:
        if not header._gives:
            return header._typed
        return from_stored(registry.experiment(header.experiment).config, header.config)
    except NotHere:
        raise
    except (TypeError, BadSetting) as problem:
        raise Damaged(
            f"expected settings of {header.experiment}, got others: {problem}"
        ) from problem


def new_record(experiment_id: str, config: Any, info: Mapping[str, Any]) -> Record:
    """What a run's file says beside the tensors."""
    version = {"version": registry.version(experiment_id)}
    return {
        **version,
        **info,
        "form": FORM,
        "experiment": experiment_id,
        "config": stored_settings(config),
    }


def key_of_record(record: Mapping[str, Any]) -> str:
    """The key of the run that a file says it is: 20 hexadecimal digits of a hash of all that
    decides its content."""
    named = canonical({name: record[name] for name in IDENTITY})
    return hashlib.sha256(named.encode()).hexdigest()[:20]


def info_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """The circumstances among what a file says."""
    return {
        name: value
        for name, value in record.items()
        if name not in ("experiment", "config", "digest", "form")
    }


def header_of(record: Mapping[str, Any], key: str, origin: str, path: Path) -> Header:
    """The header in `record`; raises `Damaged` unless it is the run called `key`."""
    made = key_of_record(record)
    if made != key:
        raise Damaged(
            f"expected the run {key}, got {made} ({record['experiment']} version "
            f"{record['version']})"
        )
    return Header(
        record["experiment"], key, record["config"], info_of(record), record["digest"], origin, path
    )
