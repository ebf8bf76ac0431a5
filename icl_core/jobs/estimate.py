"""How long a run will take here: by the runs that are known, those of like settings first.

What a run costs is counted in operations, of which a second makes more or fewer with every setting:
small products are mostly waiting. So the seconds an operation takes are those of the nearest runs.
Seconds are of CPU time: what else goes on does not stretch them.
"""

import json
import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

from icl_core import registry
from icl_core.contract import settings_io
from icl_core.contract.experiment import Experiment
from icl_core.jobs.folder import jobs_folder
from icl_core.jobs.reading import plain_file, read_json
from icl_core.runs import store
from icl_core.runs.disk import write_whole
from icl_core.runs.header import Header, stored_settings, typed_config

FIGURES = 0.7  # seconds from the question to a worker, and from the run to its figures
NEAR = 0.03  # a distance between settings that makes little difference
MADE_HERE = 4.0  # runs that count as much as one made here
OLD = 86400.0  # seconds after which this machine's pace is measured anew


def estimate_seconds(experiment_id: str, config: Any) -> float | None:
    """Seconds until the figures of `config` are there, on an idle core. None if no run is known."""
    return estimates(experiment_id, [config], alone=True)[0]


def estimates(
    experiment_id: str, configs: Sequence[Any], alone: bool = False
) -> list[float | None]:
    """`estimate` of each of `configs`; what is known is read once for all. Some runs are made with
    others as one, and take less each: these do not count for what goes `alone`."""
    from icl_core.machine import device  # imports torch

    experiment = registry.experiment(experiment_id)
    known = [
        header for header in store.default().headers(experiment_id) if header.info.get("seconds")
    ]
    known = [header for header in known if header.info.get("device") == device.describe()] or known
    if alone:
        known = [header for header in known if header.info.get("together", 1) == 1] or known
    mine = machine_pace()
    logs = [math.log(_seconds(experiment, header, mine)) for header in known]
    return [_estimate(experiment, config, known, logs) for config in configs]


def _estimate(
    experiment: Experiment, config: Any, known: Sequence[Header], logs: Sequence[float]
) -> float | None:
    if not known:
        return None
    values = stored_settings(config)
    weights = [_weight(experiment, values, header) for header in known]
    weighed = sum(weight * log for weight, log in zip(weights, logs, strict=True))
    return FIGURES + math.exp(weighed / sum(weights)) * experiment.cost(config)


def _weight(experiment: Experiment, values: dict[str, Any], header: Header) -> float:
    apart = settings_io.distance(experiment.config, values, header.config) + NEAR
    return (MADE_HERE if header.origin == "local" else 1.0) / apart**2


def _seconds(experiment: Experiment, header: Header, mine: float | None) -> float:
    """What a unit of cost took in a run, or would have taken at a pace of `mine`."""
    its = header.info.get("pace")
    slower = mine / its if mine and its and header.origin == "shipped" else 1.0
    return slower * header.info["seconds"] / _cost(experiment.cost, typed_config(header))


@lru_cache(4096)
def _cost(cost: Callable[[Any], float], config: Any) -> float:
    """Of a known run: the same whenever it is asked for, and every page asks for those of all its
    runs."""
    return cost(config)


def machine_pace() -> float | None:
    """CPU seconds that `device.pace` took here when a worker last asked; None if none has."""
    told = read_json(jobs_folder() / "pace.json", _is_pace, "what a pace measured here is")
    return float(told["seconds"]) if told else None


def _is_pace(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("seconds"), (int, float))
        and 0 < value["seconds"] < math.inf
    )


def measure_pace() -> None:
    """Measure this machine's pace, unless that was done of late."""
    from icl_core.machine import device

    path = jobs_folder() / "pace.json"
    with suppress(OSError):
        if not plain_file(path) or time.time() - path.stat().st_mtime > OLD:
            write_whole(
                path, json.dumps({"seconds": device.pace(), "device": device.describe()}).encode()
            )
