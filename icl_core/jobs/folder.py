"""The folder of a job: what was asked, how far it is, its checkpoint. All that pages and workers
share.

    <local>/jobs/<key>/request.json state.json checkpoint.safetensors live.safetensors cancel lock
                       watched/ phases/ ends/

A worker holds `lock` while it trains; the system lets go of it when the worker dies, however it
dies. What cannot be a file of a job (another form, a pipe, a folder) is set aside with a message,
and counts as absent.
"""

import errno
import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from icl_core.jobs.reading import (
    CANCELLED,
    ENDED,
    delete_file,
    is_request,
    is_state,
    plain_file,
    read_json,
    set_odd_aside,
)
from icl_core.runs import store
from icl_core.runs.disk import file_identity, private_folder, write_note, write_whole
from icl_core.runs.header import key_of_record

ASKED = "asked"  # a file that is touched whenever somebody asks for a run
FULL = "the disk is full"
RESERVE = 2**16  # bytes: room for a state when the disk is full
LONGEST_PAUSE = 240.0  # seconds between two tries to keep a run for which there is no room


def jobs_folder() -> Path:
    """The folder of all jobs. There is none before the first is asked for."""
    return store.default().local / "jobs"


def request_counter() -> int:
    """A number that changes whenever somebody asks for a run."""
    with suppress(OSError):
        return (jobs_folder() / ASKED).stat().st_mtime_ns
    return 0


class Job:
    """The files of one job, by the key of the run it makes. `checkpoint` is all that is needed to
    go on, `live` the curves so far; `cancel` exists if somebody asked the running worker to give
    up; `watched` holds a file for each that looks at it, `phases` what several workers at it leave
    to each other, `ends` what a longer run goes on from."""

    def __init__(self, key: str) -> None:
        if Path(key).name != key or "\0" in key:
            raise ValueError(f"a job's key must be the name of a folder, got {key!r:.80}")
        self.key, self.folder = key, jobs_folder() / key
        self.checkpoint, self.live = (
            self.folder / f"{name}.safetensors" for name in ("checkpoint", "live")
        )
        names = ("cancel", "watched", "phases", "ends")
        self.cancel, self.watched, self.phases, self.ends = (self.folder / name for name in names)

    def request(self) -> dict[str, Any] | None:
        """What was asked: experiment, version, config, asked (ns), visitor, turn, later. None if
        there is no such."""
        return read_json(self.folder / "request.json", self._is_mine, "what was asked for")

    def _is_mine(self, value: Any) -> bool:
        """Whether it asks for the run of this job: the key tells what was asked, and that nothing
        of it has changed."""
        return is_request(value) and ("version" not in value or key_of_record(value) == self.key)

    def state(self) -> dict[str, Any]:
        """What the last worker wrote; a job that none has touched, or nobody can tell,
        is queued."""
        return read_json(self.folder / "state.json", is_state, "the state of a job") or {
            "status": "queued"
        }

    def due(self) -> bool:
        """Whether there is something to do now: it was asked for, has not ended and was not put
        off."""
        told = self.state()
        return (
            self.request() is not None
            and told["status"] not in ENDED
            and not is_put_off(told.get("retry_at", 0.0))
        )

    def ask(self, request: dict[str, Any]) -> None:
        """Queue the job, anew if it has ended, but for what it has `kept`. Nothing is asked before
        it is on the disk; raises `OSError`."""
        write_whole(self.folder / "request.json", json.dumps(request).encode())
        for path in (self.cancel, self.live):
            delete_file(path)
        if not self.state().get("kept"):
            delete_file(self.checkpoint)
            shutil.rmtree(self.phases, ignore_errors=True)
        if (self.folder / "state.json").exists():
            self.tell(status="queued")

    def move(self, **place: Any) -> None:
        """Take another place in the queue: `later`, `turn`, `visitor`. Raises `OSError`."""
        request = self.request()
        if request:
            write_whole(self.folder / "request.json", json.dumps({**request, **place}).encode())

    def tell(self, **state: Any) -> None:
        """Write the state; with the last one, drop what only a running job needs, unless it is
        `kept` for who asks again. Raises `OSError`.

        On a full disk these files, or the curves, which the next report brings anew, and a reserve
        make room first.
        """
        ended, kept = state["status"] in ENDED, state.get("kept", False)
        needless = [self.live, self.cancel, *([] if kept else [self.checkpoint])] if ended else []
        told = self.folder / "state.json", json.dumps(state).encode()
        try:
            write_whole(*told)
        except OSError:
            for path in (*needless, self.live, jobs_folder() / "reserve"):
                delete_file(path)
            write_whole(*told)
        for path in needless:
            delete_file(path)
        for folder in (self.watched, *([] if kept else [self.phases])) if ended else ():
            shutil.rmtree(folder, ignore_errors=True)

    def give_up(self, status: str) -> None:
        """Ask the worker that is at it to end it with that status, one of CANCELLED. Raises
        `OSError`."""
        set_odd_aside(self.cancel)
        write_note(self.cancel, status)

    def cancelled(self) -> str:
        """The status with which its worker was asked to end it; empty if it was not."""
        with suppress(OSError):
            if plain_file(self.cancel):
                told = self.cancel.read_text(errors="replace")
                return told if told in CANCELLED else CANCELLED[0]
        return ""

    def locked(self) -> bool:
        """Whether a worker is at it."""
        with hold_lock(self.folder / "lock") as mine:
            return not mine


