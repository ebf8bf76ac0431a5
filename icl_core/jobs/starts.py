"""The workers that were started and are not known to have come up.

    <cache>/jobs/started.json

A worker that cannot be started, or dies at its imports, would be started again for ever: after
TRIES such tries in a row the jobs that wait fail, with the last line of the workers' log. Called by
`spawn`, which starts workers, and by workers once they are up; `spawn` is within a transaction.
"""

import json
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from icl_core.jobs.folder import jobs_folder
from icl_core.jobs.reading import read_json
from icl_core.runs import database
from icl_core.runs.disk import write_whole

TRIES = 3
LONGEST = 60.0  # seconds after which a worker that lives, but is not up, counts as one that is not
_TAIL = 4096  # bytes of the log that are looked at
_LONGEST_LINE = 200  # characters


@dataclass(frozen=True)
class Starts:
    """The tries to start workers since one came up last.

    tries      how many there were
    at         when the last was, in seconds since 1970
    processes  pid and birth of each process that it has started, in seconds since 1970
    problem    why it has started none, if it could not
    """

    tries: int = 0
    at: float = 0.0
    processes: tuple[tuple[int, float], ...] = ()
    problem: str = ""

    def are_coming(self) -> bool:
        """Return whether a worker of the last try may still come up."""
        is_recent = 0 <= time.time() - self.at < LONGEST
        return is_recent and any(_lives(pid, born) for pid, born in self.processes)


def read() -> Starts:
    """Return the tries to start workers since one came up last."""
    record = read_json(_path(), _is_starts, "what is known of the workers that were started")
    if not record:
        return Starts()
    return Starts(**{**record, "processes": tuple(map(tuple, record["processes"]))})


def note(pids: Sequence[int], problem: str = "") -> None:
    """Note a try to start workers: the processes that it has started, or why it could not."""
    processes: list[tuple[int, float]] = []
    for pid in pids:
        with suppress(psutil.Error):  # it has ended
            processes.append((pid, psutil.Process(pid).create_time()))
    _write(Starts(read().tries + 1, time.time(), tuple(processes), problem))


def come_up() -> None:
    """Note that this process, a worker, is up."""
    with suppress(OSError), database.transaction():
        starts = read()
        if starts.tries:
            others = tuple(process for process in starts.processes if process[0] != os.getpid())
            _write(Starts(0, starts.at, others))


def failure() -> str:
    """Return why no worker comes up, once it was tried often enough, and begin to count anew; ""
    before that."""
    starts = read()
    if starts.tries < TRIES:
        return ""
    _write(Starts())
    if starts.problem:
        return f"no worker can be started: {starts.problem}"
    line = _last_line() or "nothing is written there"
    return f"no worker comes up: {TRIES} have ended at once; the end of {log_path()}: {line}"


def log_path() -> Path:
    """Return the file of what workers print."""
    return jobs_folder() / "workers.log"


def _write(starts: Starts) -> None:
    write_whole(_path(), json.dumps(asdict(starts)).encode())


def _path() -> Path:
    return jobs_folder() / "started.json"


def _lives(pid: int, born: float) -> bool:
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        is_same = abs(process.create_time() - born) < 1  # else another one has its pid
        return is_same and process.status() != psutil.STATUS_ZOMBIE
    return False


def _last_line() -> str:
    """Return the last line of the log that says something, shortened."""
    try:
        with log_path().open("rb") as log:
            log.seek(max(0, log_path().stat().st_size - _TAIL))
            lines = log.read().decode(errors="replace").split("\n")
    except OSError:
        return ""
    said = [line.strip() for line in lines if line.strip()]
    line = said[-1] if said else ""
    return "".join(letter if letter.isprintable() else "�" for letter in line[:_LONGEST_LINE])


def _is_starts(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == Starts.__dataclass_fields__.keys()
        and isinstance(value["tries"], int)
        and isinstance(value["at"], (int, float))
        and isinstance(value["problem"], str)
        and isinstance(value["processes"], list)
        and all(map(_is_process, value["processes"]))
    )


def _is_process(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and type(value[0]) is int
        and 0 < value[0] < 2**31
        and isinstance(value[1], (int, float))
    )
