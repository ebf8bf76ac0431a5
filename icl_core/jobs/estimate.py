"""Estimate how long a run will take on this machine, from the runs that are known, above all those
with like settings. Called by pages, sweeps and `queue.submit`.

The cost of a run is counted in operations (`Experiment.cost`), but how many of them a second makes
depends on the settings: small products are mostly waiting. So the seconds of an operation are those
of the nearest runs. Seconds are of CPU time, which other processes do not stretch.
"""

import json
import math
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from icl_core import registry
from icl_core.contract import settings_io
from icl_core.contract.experiment import Experiment
from icl_core.jobs.folder import jobs_folder
from icl_core.jobs.reading import read_json
from icl_core.runs import store
from icl_core.runs.disk import write_whole
from icl_core.runs.header import Header, stored_settings, typed_config

FIGURES = 0.7  # seconds from the request to a worker, and from the run to its figures
NEAR = 0.03  # a distance between settings that makes little difference
MADE_HERE = 4.0  # weight of a run made on this machine; that of a shipped one is 1
SHIPPED_PACE = 0.78  # CPU seconds of `device.pace`: the median over the shipped runs' trainings
OLD = 86400.0  # seconds after which the pace of this machine is measured anew


def estimate_seconds(experiment_id: str, config: Any) -> float | None:
    """Return the seconds until the figures of `config` are there, on an idle core; None if no run
    is known."""
    return estimates(experiment_id, [config], alone=True)[0]


def estimates(
    experiment_id: str, configs: Sequence[Any], alone: bool = False
) -> list[float | None]:
    """Return `estimate_seconds` of each of `configs`, reading the known runs once for all.

    Runs of one tensor program take less time each: with `alone` they are left out, if there are
    others.
    """
    from icl_core.machine import device  # imports torch

    experiment = registry.experiment(experiment_id)
    headers = [
        header for header in store.default().headers(experiment_id) if header.info.get("seconds")
    ]
    same_device = [header for header in headers if header.info.get("device") == device.describe()]
    headers = same_device or headers
    if alone:
        headers = [header for header in headers if header.info.get("together", 1) == 1] or headers
    pace = machine_pace()
    logs = [math.log(_seconds_per_cost(experiment, header, pace)) for header in headers]
    return [_estimate(experiment, config, headers, logs) for config in configs]


def _estimate(
    experiment: Experiment, config: Any, headers: Sequence[Header], logs: Sequence[float]
) -> float | None:
    """Return the cost of `config`, times the weighted geometric mean of the seconds per cost."""
    if not headers:
        return None
    values = stored_settings(config)
    weights = [_weight(experiment, values, header) for header in headers]
    weighted = sum(weight * log for weight, log in zip(weights, logs, strict=True))
    return FIGURES + math.exp(weighted / sum(weights)) * experiment.cost(config)


def _weight(experiment: Experiment, values: dict[str, Any], header: Header) -> float:
    distance = settings_io.distance(experiment.config, values, header.config) + NEAR
    return (MADE_HERE if header.origin == "local" else 1.0) / distance**2


def _seconds_per_cost(experiment: Experiment, header: Header, pace: float | None) -> float:
    """Return the seconds that a unit of cost took in a run. Those of a shipped run are converted to
    the pace of this machine, once that is measured."""
    slower = pace / SHIPPED_PACE if pace and header.origin == "shipped" else 1.0
    return slower * header.info["seconds"] / _cost(experiment.cost, typed_config(header))


@lru_cache(4096)
def _cost(cost: Callable[[Any], float], config: Any) -> float:
    """Return the cost of a known run; cached, as every page needs it for all its runs."""
    return cost(config)


def machine_pace() -> float | None:
    """Return the CPU seconds that `device.pace` took when it was last measured here; None before
    that."""
    record = read_json(jobs_folder() / "pace.json", _is_pace, "what a pace measured here is")
    return float(record["seconds"]) if record else None


def _is_pace(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("seconds"), (int, float))
        and 0 < value["seconds"] < math.inf
    )


def measure_pace() -> None:
    """Measure the pace of this machine, unless that was done within a day."""
    from icl_core.machine import device  # imports torch

    path = jobs_folder() / "pace.json"
    try:
        if path.exists() and time.time() - path.stat().st_mtime <= OLD:
            return
        record = {"seconds": device.pace(), "device": device.describe()}
        write_whole(path, json.dumps(record).encode())
    except OSError:  # estimates then take this machine to be as fast as any other
        return
