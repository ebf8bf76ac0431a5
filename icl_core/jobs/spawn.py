"""Starts workers, each in a process of its own, for the jobs that wait."""

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from icl_core.contract.knobs import BadSetting
from icl_core.jobs import queue, scheduler_address
from icl_core.jobs.folder import has_room, hold_lock, jobs_folder, queue_lock
from icl_core.jobs.reading import set_odd_aside
from icl_core.machine import folders, limits

_STARTING = 4.0  # seconds in which a worker that was started may not have taken its slot yet
STARTED = "started"  # a file that is touched whenever a worker is started
_LONGEST_LOG = 2**20  # bytes
_WORTH = 5.0  # seconds that a run must still take for another worker to be started for it
# glibc gives large tensors back and asks for fresh pages at every step: a step of Mamba on 256 × 3
# prompts of 21 tokens took 410 ms, and 130 ms where freed memory is kept. Other systems do not read
# these.
_REUSED = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40)}
# oneDNN keeps a product's program and its scratch memory for each shape, 1,024 of them. Batches
# whose number of counted positions changes at every step made a worker of birth.dimension 20 GB
# large; with 64 steps are as fast.
_FEW_SHAPES = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64", "LRU_CACHE_CAPACITY": "64"}


def ensure_workers(count: int | None = None) -> int:
    """Start workers for the jobs that wait, `count` at most at once (else as many as the device
    serves); where a scheduler is set, the one process that hands them to it.

    The number started: none where none could write a file, or for jobs that must wait. Cheap enough
    to be called at every look at a job. Raises `BadSetting` for a count below 1.
    """
    check_count(count)
    if limits.read_only():
        return 0
    known = queue.states()
    waiting = sum(map(queue.is_ready, known)) + sum(map(_spare, known))
    running = len(
        {job.pid for job in known if job.status == "running"}
    )  # workers: some make several as one
    if not waiting or not os.access(jobs_folder(), os.W_OK):
        return 0
    count = _slots(count)
    with queue_lock():
        stamp = jobs_folder() / STARTED
        if stamp.exists() and 0 <= time.time() - stamp.stat().st_mtime < _STARTING:
            return 0
        taken = sum(map(_taken, range(count)))
        # those that train nothing will see the job by themselves
        started = max(0, min(count - taken, waiting - max(0, taken - running)))
        if not started or not has_room():
            return 0
        for _ in range(started):
            _start_worker(count)
        stamp.touch(mode=0o600)
    return started


def warm() -> None:
    """Start a worker that waits for this process with everything imported, unless one is there or
    nothing can be written. What is asked for then trains at once."""
    if limits.read_only():
        return
    count = _slots()
    with suppress(OSError), queue_lock():
        if os.access(jobs_folder(), os.W_OK) and has_room() and not any(map(_taken, range(count))):
            _start_worker(count, "--server", str(os.getpid()))
            (jobs_folder() / STARTED).touch(mode=0o600)


def trainings(count: int | None = None) -> int:
    """How many trainings can go on at once: as many as were asked for, or as there are
    workers for."""
    return (
        max(1, scheduler_address.read_status().workers)
        if scheduler_address.scheduler()
        else _slots(count)
    )


def where() -> str:
    """Where trainings are done, in words."""
    return "on the cluster" if scheduler_address.scheduler() else "on this machine"


def _slots(count: int | None = None) -> int:
    if scheduler_address.scheduler():
        return 1
    from icl_core.machine import device  # imports torch

    return count or device.workers()


def check_count(count: int | None) -> None:
    """Raise `BadSetting` for a number of workers that would never train anything."""
    if count is not None and count < 1:
        raise BadSetting(f"the number of workers must be at least 1, got {count}")


def _spare(job: queue.JobState) -> int:
    """How many more workers a job that is going on can use: none if it ends before they could
    begin."""
    return job.spare if job.status == "running" and (job.seconds_left or 0) > _WORTH else 0


def slot_lock(slot: int) -> Path:
    """The lock that a worker holds as long as it lives; slot n trains on the n-th GPU, if there are
    several."""
    return (
        scheduler_address.lock_path()
        if scheduler_address.scheduler()
        else jobs_folder() / f"slot-{slot}.lock"
    )


def _taken(slot: int) -> bool:
    with hold_lock(slot_lock(slot)) as mine:
        return not mine


def _start_worker(count: int, *more: str) -> None:
    log = jobs_folder() / "workers.log"
    set_odd_aside(log)  # a pipe would keep this process waiting for ever
    fresh = not log.exists() or log.stat().st_size > _LONGEST_LOG
    log.touch(mode=0o600)
    # an installed icl_core is found without help; its folder must not come before Python's own
    repository = None if folders.is_installed() else str(folders.LIBRARY)
    path = os.pathsep.join(filter(None, [repository, os.environ.get("PYTHONPATH")]))
    with log.open("wb" if fresh else "ab") as output:
        subprocess.Popen(
            # -P: a numpy.py in the folder that one stands in must not be imported
            [sys.executable, "-P", "-m", "icl_core", "work", "--slots", str(count), *more],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C at the server must not reach it
            env={**_REUSED, **_FEW_SHAPES, **os.environ, "PYTHONPATH": path},
        )
