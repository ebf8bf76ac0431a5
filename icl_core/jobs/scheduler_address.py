"""A Dask cluster in place of this machine's cores: where its scheduler is, and what is told of it.

One process here, `icl_core.cluster.dispatcher`, hands the jobs to it; what it tells stands in a
file for all to read.
"""

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from icl_core.jobs.folder import jobs_folder
from icl_core.jobs.reading import read_json
from icl_core.runs.disk import write_whole


@dataclass(frozen=True)
class ClusterStatus:
    """How many trainings the cluster can do at once; `message`, if nothing can be trained there
    now, why; and a sentence for each of its machines that was refused."""

    workers: int = 0
    message: str = ""
    refused: list[str] = field(default_factory=list)


def scheduler() -> str:
    """The address of the scheduler that `ICL_SCHEDULER` names; empty if trainings are done here."""
    return os.environ.get("ICL_SCHEDULER", "").strip()


def choose_scheduler(address: str) -> None:
    """Have this process, and those that it starts, hand its trainings to that scheduler."""
    os.environ["ICL_SCHEDULER"] = address


def lock_path() -> Path:
    """The lock that the process holds which hands jobs to the scheduler, as long as it lives."""
    return _path("lock")


def read_status() -> ClusterStatus:
    """What was last told of the cluster in use; nothing if none is."""
    found = read_json(_path("json"), _is_told, "what is told of a cluster") if scheduler() else None
    return ClusterStatus(**found) if found else ClusterStatus()


def write_status(news: ClusterStatus) -> None:
    """Say how the cluster is, unless that has been said. A full disk costs no more than the
    message."""
    if news != read_status():
        with suppress(OSError):
            write_whole(_path("json"), json.dumps(asdict(news)).encode())


def _path(ending: str) -> Path:
    name = hashlib.sha256(scheduler().encode()).hexdigest()[:8]
    return jobs_folder() / f"scheduler-{name}.{ending}"


def _is_told(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == ClusterStatus.__dataclass_fields__.keys()
        and isinstance(value["workers"], int)
        and isinstance(value["message"], str)
        and isinstance(value["refused"], list)
        and all(isinstance(each, str) for each in value["refused"])
    )
