"""One job: its row in the table, the files of its training, and the locks; and the status of the
cluster, where trainings are done on one.

    <cache>/jobs/<key>/checkpoint.safetensors   what is needed to continue the training
                       live.safetensors         the curves so far
                       preview.safetensors      the model as it is now (`job_progress`)
                       lock                     the lease: held by the worker that trains the job
                       phases/ ends/            see `Job`
    <cache>/jobs/scheduler-<hash>.json          the cluster's status, by `cluster.dispatcher`

The system releases `lock` when the worker dies, however it dies. A damaged file of JSON is moved to
`<cache>/aside` with a message, and counts as absent. Called by the queue, the workers and the
cluster.
"""

import errno
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from filelock import FileLock, Timeout

from icl_core.contract.knobs import BadSetting
from icl_core.jobs import table
from icl_core.jobs.table import CANCELLED, ENDED, LEFT
from icl_core.machine import limits
from icl_core.runs import code, database, store
from icl_core.runs.disk import file_identity, move_aside, private_folder, write_whole


def read_json(path: Path, is_valid: Callable[[Any], bool], expected: str) -> dict[str, Any] | None:
    """Return the object in a JSON file, or None if the file does not exist or cannot be opened.

    A file that cannot be parsed, or whose value is not valid, is set aside; `expected` says in the
    message what it should have been.
    """
    try:
        value = json.loads(path.read_bytes())
        if is_valid(value):
            return value
    except OSError:
        return None
    except (ValueError, RecursionError):
        pass
    _set_aside(path, expected)
    return None


def _set_aside(path: Path, expected: str) -> None:
    if limits.read_only():
        return
    aside = store.default().local / "aside"
    move_aside(path, aside)  # a file that cannot be moved is ignored all the same
    store.default().tell(
        f"{path} was set aside in {aside}: expected {expected}, got something else."
    )


FULL = "the disk is full"
FULL_ERRORS = (errno.ENOSPC, errno.EDQUOT)
RESERVE = 2**16  # bytes of a file that is deleted to make room for a state when the disk is full
LONGEST_PAUSE = 240.0  # seconds between two tries to save a run for which there is no room


def jobs_folder() -> Path:
    """Return the folder of all jobs. It does not exist before the first request."""
    return store.default().local / "jobs"


class Job:
    """One job, named by the key of the run that it makes.

    `checkpoint`, `live` and `preview` are the paths of files (see the module). Two are folders:
    `phases` holds the trainings that several workers share (`phase_helper`), `ends` the final
    states that a longer run continues from (`phase_helper`). Raises `ValueError` for a key that is
    not the plain name of a folder.
    """

    def __init__(self, key: str) -> None:
        if Path(key).name != key or "\0" in key:
            raise ValueError(f"a job's key must be the name of a folder, got {key!r:.80}")
        self.key = key
        self.folder = jobs_folder() / key
        self.checkpoint = self.folder / "checkpoint.safetensors"
        self.live = self.folder / "live.safetensors"
        self.preview = self.folder / "preview.safetensors"
        self.phases = self.folder / "phases"
        self.ends = self.folder / "ends"

    def request(self) -> dict[str, Any] | None:
        """Return the request, or None if there is none: experiment, version, config, environment,
        asked (time in ns), visitor, turn, later."""
        row = table.find(self.key)
        return row.request if row else None

    def state(self) -> dict[str, Any]:
        """Return the state that the last worker wrote. A job without one is queued."""
        row = table.find(self.key)
        return row.state if row else {"status": "queued"}

    def is_due(self) -> bool:
        """Return whether it can be trained now: asked of the code here, not ended or put off."""
        row = table.find(self.key)
        if row is None or row.state["status"] in ENDED:
            return False
        if not table.is_for_code_here(row.request["environment"]):
            return False
        return not is_put_off(row.state.get("retry_at", 0.0))

    def enqueue(self, request: dict[str, Any]) -> None:
        """Queue the job. One that has ended starts anew, unless its state says that its checkpoint
        was `kept`. The request is on the disk when this returns; raises `OSError`."""
        private_folder(self.folder)
        if not self.state().get("kept"):
            self.delete_training()
        table.insert(self.key, request, {"status": "queued"})

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

    def write_state(self, **state: Any) -> None:
        """Write the state. When the job has ended, delete the files that only a running job needs;
        with `kept` what has been trained stays for the next request.

        If the disk is full, these files, the curves, the preview and a reserve make room first.
        Raises `OSError` if that is not enough.
        """
        is_end = state["status"] in ENDED
        is_over = is_end and not state.get("kept", False)
        self.make_room()
        try:
            table.write_state(self.key, state, is_end)
        except OSError as problem:
            if problem.errno not in FULL_ERRORS:
                raise
            if is_over:
                self.delete_training()
            self.free_space()
            table.write_state(self.key, state, is_end)
        if is_over:
            database.after_commit(self.delete_training)

    def make_room(self) -> None:
        """If the disk is full, delete what a change of the state can do without."""
        if disk_full():
            self.free_space()

    def free_space(self) -> None:
        """Delete the curves and the preview, which the next report writes again, and a reserve."""
        for needless in (self.live, self.preview, jobs_folder() / "reserve"):
            needless.unlink(missing_ok=True)

    def cancelled_state(self, how: str) -> dict[str, Any]:
        """Return the state of a job that is cancelled, by a visitor (CANCELLED) or as LEFT. What a
        visitor has cancelled is kept, to go on from there; what everybody has left is not."""
        if how == LEFT:
            return {"status": CANCELLED, "left": True}
        if not self.checkpoint.exists():
            return {"status": CANCELLED}
        before = self.state()
        reached = {name: before[name] for name in ("step", "total") if name in before}
        return {"status": CANCELLED, "kept": True, **reached}

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
    full = problem.errno in FULL_ERRORS or disk_full(2**20)
    if full:
        return FULL
    is_sentence = isinstance(problem, database.Unusable)
    return str(problem) if is_sentence else f"nothing can be written: {problem}"


def disk_full(least: int = 2 * RESERVE) -> bool:
    """Return whether fewer than `least` bytes are free; by default, too few to begin a job."""
    try:
        return shutil.disk_usage(jobs_folder()).free < least
    except OSError:  # there is no such folder yet
        return False


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
    check_scheduler(address.strip())
    os.environ["ICL_SCHEDULER"] = address


def check_scheduler(address: str) -> None:
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


def scheduler_lock() -> Path:
    """Return the lock that the dispatcher of this folder's code holds as long as it lives."""
    return _path("lock")


def read_cluster_status() -> ClusterStatus:
    """Return the last status written for the scheduler; an empty one if there is none."""
    if not scheduler():
        return ClusterStatus()
    record = read_json(_path("json"), _is_status, "what is known of a cluster")
    return ClusterStatus(**record) if record else ClusterStatus()


def write_cluster_status(status: ClusterStatus) -> None:
    """Write the status, if it has changed."""
    if status != read_cluster_status():
        with suppress(OSError):  # on a full disk the status before stays
            write_whole(_path("json"), json.dumps(asdict(status)).encode())


def _path(suffix: str) -> Path:
    name = hashlib.sha256(f"{scheduler()} {code.place()}".encode()).hexdigest()[:8]
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
