"""The workers that were started and are not up yet, and those that hold a slot.

    <cache>/jobs/started.json   the processes that are not up, and how many have failed in a row
    <cache>/jobs/slot-N.json    who holds slot N, with which environment variables and code

A worker that cannot be started, or dies at its imports, would be started again for ever: after
MOST_FAILURES in a row, with growing pauses between them, the jobs that wait for such a worker fail,
with the last line of the workers' log. Called by `spawn`, which starts workers within a
transaction, and by workers.
"""

import json
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from icl_core.contract.message import printable
from icl_core.jobs import table
from icl_core.jobs.folder import jobs_folder, read_json
from icl_core.jobs.table import Environment
from icl_core.runs import database
from icl_core.runs.disk import write_whole

MOST_FAILURES = 3
PAUSES = (4.0, 16.0, 0.0)  # seconds after the first failure, the second, the last
LONGEST = 60.0  # seconds after which a process that lives, and has no slot, counts as a failure
_TAIL = 4096  # bytes of the log that are looked at
_LONGEST_LINE = 200  # characters


# by the folder of jobs: why none could be started at the last look, if other code held all slots
obstacles: dict[Path, str] = {}


@dataclass(frozen=True)
class Process:
    """A worker that is not up yet.

    born      when it began, in seconds since 1970: its pid may be another one's by now
    has_slot  whether it holds its slot, and imports what trainings need
    """

    pid: int
    born: float
    has_slot: bool = False

    def lives(self) -> bool:
        """Return whether the process is still there."""
        return living_process(self.pid, self.born) is not None


@dataclass(frozen=True)
class Starts:
    """What is known of the workers that were started.

    failures   how many could not be started, or died before they were up, since one was up last
    at         when the last was started, in seconds since 1970
    problem    why the last could not be started; empty if it could
    processes  those that are not up
    """

    failures: int = 0
    at: float = 0.0
    problem: str = ""
    processes: tuple[Process, ...] = ()

    @property
    def coming(self) -> int:
        """How many will take a slot, but have not yet."""
        return sum(not process.has_slot for process in self.processes)

    def must_pause(self) -> bool:
        """Return whether it is too early for another start after a failure."""
        pause = PAUSES[min(self.failures, MOST_FAILURES) - 1] if self.failures else 0.0
        return 0 <= time.time() - self.at < pause


def look() -> Starts:
    """Return what is known; a process that has died, or hangs without a slot, counts as a
    failure."""
    starts = _read()
    is_old = not 0 <= time.time() - starts.at < LONGEST
    waited_for = tuple(
        process
        for process in starts.processes
        if process.lives() and (process.has_slot or not is_old)
    )
    failures = starts.failures + len(starts.processes) - len(waited_for)
    return replace(starts, failures=failures, processes=waited_for)


def note_start(pids: Sequence[int], problem: str = "") -> None:
    """Note the processes that were started now, or the problem if none could be."""
    starts = look()
    processes = list(starts.processes)
    failures = starts.failures + bool(problem)
    for pid in pids:
        try:
            processes.append(Process(pid, psutil.Process(pid).create_time()))
        except psutil.Error:  # it has ended already
            failures += 1
    _write(Starts(failures, time.time(), problem, tuple(processes)))


def note_slot(slot: int) -> None:
    """Note that this process, a worker that is not up yet, holds a slot."""
    with suppress(OSError), database.transaction():
        holder = {
            "pid": os.getpid(),
            "born": psutil.Process().create_time(),
            "variables": table.current_environment(),
        }
        write_whole(_slot_path(slot), json.dumps(holder).encode())
        starts = _read()
        processes = tuple(
            replace(process, has_slot=process.has_slot or process.pid == os.getpid())
            for process in starts.processes
        )
        _write(replace(starts, processes=processes))


def note_up() -> None:
    """Note that this process, a worker, is up, or ends as it should: others can come up as well."""
    with suppress(OSError), database.transaction():
        starts = look()
        others = tuple(process for process in starts.processes if process.pid != os.getpid())
        if starts.failures or len(others) < len(starts.processes):
            _write(Starts(at=starts.at, processes=others))


def holder(slot: int) -> tuple[int, Environment] | None:
    """Return the pid and the environment of the worker that holds a slot; None if it has not said
    so."""
    record = read_json(_slot_path(slot), _is_holder, "who holds a slot")
    if not record or not living_process(record["pid"], record["born"]):
        return None
    return record["pid"], table.environment_of_request(record["variables"])


def failure(starts: Starts) -> str:
    """Return why no worker comes up, once it was tried often enough, and begin to count anew; ""
    before that."""
    if starts.failures < MOST_FAILURES:
        return ""
    _write(replace(starts, failures=0, problem=""))
    if starts.problem:
        return f"no worker can be started: {starts.problem}"
    line = _last_line() or "nothing is written there"
    return (
        f"no worker comes up: {starts.failures} ended before they could train; the end of "
        f"{log_path()}: {line}"
    )


def log_path() -> Path:
    """Return the file of what workers print."""
    return jobs_folder() / "workers.log"


def _slot_path(slot: int) -> Path:
    return jobs_folder() / f"slot-{slot}.json"


def _path() -> Path:
    return jobs_folder() / "started.json"


def _read() -> Starts:
    record = read_json(_path(), _is_starts, "what is known of the workers that were started")
    if not record:
        return Starts()
    processes = tuple(Process(**process) for process in record["processes"])
    return Starts(**{**record, "processes": processes})


def _write(starts: Starts) -> None:
    write_whole(_path(), json.dumps(asdict(starts)).encode())


def living_process(pid: int, born: float) -> psutil.Process | None:
    """Return the process that began at `born`, in seconds since 1970; None if it has ended, whoever
    has its pid now."""
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        is_same = abs(process.create_time() - born) < 1
        if is_same and process.status() != psutil.STATUS_ZOMBIE:
            return process
    return None


def _last_line() -> str:
    """Return the last line of the log that says something, shortened."""
    try:
        with log_path().open("rb") as log:
            log.seek(max(0, log_path().stat().st_size - _TAIL))
            lines = log.read().decode(errors="replace").split("\n")
    except OSError:
        return ""
    said = [line.strip() for line in lines if line.strip()]
    return printable(said[-1][:_LONGEST_LINE]) if said else ""


def _is_starts(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == Starts.__dataclass_fields__.keys()
        and type(value["failures"]) is int
        and isinstance(value["at"], (int, float))
        and isinstance(value["problem"], str)
        and isinstance(value["processes"], list)
        and all(map(_is_process, value["processes"]))
    )


def _is_process(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == Process.__dataclass_fields__.keys()
        and isinstance(value["has_slot"], bool)
        and _is_pid_and_birth(value)
    )


def _is_holder(value: Any) -> bool:
    return isinstance(value, dict) and "variables" in value and _is_pid_and_birth(value)


def _is_pid_and_birth(value: dict[str, Any]) -> bool:
    pid = value.get("pid")
    return type(pid) is int and 0 < pid < 2**31 and isinstance(value.get("born"), (int, float))
