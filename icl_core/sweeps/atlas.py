"""The atlas of an experiment: which runs it has, how it is made of them. `icl_core.runs.atlas` is
its file."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

from icl_core import registry
from icl_core.contract import settings_io
from icl_core.contract.knobs import BadSetting
from icl_core.findings import findings
from icl_core.runs import store
from icl_core.runs.atlas import Mapped, pack_atlas, thin
from icl_core.runs.disk import write_whole
from icl_core.runs.file import Damaged
from icl_core.runs.store import Header
from icl_core.sweeps.setting_grid import Grid, parse


@cache
def grids(experiment_id: str) -> tuple[Grid, ...]:
    """The grids of an experiment's atlas; none if it has no atlas."""
    planned = registry.experiment(experiment_id).atlas
    return (
        tuple(parse(experiment_id, over, base) for base, over in planned.grids) if planned else ()
    )


def configs(experiment_id: str) -> list[Any]:
    """The settings in the atlas, each once: all of its grids but those that the
    experiment refuses."""
    return list(
        dict.fromkeys(
            cell.config for each in grids(experiment_id) for cell in each.cells if cell.config
        )
    )


def ready_values(experiment_id: str, config: Any) -> dict[str, list[Any]]:
    """Of every knob that the atlas has an axis for, the values at which it has the run of `config`
    otherwise."""
    known = store.default().atlases.headers(experiment_id)
    found: dict[str, list[Any]] = {}
    for axis in (axis for each in grids(experiment_id) for axis in each.axes if known):
        at = (value for value in axis.values if value not in found.get(axis.field, ()))
        there = [value for value in at if _key(experiment_id, config, axis.field, value) in known]
        found[axis.field] = found.get(axis.field, []) + there
    return found


@lru_cache(2**12)
def _key(experiment_id: str, config: Any, field: str, value: Any) -> str:
    """The key of `config` with another value of a field; empty if the experiment refuses that."""
    try:
        return store.key_of(experiment_id, replace(config, **{field: value}))
    except BadSetting:
        return ""


def atlas_header(experiment_id: str, key: str) -> Header | None:
    """The run that an atlas takes: one of the atlas that is there, so that it stays as it is, else
    a whole one."""
    kept = store.default()
    return kept.atlases.headers(experiment_id).get(key) or kept.exact(experiment_id, key)


def write(experiment_id: str, settings: Sequence[Any]) -> None:
    """Write the atlas of runs that are all there, or delete one that has become empty. Whole runs
    that were made for it are deleted. Raises `Damaged` for a run that cannot be read."""
    kept, planned = store.default(), registry.experiment(experiment_id).atlas
    path = kept.atlases.path(experiment_id)
    if planned is None or not settings:
        path.unlink(missing_ok=True)
        return
    headers = [
        atlas_header(experiment_id, store.key_of(experiment_id, config)) for config in settings
    ]
    runs = [_mapped(each) for each in headers]
    measured = [(config, _values(run)) for config, run in zip(settings, runs, strict=True)]
    base = planned.grids[0][0]
    metrics = findings.records_of(
        registry.experiment(experiment_id), planned.findings(measured), base
    )
    content = pack_atlas(experiment_id, settings_io.to_stored(base), runs, metrics)
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
        path.chmod(0o644)
    for each in headers:
        if each and each.origin == "local":
            kept.delete(each)


def _mapped(found: Header | None) -> Mapped:
    """A run as an atlas keeps it: thinned, unless it comes from one."""
    if found is None:
        raise Damaged("expected a run, got none")
    run = store.default().load(found)
    if run is None:
        raise Damaged(f"expected the run {found.key}, got none that can be read")
    return Mapped(found.config, found.info, thin(run.tensors))


def _values(run: Mapped) -> dict[str, float]:
    """What a run has measured, by claim."""
    records = run.info.get("metrics", ())
    return {record["claim"]: record["value"] for record in records if record["value"] is not None}
