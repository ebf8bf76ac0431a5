"""The folder of a job: what was asked, how far it is, its checkpoint. All that pages and workers share.

    <local>/jobs/<key>/request.json  state.json  checkpoint.safetensors  live.safetensors  cancel  lock

A worker holds `lock` while it trains; the system lets go of it when the worker dies, however it dies.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from icl_core.runs import store
from icl_core.runs.disk import write_whole

WAITING = ("queued", "interrupted")
ENDED = ("done", "failed", "cancelled")


def jobs_folder() -> Path:
    """The folder of all jobs, for their owner alone."""
    folder = store.default().local / "jobs"
    if not folder.is_dir():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


@dataclass(frozen=True)
class Job:
    """The files of one job, by the key of the run it makes."""

    key: str

    @property
    def folder(self) -> Path:
        """Where the files are."""
        return jobs_folder() / self.key

    @property
    def checkpoint(self) -> Path:
        """All that is needed to go on."""
        return self.folder / "checkpoint.safetensors"

    @property
    def live(self) -> Path:
        """The curves so far."""
        return self.folder / "live.safetensors"

    @property
    def cancel(self) -> Path:
        """Exists if somebody asked the running worker to give up."""
        return self.folder / "cancel"

    def request(self) -> dict[str, Any] | None:
        """What was asked: experiment, config, asked (ns). None if there is no such job, or it does not say that."""
        asked = read_json(self.folder / "request.json")
        return asked if asked and {"experiment", "config", "asked"} <= asked.keys() else None

    def state(self) -> dict[str, Any]:
        """What the last worker wrote; a job that none has touched, or nobody can tell, is queued."""
        told = read_json(self.folder / "state.json")
        return told if told and told.get("status") in (*WAITING, "running", *ENDED) else {"status": "queued"}

    def ask(self, request: dict[str, Any]) -> None:
        """Queue the job, anew if it has ended."""
        for path in (self.cancel, self.checkpoint, self.live, self.folder / "state.json"):
            path.unlink(missing_ok=True)
        write_json(self.folder / "request.json", request)

    def tell(self, **state: Any) -> None:
        """Write the state."""
        write_json(self.folder / "state.json", state)

    def end(self, status: str, message: str = "", **more: Any) -> None:
        """Write the last state, then drop what only a running job needs."""
        self.tell(status=status, message=message, **more)
        for path in (self.checkpoint, self.live, self.cancel):
            path.unlink(missing_ok=True)

    def locked(self) -> bool:
        """Whether a worker is at it."""
        with held(self.folder / "lock") as mine:
            return not mine


@contextmanager
def held(path: Path) -> Iterator[bool]:
    """The lock at `path` for the length of a `with`; False at once if another process has it, or there is no folder."""
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except (Timeout, FileNotFoundError):
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def queue_lock() -> FileLock:
    """Held while a job is asked for or workers are started, for milliseconds."""
    return FileLock(jobs_folder() / "queue.lock", timeout=30)


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Replace the file in one go: a reader sees the old or the new."""
    write_whole(path, json.dumps(value).encode())


def read_json(path: Path) -> dict[str, Any] | None:
    """The file's object; None if it is missing or none."""
    with suppress(OSError, ValueError):
        value = json.loads(path.read_bytes())
        return value if isinstance(value, dict) else None
    return None
