"""A worker: takes the first job of the queue, trains it, saves the run; `python -m icl_core work`.

SIGTERM and Ctrl-C write a checkpoint; after SIGKILL there is one from some seconds before. The next
worker continues from it. Called by `icl_core.cluster.dispatcher.work`.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import psutil

from icl_core import registry
from icl_core.jobs import admission, environment, forget, queue, spawn, starts, table
from icl_core.jobs.batched_jobs import batch_with, take_job, train_together
from icl_core.jobs.code_version import SourceWatch
from icl_core.jobs.estimate import know_pace
from icl_core.jobs.faults import GpuLost
from icl_core.jobs.folder import Job, has_room, hold_lock, is_put_off
from icl_core.jobs.phase_helper import assist
from icl_core.jobs.state import ENDED, WAITING
from icl_core.jobs.train import train_job
from icl_core.machine import device, late_imports, limits
from icl_core.runs import database

IDLE = 5.0  # seconds without a job after which a worker ends


def work(once: bool = False, slots: int | None = None, server: int | None = None) -> int:
    """Train the jobs that wait until there have been none for some seconds; return how many were
    taken.

    With `once` it takes one job at most, with those of its batch, and does not wait. `server` is
    the pid of a process for whose requests it waits with everything imported, and with which it
    ends. It does nothing if all `slots` have their worker already. It ends when the code on disk
    changes, as the next worker imports the new code, and when a job waits for a worker with other
    environment variables (`environment`), which it starts. Raises `BadSetting` for less than one
    slot.
    """
    spawn.check_count(slots)
    if limits.read_only():
        return 0
    taken = 0
    leaves = False
    source = SourceWatch()
    if slots is None:
        slots = device.workers()
    with ExitStack() as stack:
        if not _take_slot(stack, slots):
            starts.note_up()
            return 0
        stopped = stack.enter_context(_signals())
        server_lives = _prepare(server)
        knows_pace = server is not None
        starts.note_up()
        idle_since = time.monotonic()
        # without its GPU this process is of no more use; the next worker continues
        stack.enter_context(suppress(GpuLost))
        while not stopped() and not source.changed():
            requests = table.request_count()
            if _must_leave(slots):
                leaves = True
                break
            if count := _work_one(stopped, slots):
                taken += count
                idle_since = time.monotonic()
                _release_memory()
            elif not once and _assist_one(stopped):
                idle_since = time.monotonic()
                _release_memory()
            elif not once:
                if not knows_pace:
                    know_pace()
                    knows_pace = True
                _wait_for_request(requests, stopped)
            if once or (time.monotonic() - idle_since > IDLE and not server_lives()):
                break
    if leaves:
        with suppress(OSError):  # a page that looks at the queue starts it, too
            spawn.ensure_workers(slots)
    return taken


def _must_leave(slots: int) -> bool:
    """Return whether this worker must end for one with the environment variables of a job that
    waits: there is no other job, or that one is the first, no slot is free, and this worker can
    start the other one. A job of experiments that are unknown here is such a job, too."""
    own = environment.current()
    waiting = [
        state.environment
        for state in queue.states()
        if state.status in WAITING
        and not is_put_off(state.retry_at)
        and (queue.is_ready(state) or state.environment != own)
    ]
    if own not in waiting:
        return bool(waiting) and spawn.are_all_taken(slots)
    is_first = waiting[0] == own
    return not is_first and environment.can_start(waiting[0]) and spawn.are_all_taken(slots)


def _prepare(server: int | None) -> Callable[[], bool]:
    """Import what trainings need; return a function that says whether the process `server` lives.
    For a server all experiments are imported now, so that its pages need not wait for that."""
    if server is None:  # somebody waits: the pace is measured once nobody does
        late_imports.postpone_compiler()
        return lambda: False
    device.prepare()
    know_pace()
    for name in registry.experiment_ids():
        registry.experiment(name)
    device.keep_imports()
    with suppress(psutil.Error):  # it has ended already
        return psutil.Process(server).is_running
    return lambda: False


def _wait_for_request(requests: int, stopped: Callable[[], bool]) -> None:
    """Wait until the counter of requests is no longer `requests`, for a second at most: a job can
    become ready without a request."""
    end = time.monotonic() + 1.0
    while time.monotonic() < end and table.request_count() == requests and not stopped():
        time.sleep(0.05)


def _take_slot(stack: ExitStack, slots: int) -> bool:
    """Hold the lock of a free slot until the stack is closed; return whether there was one."""
    for slot in range(slots):
        if stack.enter_context(hold_lock(spawn.slot_lock(slot))):
            starts.note_slot(slot)
            if slots > 1:
                device.choose(slot)
            return True
    return False


@contextmanager
def _signals() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether SIGTERM or Ctrl-C came. It is asked between steps: a
    call of torch is never interrupted."""
    came = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield came.is_set
        return
    handlers = {
        number: signal.signal(number, lambda *_: came.set())
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield came.is_set
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _work_one(stopped: Callable[[], bool], slots: int) -> int:
    """Train the first job that is ready, with those of its batch; return how many jobs that is."""
    for state in filter(_is_ready_here, queue.states()):
        first = None
        # One transaction: two workers that looked at once would both find memory.
        with suppress(OSError), database.transaction():  # on a full disk the job waits
            if not admission.fits(state.key):
                admission.write_memory_wait(state)
                return 0
            first = take_job(state.key)
        if first is None:
            continue  # another worker took it after this one looked
        with ExitStack() as stack:
            stack.enter_context(first.lock)
            if not has_room():
                return 0
            jobs = [first, *batch_with(first, slots)]
            for other in jobs[1:]:
                stack.enter_context(other.lock)
            with suppress(OSError):  # a page that looks at the queue starts them, too
                spawn.ensure_workers(slots)  # there may be more to do than one can do alone
            if len(jobs) > 1:
                train_together(jobs, stopped)
            else:
                train_job(first.job, stopped, first.has_lease)
        forget_old()
        return len(jobs)
    return 0


def _is_ready_here(state: queue.JobState) -> bool:
    """Return whether this worker may take the job now: it has the variables of the request."""
    return queue.is_ready(state) and state.environment == environment.current()


def _release_memory() -> None:
    """Give what a run has freed back to the system: the next one may be another worker's."""
    device.release()


def _assist_one(stopped: Callable[[], bool]) -> bool:
    """Help with a run that another worker trains, until a job waits; return whether there was
    anything to do."""

    def is_needed() -> bool:
        return any(map(queue.is_ready, queue.states()))

    variables = environment.current()

    running = [
        state
        for state in queue.states()
        if state.status == "running"
        and state.spare
        and state.environment == variables
        and admission.fits(state.key)
    ]
    return any(assist(Job(state.key), stopped, is_needed) for state in running)


def forget_old() -> None:
    """Delete all but the latest jobs that have ended."""
    with suppress(OSError), database.transaction():  # the next worker does it
        forget.forget_ended(ENDED)
        forget.forget_unrequested()
