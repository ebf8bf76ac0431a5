"""The atlas of an experiment: which runs it has, and how it is built from them.

`icl_core.runs.atlas` holds its file format.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

from icl_core import registry
from icl_core.contract import settings_io
from icl_core.contract.knobs import BadSetting
from icl_core.evidence import measurements
from icl_core.runs import store
from icl_core.runs.atlas import Mapped, pack_atlas, thin
from icl_core.runs.disk import write_shipped
from icl_core.runs.file import Damaged
from icl_core.runs.header import key_of
from icl_core.runs.store import Header
from icl_core.sweeps.setting_grid import Grid, parse


@cache
def grids(experiment_id: str) -> tuple[Grid, ...]:
    """Return the grids of an experiment's atlas; none if it has no atlas."""
    declared = registry.experiment(experiment_id).atlas
    if declared is None:
        return ()
    return tuple(parse(experiment_id, axes, base) for base, axes in declared.grids)


def configs(experiment_id: str) -> list[Any]:
    """Return the settings in the atlas, each once, without those that the experiment refuses."""
    cells = [cell for grid in grids(experiment_id) for cell in grid.cells]
    return list(dict.fromkeys(cell.config for cell in cells if cell.config))


def ready_values(experiment_id: str, config: Any) -> dict[str, list[Any]]:
    """Return the values that the atlas has a run at if only one setting of `config` changes.

    The result is by setting, for those that the atlas has an axis for.
    """
    headers = store.default().atlases.headers(experiment_id)
    if not headers:
        return {}
    ready: dict[str, list[Any]] = {}
    for grid in grids(experiment_id):
        for axis in grid.axes:
            values = ready.setdefault(axis.field, [])
            new = [value for value in axis.values if value not in values]
            values += [
                value for value in new if _key(experiment_id, config, axis.field, value) in headers
            ]
    return ready


@lru_cache(2**12)
def _key(experiment_id: str, config: Any, field: str, value: Any) -> str:
    """Return the key of `config` with another value of `field`; "" if the experiment refuses it."""
    try:
        return key_of(experiment_id, replace(config, **{field: value}))
    except BadSetting:
        return ""


def atlas_header(experiment_id: str, key: str) -> Header | None:
    """Return the run that an atlas is built from.

    This is the run in the present atlas, so that it stays as it is, else a whole run.
    """
    runs = store.default()
    return runs.atlases.headers(experiment_id).get(key) or runs.exact(experiment_id, key)


def write(experiment_id: str, settings: Sequence[Any]) -> None:
    """Write the atlas of runs that all exist, or delete it if there are no settings.

    Whole runs that were computed for it are deleted. Raises `Damaged` for a run that cannot be
    read.
    """
    runs = store.default()
    declared = registry.experiment(experiment_id).atlas
    path = runs.atlases.path(experiment_id)
    if declared is None or not settings:
        path.unlink(missing_ok=True)
        return
    headers = [atlas_header(experiment_id, key_of(experiment_id, config)) for config in settings]
    mapped = [_mapped(header) for header in headers]
    measured = [(config, _values(run)) for config, run in zip(settings, mapped, strict=True)]
    base = declared.grids[0][0]
    metrics = measurements.records_of(
        registry.experiment(experiment_id), declared.findings(measured), base
    )
    previous = runs.atlases.whole(experiment_id)
    if previous and measurements.records_agree(previous.info["metrics"], metrics):
        metrics = previous.info["metrics"]
    content = pack_atlas(experiment_id, settings_io.to_stored(base), mapped, metrics)
    if not path.exists() or path.read_bytes() != content:
        write_shipped(path, content)
    for header in headers:
        if header and header.origin == "local":
            runs.delete(header)


def _mapped(header: Header | None) -> Mapped:
    """Return a run as an atlas stores it: thinned, unless it comes from an atlas."""
    if header is None:
        raise Damaged("expected a run, got none")
    run = store.default().load(header)
    if run is None:
        raise Damaged(f"expected the run {header.key}, got none that can be read")
    return Mapped(header.config, header.info, thin(run.tensors))


def _values(run: Mapped) -> dict[str, float]:
    """Return what a run measured, by claim."""
    records = run.info.get("metrics", ())
    return {record["claim"]: record["value"] for record in records if record["value"] is not None}
