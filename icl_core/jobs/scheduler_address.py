"""The address of the Dask scheduler, if trainings are done on a cluster in place of this machine,
and the cluster's status.

One process on this machine, `icl_core.cluster.dispatcher`, hands the jobs to the scheduler and
writes the status to a file, from which pages and the command line read it.
"""

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from icl_core.contract.knobs import BadSetting
from icl_core.jobs.folder import jobs_folder
from icl_core.jobs.reading import read_json
from icl_core.runs.disk import write_whole

_SCHEMES = ("tcp", "tls", "ws", "wss", "ucx")  # the protocols of Dask between machines


@dataclass(frozen=True)
class ClusterStatus:
    """The status of a cluster."""

    workers: int = 0  # trainings that it can do at once
    message: str = ""  # why nothing can be trained there now, if nothing can
    refused: list[str] = field(default_factory=list)  # a sentence for each machine not used


def scheduler() -> str:
    """Return the address in `ICL_SCHEDULER`; "" if trainings are done on this machine."""
    return os.environ.get("ICL_SCHEDULER", "").strip()


def choose_scheduler(address: str) -> None:
    """Have this process, and those that it starts, hand trainings to the scheduler at `address`.
    Raises `BadSetting` for what is no address."""
    check(address.strip())
    os.environ["ICL_SCHEDULER"] = address


def check(address: str) -> None:
    """Raise `BadSetting` if there can never be a scheduler at `address`; whether there is one now
    is found out by the dispatcher, which waits for it."""
    try:
        parts = urlsplit(address if "://" in address else f"tcp://{address}")
        is_address = parts.scheme in _SCHEMES and bool(parts.hostname) and bool(parts.port)
    except ValueError:  # no such port, or an unclosed bracket
        is_address = False
    if not is_address or not address.isprintable() or " " in address:
        raise BadSetting(
            "ICL_SCHEDULER and --scheduler must be an address like tcp://HOST:8786, got "
            f"{address!r:.80}"
        )


def lock_path() -> Path:
    """Return the lock that the dispatcher for this scheduler holds as long as it lives."""
    return _path("lock")


def read_status() -> ClusterStatus:
    """Return the last status written for the scheduler; an empty one if there is none."""
    if not scheduler():
        return ClusterStatus()
    record = read_json(_path("json"), _is_status, "what is known of a cluster")
    return ClusterStatus(**record) if record else ClusterStatus()


def write_status(status: ClusterStatus) -> None:
    """Write the status, if it has changed."""
    if status != read_status():
        with suppress(OSError):  # on a full disk the status before stays
            write_whole(_path("json"), json.dumps(asdict(status)).encode())


def _path(suffix: str) -> Path:
    name = hashlib.sha256(scheduler().encode()).hexdigest()[:8]
    return jobs_folder() / f"scheduler-{name}.{suffix}"


def _is_status(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == ClusterStatus.__dataclass_fields__.keys()
        and isinstance(value["workers"], int)
        and isinstance(value["message"], str)
        and isinstance(value["refused"], list)
        and all(isinstance(sentence, str) for sentence in value["refused"])
    )