def is_put_off(retry_at: float) -> bool:
    """Whether that time is still to come. One beyond the longest pause was told by a clock that has
    been set back."""
    return 0 < retry_at - time.time() <= LONGEST_PAUSE


@contextmanager
def hold_lock(path: Path) -> Iterator[Callable[[], bool] | None]:
    """The lock at `path` for the length of a `with`: a function that tells whether it still is the
    lock of that path, which it is not once somebody has removed the file. None at once if another
    has it, or it cannot be taken."""
    with suppress(OSError):  # else the lock itself makes it, for everybody to look into
        private_folder(path.parent)
    lock = FileLock(path, mode=0o600)
    if not _taken(lock, path):
        yield None
        return
    try:
        taken = file_identity(path)
        yield lambda: taken is not None and file_identity(path) == taken
    finally:
        lock.release()


def _taken(lock: FileLock, path: Path) -> bool:
    """Take the lock, if it is free. What is no file in its place would keep all out for ever: it is
    set aside."""
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return False
    except OSError:
        if not set_odd_aside(path):
            return False
        with suppress(Timeout, OSError):
            lock.acquire(timeout=0)
    return lock.is_locked


def queue_lock() -> FileLock:
    """Held while a job is asked for or forgotten or workers are started, for milliseconds. Raises
    `OSError`."""
    path = private_folder(jobs_folder()) / "queue.lock"
    set_odd_aside(path)
    return FileLock(path, timeout=30, mode=0o600)


def has_room() -> bool:
    """Whether a file of a job can be written now. It stays, to make room for a state when the disk
    is full."""
    reserve = jobs_folder() / "reserve"
    set_odd_aside(reserve)
    with suppress(OSError):
        write_whole(reserve, bytes(RESERVE))
        return True
    return False


def write_problem(problem: OSError) -> str:
    """Why a file could not be written, in words. A database on a full disk tells of faults of many
    names."""
    full = problem.errno in (errno.ENOSPC, errno.EDQUOT) or disk_full(2**20)
    return FULL if full else f"nothing can be written: {problem}"


def disk_full(least: int = 2 * RESERVE) -> bool:
    """Whether fewer than `least` bytes are free: too few, at first, for a job to be begun."""
    with suppress(OSError):
        return shutil.disk_usage(jobs_folder()).free < least
    return False
