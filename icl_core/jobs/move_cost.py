"""Say what a move of a knob costs: the values at which a run exists, and the seconds of the others.

A page shows both beside its main knobs, so that a visitor knows before a move whether the figures
change at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from icl_core.contract.knobs import BadSetting, knobs_of
from icl_core.jobs.estimate import estimates
from icl_core.runs import store
from icl_core.runs.header import stored_settings


def ready_values(experiment_id: str, config: Any) -> dict[str, list[Any]]:
    """Return, by field, the values at which a run exists if only that field of `config` changes.

    The values are ascending, and hold the config's own if its run exists.
    """
    settings = stored_settings(config)
    by_stored_name = {knob.was or name: name for name, knob in knobs_of(type(config)).items()}
    ready: dict[str, set[Any]] = {name: set() for name in by_stored_name.values()}
    for run in store.default().every(experiment_id):
        differing = [name for name in by_stored_name if run.config.get(name) != settings.get(name)]
        if len(differing) > 1:
            continue
        for name in differing or by_stored_name:
            ready[by_stored_name[name]].add(run.config.get(name))
    return {field: _ascending(field, values) for field, values in ready.items()}


def _ascending(field: str, values: set[Any]) -> list[Any]:
    """Return the values in order; a run of several seeds holds every smaller number of them."""
    present = values - {None}  # a file leaves out a field that was added later
    if field == "seeds" and present:
        return list(range(1, max(present) + 1))
    return sorted(present)


def seconds_of_moves(
    experiment_id: str, config: Any, moves: Mapping[str, Sequence[Any]]
) -> dict[str, float | None]:
    """Return, by field, the seconds until the figures of the dearest of the field's `moves`.

    A move is another value of the field, the rest of `config` unchanged; one whose run exists costs
    0 s, and one that the experiment refuses is left out. None where no time is known.
    """
    configs: list[tuple[str, Any]] = []
    seconds: dict[str, float | None] = dict.fromkeys(moves, 0.0)
    for field, values in moves.items():
        for value in values:
            try:
                moved = replace(config, **{field: value})
            except BadSetting:
                continue
            if store.default().find(experiment_id, moved) is None:
                configs.append((field, moved))
    times = estimates(experiment_id, [moved for _, moved in configs], alone=True) if configs else []
    for (field, _), time in zip(configs, times, strict=True):
        dearest = seconds[field]
        seconds[field] = None if time is None or dearest is None else max(dearest, time)
    return seconds
