"""The functions that run on a worker of Dask: it trains a job as a worker on this machine would, in
a store of its own that is deleted afterwards, and reports its progress to the process that handed
it the job. Called by name, through Dask, by `pool` and `remote_job`.

One training at a time in a process: start as many as there are cores, `dask worker --nworkers 8
--nthreads 1`.
"""

import json
import os
import shutil
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from distributed import Queue, get_client, get_worker

from icl_core.cluster import transfer
from icl_core.jobs import table
from icl_core.jobs.faults import GpuLost
from icl_core.jobs.folder import Job
from icl_core.jobs.phase_helper import THREADS
from icl_core.jobs.table import CANCELLED, LEFT
from icl_core.jobs.train import code_difference, code_digests, train_job
from icl_core.machine import device
from icl_core.runs import store

LOOK = 0.2  # seconds between two looks for files that have changed
SILENCE = 60.0  # seconds after which a training whose reports nobody reads is stopped
STOP = "stop"  # the command to stop at a checkpoint; the others: CANCELLED, LEFT
PROCESS = uuid.uuid4().hex  # of this process: another one may have its address later
_code = code_digests()
_training = threading.Lock()
_commands: dict[str, str] = {}  # by job id


class Moved(Exception):
    """The process that was meant is gone; this one has its address."""


class Refused(Exception):
    """This machine would not train the same; the message says why."""


def introduce() -> str:
    """Return, as JSON, the identity of this process and the version of its code."""
    return json.dumps({"process": PROCESS, "code": _code})


def command(job_id: str, what: str) -> None:
    """Have the training with that id stop at a checkpoint (STOP) or be cancelled (CANCELLED
    or LEFT)."""
    _commands[job_id] = what


def train(job_id: str, order: str, payload: bytes) -> bytes:
    """Train a job; return a parcel with its last state, its run if it is done, else its checkpoint.

    `job_id` is the name of this attempt at the job: files that change go into the Dask queue of
    that name, as a parcel each. `order` is JSON: the job's `key`, `request` and `state`, the
    `process` that is meant, and the `code` that is expected. `payload` is a parcel from
    `transfer.collect`. Raises `Moved` or `Refused`.
    """
    expected = json.loads(order)
    if expected["process"] != PROCESS:
        raise Moved
    if code_digests() != _code:
        raise Refused("its code has changed on disk since it was started")
    if problem := code_difference(expected["code"], _code):
        raise Refused(problem)
    with _training:
        _set_up()
        job = Job(expected["key"])
        queue = Queue(job_id, client=get_client())
        request = expected["request"]
        with (
            _variables_set(request["environment"]),
            _unpacked(job, request, expected["state"], payload),
        ):
            with _reported(job, queue, job_id):
                try:
                    train_job(
                        job,
                        lambda: _commands.get(job_id) == STOP,
                        lambda: _has_lease(job, job_id),
                    )
                except GpuLost:  # Dask must see this worker as lost
                    os._exit(1)
            return transfer.pack(_outcome(job))


@cache
def _set_up() -> None:
    """Give this process a store of its own, in the folder that Dask deletes when the worker
    ends."""
    home = Path(get_worker().local_directory) / "icl"
    os.environ |= {"ICL_CACHE_DIR": str(home), "ICL_ARTIFACTS": str(home / "artifacts")}
    store.default.cache_clear()
    device.set_threads(THREADS)


@contextmanager
def _variables_set(variables: table.Environment) -> Iterator[None]:
    """Have the variables COMPUTING of the request in this process, in place of those that it was
    started with; the device, and what is kept, are this machine's."""
    before = {name: os.environ.pop(name) for name in table.COMPUTING if name in os.environ}
    os.environ |= {name: variables[name] for name in table.COMPUTING if name in variables}
    try:
        yield
    finally:
        for name in table.COMPUTING:
            os.environ.pop(name, None)
        os.environ |= before


@contextmanager
def _unpacked(job: Job, request: dict, state: dict, payload: bytes) -> Iterator[None]:
    """Put the job and its files into the store of this process, and delete everything of it
    afterwards."""
    job.enqueue(request)
    job.write_state(**state)
    paths = transfer.lay_out(transfer.unpack(payload))
    try:
        yield
    finally:
        if header := store.default().exact(request["experiment"], job.key):
            store.default().delete(header)
        for path in paths:
            path.unlink(missing_ok=True)
        shutil.rmtree(job.folder, ignore_errors=True)
        table.delete(job.key)


def _has_lease(job: Job, job_id: str) -> bool:
    """Return True: no other process works in this store. As this is asked often, a command to
    cancel is obeyed here."""
    if _commands.get(job_id) in (CANCELLED, LEFT):
        with suppress(OSError):  # it is tried again at the next report
            table.write_cancel(job.key, _commands[job_id])
    return True


@contextmanager
def _reported(job: Job, queue: Queue, job_id: str) -> Iterator[None]:
    """Send the job's files as they change. If nobody reads them for long, the training is
    stopped."""
    ended = threading.Event()

    def report() -> None:
        stamps: dict[str, Any] = {}
        while not ended.wait(LOOK):
            if files := _changed_files(job, stamps):
                try:
                    queue.put(transfer.pack(files), timeout=SILENCE)
                except Exception:  # whatever it is, the dispatcher has the job done elsewhere
                    command(job_id, STOP)
                    return

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        _commands.pop(job_id, None)


def _changed_files(job: Job, stamps: dict[str, Any]) -> transfer.Files:
    """Return the state and the files of the job that have changed since their `stamps`, which are
    updated."""
    files: transfer.Files = {}
    state = job.state()
    if stamps.get(transfer.STATE) != state:
        files[transfer.STATE] = json.dumps(state).encode()
        stamps[transfer.STATE] = state
    for name in (transfer.LIVE, transfer.PREVIEW, transfer.CHECKPOINT):
        try:
            path = job.folder / name
            status = path.stat()
            stamp = status.st_ino, status.st_mtime_ns
            if stamps.get(name) != stamp:
                files[name] = path.read_bytes()
                stamps[name] = stamp
        except OSError:  # it does not exist yet, or no more
            continue
    return files


def _outcome(job: Job) -> transfer.Files:
    """Return the files of a job that has ended, with its run if it is done."""
    files = _changed_files(job, {})
    header = store.default().exact((job.request() or {})["experiment"], job.key)
    if header and job.state()["status"] == "done":
        files[transfer.RUN] = header.path.read_bytes()
    ends = {f"ends/{path.name}": path.read_bytes() for path in job.ends.glob("*.safetensors")}
    return files | ends
