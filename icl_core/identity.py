"""What makes two runs the same run: experiment, version and settings. Imports no torch."""

import hashlib
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from icl_core import knobs
from icl_core.knobs import distance as distance
from icl_core.registry import imported as imported
from icl_core.registry import version as current_version
from icl_core.runs.file import canonical


def plain(config: Any) -> dict[str, Any]:
    """The settings as files keep them, be they a settings instance, a mapping or a namespace."""
    if isinstance(config, Mapping):
        return dict(config)
    return vars(config).copy() if isinstance(config, SimpleNamespace) else knobs.kept(config)


def run_key(experiment_id: str, version: int, config: Mapping[str, Any]) -> str:
    """The name of the run: 20 hexadecimal digits of a hash of all that decides its content."""
    named = canonical({"experiment": experiment_id, "version": version, "config": config})
    return hashlib.sha256(named.encode()).hexdigest()[:20]


def key_of(experiment_id: str, config: Any) -> str:
    """The key of `config` with the experiment's version of today; `BadSetting` for an unknown experiment."""
    return run_key(experiment_id, current_version(experiment_id), plain(config))
