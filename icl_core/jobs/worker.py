"""A worker: takes the oldest job that waits, trains it, keeps the run. `python -m icl_core work`.

SIGTERM and Ctrl-C leave a checkpoint; so does SIGKILL, of some seconds before. The next worker goes
on from it.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import psutil

from icl_core import registry
from icl_core.jobs import admission, forget, queue, spawn
from icl_core.jobs.batched_jobs import batch_with, take_job, train_together
from icl_core.jobs.code_version import source_mtimes
from icl_core.jobs.estimate import measure_pace
from icl_core.jobs.faults import GpuLost
from icl_core.jobs.folder import Job, has_room, hold_lock, queue_lock, request_counter
from icl_core.jobs.phase_helper import assist
from icl_core.jobs.train import train_job
from icl_core.machine import limits

IDLE = 5.0  # seconds without a job after which a worker ends


def work(once: bool = False, slots: int | None = None, server: int | None = None) -> int:
    """Train what waits until nothing has for some seconds; `once`: one job at most, with those that
    go together with it, and no waiting; `server`: a process for which it waits with everything
    imported, and with which it ends.

    Does nothing if all `slots` have their worker already, and ends when the code on disk is no
    longer what it runs: the next worker reads it anew. The number of jobs taken. Raises
    `BadSetting` for less than one slot.
    """
    spawn.check_count(slots)
    if limits.read_only():
        return 0
    taken, code = 0, source_mtimes()
    if slots is None:
        from icl_core.machine import device  # imports torch

        slots = device.workers()
    with ExitStack() as stack:
        if not _take_slot(stack, slots):
            return 0
        stopped = stack.enter_context(_signals())
        waited_for = _served(server)
        idle_since = time.monotonic()
        stack.enter_context(
            suppress(GpuLost)
        )  # this process is of no more use; the next worker goes on
        while not stopped() and source_mtimes() == code:
            heard = request_counter()
            if made := _work_one(stopped, slots):
                taken += made
                idle_since = time.monotonic()
                _give_back()
            elif not once and _assist_one(stopped):
                idle_since = time.monotonic()
                _give_back()
            elif not once:
                _sleep(heard, stopped)
            if once or (time.monotonic() - idle_since > IDLE and not waited_for()):
                break
    return taken


def _served(server: int | None) -> Callable[[], bool]:
    """Whether the process `server` is there. Everything is imported now, so that its pages need not
    wait for that."""
    from icl_core.machine import device  # imports torch

    device.prepare()
    measure_pace()
    if server is None:
        return lambda: False
    for name in registry.experiment_ids():
        registry.experiment(name)
    device.keep_imports()
    with suppress(psutil.Error):
        return psutil.Process(server).is_running
    return lambda: False


def _sleep(heard: int, stopped: Callable[[], bool]) -> None:
    """Until somebody asks for a run; a second at most, for what comes without asking."""
    end = time.monotonic() + 1.0
    while time.monotonic() < end and request_counter() == heard and not stopped():
        time.sleep(0.05)


def _take_slot(stack: ExitStack, slots: int) -> bool:
    for slot in range(slots):
        if stack.enter_context(hold_lock(spawn.slot_lock(slot))):
            if slots > 1:
                from icl_core.machine import device

                device.choose(slot)
            return True
    return False


@contextmanager
def _signals() -> Iterator[Callable[[], bool]]:
    """Tells whether SIGTERM or Ctrl-C came. They are looked for between steps: torch is never
    interrupted."""
    came = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield came.is_set
        return
    before = {
        number: signal.signal(number, lambda *_: came.set())
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield came.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _work_one(stopped: Callable[[], bool], slots: int) -> int:
    """Train the first job that waits, with those that go together with it; how many there were."""
    for known in filter(queue.is_ready, queue.states()):
        first = None
        with suppress(OSError), queue_lock():  # two that look at once would both find room
            if not admission.fits(known.key):
                admission.say_that_it_waits(known)
                return 0
            first = take_job(known.key)
        if first:  # between the look and the lock another worker may have done it
            with ExitStack() as stack:
                stack.enter_context(first.lock)
                if not has_room():
                    return 0
                jobs = [first, *batch_with(first, slots)]
                for other in jobs[1:]:
                    stack.enter_context(other.lock)
                with suppress(OSError):
                    spawn.ensure_workers(slots)  # there may be more than we can do alone
                train_together(jobs, stopped) if len(jobs) > 1 else train_job(
                    first.job, stopped, first.mine
                )
            forget_old()
            return len(jobs)
    return 0


def _give_back() -> None:
    """What a run has freed is not kept for the next one, which may be of another worker."""
    from icl_core.machine import device

    device.release()


def _assist_one(stopped: Callable[[], bool]) -> bool:
    """Help at a run that another worker has in hand, until a job waits; whether there was anything
    to do."""
    wanted = lambda: any(map(queue.is_ready, queue.states()))  # noqa: E731
    busy = [
        known
        for known in queue.states()
        if known.status == "running" and known.spare and admission.fits(known.key)
    ]
    return any(assist(Job(known.key), stopped, wanted) for known in busy)


def forget_old() -> None:
    """Drop all but the latest jobs that have ended."""
    with suppress(OSError), queue_lock():
        forget.forget_ended({known.key: known.status for known in queue.states() if known.ended})
        forget.forget_unrequested()
