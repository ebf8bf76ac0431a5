"""What a worker of Dask does: trains a job as a worker here would, in a folder of its own that is
thrown away, and tells the process that gave it the job how far it is. `icl_core.cluster.dispatcher`
calls these functions by name.

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

from distributed import Queue, get_client, get_worker

from icl_core.cluster import transfer
from icl_core.jobs.code_version import code, differs
from icl_core.jobs.faults import GpuLost
from icl_core.jobs.folder import Job
from icl_core.jobs.job_progress import THREADS
from icl_core.jobs.reading import CANCELLED
from icl_core.jobs.train import train_job
from icl_core.runs import store

LOOK = 0.2  # seconds between looks for what is new
SILENCE = 60.0  # seconds after which a training that nobody hears is stopped
STOP = "stop"  # at a checkpoint
ME = uuid.uuid4().hex  # of this process: another one may have its address by now
_code, _one = code(), threading.Lock()
_told: dict[str, str] = {}  # by ticket, what its training was told to do


class Moved(Exception):
    """The process that was meant is gone; this one has its address."""


class Refused(Exception):
    """This machine would not train the same; the message says why."""


def introduce() -> str:
    """Who this process is, and with which code it trains: JSON."""
    return json.dumps({"me": ME, "code": _code})


def tell(ticket: str, what: str) -> None:
    """Have the training with that ticket stop at a checkpoint, STOP, or end with one of
    CANCELLED."""
    _told[ticket] = what


def carry_out(ticket: str, order: str, luggage: bytes) -> bytes:
    """Train a job; a parcel with its last state, its run if it is done, else its checkpoint.

    `order` is JSON: the job's `key` and `request`, the process that is meant, `me`, and the `code`
    that is wanted. What is new while it trains goes into the queue that is called as the ticket, a
    parcel each. Raises `Moved` or `Refused`.
    """
    wanted = json.loads(order)
    if wanted["me"] != ME:
        raise Moved
    if code() != _code:
        raise Refused("its code has changed on disk since it was started")
    if problem := differs(wanted["code"], _code):
        raise Refused(problem)
    with _one:
        _settle()
        job, queue = Job(wanted["key"]), Queue(ticket, client=get_client())
        with _unpacked(job, wanted["request"], luggage):
            with _relayed(job, queue, ticket):
                try:
                    train_job(job, lambda: _told.get(ticket) == STOP, lambda: _heeds(job, ticket))
                except (
                    GpuLost
                ):  # nothing can be computed here any more: Dask must see this worker as lost
                    os._exit(1)
            return transfer.pack(_outcome(job))


@cache
def _settle() -> None:
    """Give this process a store of its own, within the folder that Dask removes when the worker
    ends."""
    from icl_core.jobs.estimate import measure_pace
    from icl_core.machine import device

    home = Path(get_worker().local_directory) / "icl"
    os.environ |= {"ICL_CACHE_DIR": str(home), "ICL_ARTIFACTS": str(home / "artifacts")}
    store.default.cache_clear()
    device.set_threads(THREADS)
    measure_pace()


@contextmanager
def _unpacked(job: Job, request: dict, luggage: bytes) -> Iterator[None]:
    """The job as its own machine has it; afterwards nothing of it is left."""
    job.ask(request)
    placed = transfer.lay_out(transfer.unpack(luggage))
    try:
        yield
    finally:
        if header := store.default().exact(request["experiment"], job.key):
            store.default().delete(header)
        for path in placed:
            path.unlink(missing_ok=True)
        shutil.rmtree(job.folder, ignore_errors=True)


def _heeds(job: Job, ticket: str) -> bool:
    """The job is ours as long as we have it; this is asked often, so what was told is
    heeded here."""
    if _told.get(ticket) in CANCELLED:
        with suppress(OSError):
            job.give_up(_told[ticket])
    return True


@contextmanager
def _relayed(job: Job, queue: Queue, ticket: str) -> Iterator[None]:
    """Tell what is new of the job. Where nobody hears it for long, it is stopped."""
    over = threading.Event()

    def relay() -> None:
        seen: dict[str, tuple[int, int]] = {}
        while not over.wait(LOOK):
            if news := _news(job, seen):
                try:
                    queue.put(transfer.pack(news), timeout=SILENCE)
                except (
                    Exception
                ):  # whatever is wrong with the connection: who gave the job has it done elsewhere
                    tell(ticket, STOP)
                    return

    thread = threading.Thread(target=relay, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        _told.pop(ticket, None)


def _news(job: Job, seen: dict[str, tuple[int, int]]) -> transfer.Files:
    """The files of the job that have changed since they were `seen`."""
    found = {}
    for name in (transfer.STATE, transfer.LIVE, transfer.CHECKPOINT):
        try:
            path = job.folder / name
            status = path.stat()
            stamp = status.st_ino, status.st_mtime_ns
            if seen.get(name) != stamp:
                found[name] = path.read_bytes()
                seen[name] = stamp
        except OSError:  # not there yet, or no more
            continue
    return found


def _outcome(job: Job) -> transfer.Files:
    """What has become of the job."""
    found = _news(job, {})
    header = store.default().exact((job.request() or {})["experiment"], job.key)
    if header and job.state()["status"] == "done":
        found[transfer.RUN] = header.path.read_bytes()
    return found | {
        f"ends/{path.name}": path.read_bytes() for path in job.ends.glob("*.safetensors")
    }
