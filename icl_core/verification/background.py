"""A verification that a page asks for: a process of its own, one at a time on this computer.

It begins when fewer trainings are under way than there are places for, and at low priority, so
that trainings that are asked for meanwhile do not wait for it. Its state is a file in the cache.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

import psutil
from filelock import FileLock, Timeout

from icl_core.contract.knobs import BadSetting
from icl_core.evidence.claim_rows import ClaimRow
from icl_core.jobs import queue, spawn
from icl_core.machine import folders, limits
from icl_core.machine.folders import cache_folder
from icl_core.runs.disk import private_folder, write_whole
from icl_core.verification import verify

_PAUSE = 0.5  # seconds between looks at the queue
_NICE = 10  # lower priority than a training


@dataclass(frozen=True)
class State:
    """The verification under way.

    claim    the claim's name
    visitor  who asked for it; empty for the command line
    waits    whether it waits for a place
    """

    claim: str
    visitor: str
    waits: bool


def start(row: ClaimRow, visitor: str) -> None:
    """Start a process that verifies a claim.

    Raises `BadSetting` if another verification is under way, nothing may be trained here, the claim
    has no run, or its runs take longer than visitors may ask for; `OSError` if no process can be
    started.
    """
    queue.check_preconditions()
    if reason := verify.refusal(row):
        raise BadSetting(reason)
    limits.check_length(verify.estimated_seconds(row))
    if (current := state()) is not None:
        raise BadSetting(f"one claim is verified at a time, now {current.claim}")
    private_folder(cache_folder())
    library = None if folders.is_installed() else str(folders.LIBRARY)
    python_path = os.pathsep.join(filter(None, [library, os.environ.get("PYTHONPATH")]))
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "icl_core", "verify", "--wait", row.name],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": python_path},
    )
    Thread(target=process.wait, daemon=True).start()  # it may outlive this process: no warning
    _write(row.name, visitor, process.pid, waits=True)


def state() -> State | None:
    """Return the verification under way; None if there is none."""
    record = _read()
    if record is None:
        return None
    return State(record["claim"], record["visitor"], record["waits"])


def cancel(visitor: str | None) -> None:
    """End the verification under way; `visitor` None is whoever is at the machine. Raises
    `BadSetting` for a visitor who did not ask for it."""
    record = _read()
    if record is None:
        return
    if visitor not in (None, record["visitor"]):
        raise BadSetting("only who asked for it, or whoever is at the machine, can cancel it")
    with suppress(psutil.Error):
        psutil.Process(record["pid"]).terminate()
    _path().unlink(missing_ok=True)


@contextmanager
def turn(rows: Sequence[ClaimRow]) -> Iterator[None]:
    """Wait until this process may verify the claims: no other does, and there is a place among the
    trainings. Raises `BadSetting` if another does."""
    private_folder(cache_folder())
    lock = FileLock(_path().with_suffix(".lock"), mode=0o600)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise BadSetting("one claim is verified at a time, and another one is now") from None
    try:
        if hasattr(os, "nice"):
            os.nice(_NICE)
        visitor = (_read() or {}).get("visitor", "")
        _write(rows[0].name, visitor, os.getpid(), waits=True)
        while sum(not job.ended for job in queue.states()) >= spawn.trainings():
            time.sleep(_PAUSE)
        _write(rows[0].name, visitor, os.getpid(), waits=False)
        yield
    finally:
        _path().unlink(missing_ok=True)
        lock.release()


def _path() -> Path:
    return cache_folder() / "verifying.json"


def _write(claim: str, visitor: str, pid: int, waits: bool) -> None:
    record = {"claim": claim, "visitor": visitor, "pid": pid, "waits": waits}
    with suppress(psutil.Error):  # it has ended already
        record["born"] = psutil.Process(pid).create_time()
        write_whole(_path(), json.dumps(record).encode())


def _read() -> dict | None:
    """Return the record of the verification whose process lives; None if there is none."""
    with suppress(OSError, ValueError, KeyError, TypeError, psutil.Error):
        record = json.loads(_path().read_bytes())
        process = psutil.Process(int(record["pid"]))
        is_same = abs(process.create_time() - record["born"]) < 1.0
        if is_same and process.status() != psutil.STATUS_ZOMBIE:
            return {
                "claim": str(record["claim"]),
                "visitor": str(record["visitor"]),
                "pid": process.pid,
                "waits": bool(record["waits"]),
            }
    return None
