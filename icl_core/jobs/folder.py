"""The folder of a job and the locks: everything that pages and workers share is in these files.

    <local>/jobs/<key>/request.json             what was requested
                       state.json               status and progress, as its worker wrote them
                       checkpoint.safetensors   what is needed to continue the training
                       live.safetensors         the curves so far
                       preview.safetensors      the model as it is now (`previews`)
                       cancel                   exists if the running worker is asked to cancel
                       lock                     the lease: held by the worker that trains the job
                       watched/ phases/ ends/   see `Job`

The system releases `lock` when the worker dies, however it dies. A damaged JSON file is set aside
with a message and counts as absent. Called by the queue, the workers and the cluster.
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

from icl_core.jobs.reading import CANCELLED, ENDED, is_request, is_state, read_json
from icl_core.runs import store
from icl_core.runs.disk import file_identity, private_folder, write_note, write_whole
from icl_core.runs.header import key_of_record

WAKE_FILE = "asked"  # touched at every request: it wakes the workers that are waiting
FULL = "the disk is full"
RESERVE = 2**16  # bytes of a file that is deleted to make room for a state when the disk is full
LONGEST_PAUSE = 240.0  # seconds between two tries to save a run for which there is no room


def jobs_folder() -> Path:
    """Return the folder of all jobs. It does not exist before the first request."""
    return store.default().local / "jobs"


def request_counter() -> int:
    """Return a number that changes with every request; 0 before the first."""
    with suppress(OSError):  # nothing has been requested yet
        return (jobs_folder() / WAKE_FILE).stat().st_mtime_ns
    return 0


class Job:
    """The files of one job, named by the key of the run that it makes.

    `checkpoint`, `live`, `preview` and `cancel` are the paths of files (see the module). Three are
    folders: `watched` holds a file for everybody who watches the job, `phases` the trainings that
    several workers share (`phase_helper`), `ends` the final states that a longer run continues from
    (`warm_start`). Raises `ValueError` for a key that is not the plain name of a folder.
    """

    def __init__(self, key: str) -> None:
        if Path(key).name != key or "\0" in key:
            raise ValueError(f"a job's key must be the name of a folder, got {key!r:.80}")
        self.key = key
        self.folder = jobs_folder() / key
        self.checkpoint = self.folder / "checkpoint.safetensors"
        self.live = self.folder / "live.safetensors"
        self.preview = self.folder / "preview.safetensors"
        self.cancel = self.folder / "cancel"
        self.watched = self.folder / "watched"
        self.phases = self.folder / "phases"
        self.ends = self.folder / "ends"

    def request(self) -> dict[str, Any] | None:
        """Return the request, or None if there is none: experiment, version, config, asked (time in
        ns), visitor, turn, later."""
        return read_json(self.folder / "request.json", self._is_own_request, "what was asked for")

    def _is_own_request(self, value: Any) -> bool:
        """Return whether `value` requests the run of this job. The key is a hash of the request, so
        this also shows that nothing of it has changed."""
        return is_request(value) and ("version" not in value or key_of_record(value) == self.key)

    def state(self) -> dict[str, Any]:
        """Return the state that the last worker wrote. A job without a readable state is queued."""
        state = read_json(self.folder / "state.json", is_state, "the state of a job")
        return state or {"status": "queued"}

    def is_due(self) -> bool:
        """Return whether the job can be trained now: requested, not ended and not postponed."""
        state = self.state()
        return (
            self.request() is not None
            and state["status"] not in ENDED
            and not is_put_off(state.get("retry_at", 0.0))
        )

    def enqueue(self, request: dict[str, Any]) -> None:
        """Queue the job. One that has ended starts anew, unless its state says that its checkpoint
        was `kept`. The request is on the disk when this returns; raises `OSError`."""
        write_whole(self.folder / "request.json", json.dumps(request).encode())
        self.cancel.unlink(missing_ok=True)
        if not self.state().get("kept"):
            self.delete_training()
        if (self.folder / "state.json").exists():
            self.write_state(status="queued")

    def delete_training(self) -> None:
        """Delete what has been trained of the run: checkpoint, shared trainings, curves and
        preview."""
        for path in (self.checkpoint, self.live, self.preview):
            path.unlink(missing_ok=True)
        shutil.rmtree(self.phases, ignore_errors=True)

    def training_size(self) -> int:
        """Return the bytes of what `delete_training` deletes."""
        size = 0
        files = (self.checkpoint, self.live, self.preview, *self.phases.glob("*"))
        for path in files:
            with suppress(OSError):  # most of them do not exist
                size += path.stat().st_size
        return size

    def update_request(self, **fields: Any) -> None:
        """Change the place in the queue: `later`, `turn`, `visitor`. Raises `OSError`."""
        request = self.request()
        if request:
            write_whole(self.folder / "request.json", json.dumps({**request, **fields}).encode())

    def write_state(self, **state: Any) -> None:
        """Write the state. When the job has ended, delete the files that only a running job needs;
        with `kept` what has been trained stays for the next request.

        If the disk is full, these files, the curves and the preview (which the next report writes
        again) and a reserve make room first. Raises `OSError` if that is not enough.
        """
        ended = state["status"] in ENDED
        kept = state.get("kept", False)
        files: list[Path] = []
        folders: list[Path] = []
        if ended:
            files = [self.cancel]
            folders = [self.watched]
            if not kept:
                files += [self.checkpoint, self.live, self.preview]
                folders.append(self.phases)
        path = self.folder / "state.json"
        content = json.dumps(state).encode()
        try:
            write_whole(path, content)
        except OSError:
            for needless in (*files, self.live, self.preview, jobs_folder() / "reserve"):
                needless.unlink(missing_ok=True)
            write_whole(path, content)
        for needless in files:
            needless.unlink(missing_ok=True)
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)

    def cancelled_state(self, status: str) -> dict[str, Any]:
        """Return the state of a job that ends with `status`, one of CANCELLED. What a visitor has
        cancelled is kept, to go on from there; what everybody has left is not."""
        if status != CANCELLED[0] or not self.checkpoint.exists():
            return {"status": status}
        before = self.state()
        reached = {name: before[name] for name in ("step", "total") if name in before}
        return {"status": status, "kept": True, **reached}

    def request_cancel(self, status: str) -> None:
        """Ask the running worker to end the job with `status`, one of CANCELLED. Raises
        `OSError`."""
        write_note(self.cancel, status)

    def cancel_status(self) -> str:
        """Return the status with which the worker is asked to end the job; "" if it is not."""
        with suppress(OSError):  # most often there is no such file
            status = self.cancel.read_text(errors="replace")
            return status if status in CANCELLED else CANCELLED[0]
        return ""

    def is_locked(self) -> bool:
        """Return whether a worker holds the job."""
        with hold_lock(self.folder / "lock") as has_lease:
            return not has_lease


def is_put_off(retry_at: float) -> bool:
    """Return whether `retry_at`, in seconds since 1970, is still to come. A time beyond the longest
    pause was written before the clock was set back, and counts as past."""
    return 0 < retry_at - time.time() <= LONGEST_PAUSE


@contextmanager
def hold_lock(path: Path) -> Iterator[Callable[[], bool] | None]:
    """Hold the lock at `path` for the length of a `with`, without waiting for it.

    Yields a function that returns whether the file at `path` is still the one that was locked: it
    is not once somebody has removed it. Yields None if another process holds the lock, or it cannot
    be taken.
    """
    with suppress(OSError):  # the lock cannot be taken then
        # filelock would create a missing folder too, but readable for everybody
        private_folder(path.parent)
    lock = FileLock(path, mode=0o600)
    with suppress(Timeout, OSError):  # held by another process, or on a disk without write access
        lock.acquire(timeout=0)
    if not lock.is_locked:
        yield None
        return
    try:
        identity = file_identity(path)
        yield lambda: identity is not None and file_identity(path) == identity
    finally:
        lock.release()


def queue_lock() -> FileLock:
    """Return the lock of the queue. It is held for milliseconds while a job is requested, taken or
    forgotten, or workers are started. Raises `OSError`."""
    path = private_folder(jobs_folder()) / "queue.lock"
    return FileLock(path, timeout=30, mode=0o600)


def has_room() -> bool:
    """Return whether a file of a job can be written now. The file stays, as the reserve that makes
    room for a state when the disk is full."""
    try:
        write_whole(jobs_folder() / "reserve", bytes(RESERVE))
    except OSError:
        return False
    return True


def write_problem(problem: OSError) -> str:
    """Return in words why a file could not be written. SQLite reports a full disk under several
    names, so the free space is looked at, too."""
    full = problem.errno in (errno.ENOSPC, errno.EDQUOT) or disk_full(2**20)
    return FULL if full else f"nothing can be written: {problem}"


def disk_full(least: int = 2 * RESERVE) -> bool:
    """Return whether fewer than `least` bytes are free; by default, too few to begin a job."""
    try:
        return shutil.disk_usage(jobs_folder()).free < least
    except OSError:  # there is no such folder yet
        return False
