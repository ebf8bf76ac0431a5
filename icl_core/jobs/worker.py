"""A worker: takes the first job of the queue, trains it, saves the run; `python -m icl_core work`.

SIGTERM and Ctrl-C write a checkpoint; after SIGKILL there is one from some seconds before. The next
worker continues from it. Called by `icl_core.cluster.dispatcher.work`.

Waiting jobs of one experiment and of equal shape, the runs of a sweep, are trained as one tensor
program (`train_together`). Each has its own lock, state, checkpoint and run, and ends by itself:
one that is cancelled, fails or cannot be saved does not disturb the others. Their checkpoints are
those that they would have alone.
"""

import math
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import psutil

from icl_core import registry
from icl_core.contract.experiment import Tensors
from icl_core.contract.settings_io import from_stored
from icl_core.jobs import queue, spawn, starts, table
from icl_core.jobs.estimate import know_pace
from icl_core.jobs.faults import GpuLost
from icl_core.jobs.folder import Job, has_room, hold_lock, is_put_off
from icl_core.jobs.phase_helper import assist
from icl_core.jobs.table import ENDED, WAITING
from icl_core.jobs.train import (
    BegunJob,
    SourceWatch,
    State,
    begin_job,
    finish_job,
    run_and_record,
    train_job,
)
from icl_core.machine import device, late_imports, limits, malloc
from icl_core.runs import database
from icl_core.training import segments

IDLE = 5.0  # seconds without a job after which a worker ends


def work(once: bool = False, slots: int | None = None, server: int | None = None) -> int:
    """Train the jobs that wait until there have been none for some seconds; return how many were
    taken.

    With `once` it takes one job at most, with those of its batch, and does not wait. `server` is
    the pid of a process for whose requests it waits with everything imported, and with which it
    ends. It does nothing if all `slots` have their worker already. It ends when the code on disk
    changes, as the next worker imports the new code, and when a job waits for a worker with other
    environment variables, which it starts, or of other code, which whoever asked starts. Raises
    `BadSetting` for less than one slot.
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
        while not stopped() and not source.changed(requests := table.request_count()):
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
    """Return whether this worker must end for one with the environment of a job that waits: there
    is no other job, or that one is the first, no slot is free, and this worker can start the other
    one. A job of experiments that are unknown here is such a job, too. Earlier versions of the
    dashboard count on any idle worker, and start none beside it."""
    own = table.current_environment()
    states = [
        state
        for state in queue.states()
        if state.status in WAITING
        and not is_put_off(state.retry_at)
        and (queue.is_ready(state) or state.environment != own)
    ]
    waiting = [state.environment for state in states]
    if own not in waiting:
        earlier = [state.key for state in states if not state.environment[table.CODE]]
        is_counted_on = any(table.is_watched(key, time.time() - queue.WATCHED) for key in earlier)
        return is_counted_on or (bool(waiting) and spawn.are_all_taken(slots))
    is_first = waiting[0] == own
    return not is_first and table.can_start_worker(waiting[0]) and spawn.are_all_taken(slots)


def _prepare(server: int | None) -> Callable[[], bool]:
    """Import what trainings need; return a function that says whether the process `server` lives.
    For a server all experiments are imported now, so that its pages need not wait for that."""
    if server is None:  # somebody waits: the pace is measured once nobody does
        late_imports.postpone_compiler()
        return lambda: False
    device.prepare()
    segments.prepare()
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
            if not queue.fits_memory(state.key):
                queue.write_memory_wait(state)
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
    """Return whether this worker may take the job now: it has the environment of the request."""
    return queue.is_ready(state) and state.environment == table.current_environment()


def _release_memory() -> None:
    """Give what a run has freed back to the system: the next one may be another worker's."""
    device.release()


def _assist_one(stopped: Callable[[], bool]) -> bool:
    """Help with a run that another worker trains, until a job waits; return whether there was
    anything to do."""

    def is_needed() -> bool:
        return any(map(queue.is_ready, queue.states()))

    variables = table.current_environment()

    running = [
        state
        for state in queue.states()
        if state.status == "running"
        and state.spare
        and state.environment == variables
        and queue.fits_memory(state.key)
    ]
    return any(assist(Job(state.key), stopped, is_needed) for state in running)


def forget_old() -> None:
    """Delete all but the latest jobs that have ended."""
    with suppress(OSError), database.transaction():  # the next worker does it
        queue.forget_ended(ENDED)
        queue.forget_unrequested()


@dataclass(frozen=True, eq=False)
class HeldJob:
    """A job whose lock this worker holds until `lock` is closed."""

    job: Job
    has_lease: Callable[[], bool]
    lock: ExitStack


def take_job(key: str) -> HeldJob | None:
    """Take the lock of a job; return None if it is not due or another worker has it."""
    lock = ExitStack()
    job = Job(key)
    has_lease = lock.enter_context(hold_lock(job.folder / "lock"))
    if has_lease and job.is_due():
        return HeldJob(job, has_lease, lock)
    lock.close()
    return None


def batch_with(first: HeldJob, slots: int) -> list[HeldJob]:
    """Take the jobs that are trained together with `first`: waiting runs of sweeps that have its
    shape.

    They are at most this worker's share of what waits; the rest is for the idle workers of the
    `slots`, as far as there are idle cores for them: on a busy machine two programs of ten runs
    take longer than one of twenty. A run that was requested alone is never batched: nobody waits
    for others' runs.
    """
    from icl_core.machine import device  # imports torch

    states = queue.states()
    variables = table.current_environment()
    waiting = [
        state
        for state in states
        if state.key != first.job.key and queue.is_ready(state) and state.environment == variables
    ]
    shape, most = _shape(first.job)
    keys: list[str] = []
    if most > 1:
        keys = [state.key for state in waiting if _shape(Job(state.key))[0] == shape]
    busy = len({state.pid for state in states if state.status == "running"})
    workers = max(1, min(slots - busy, device.idle_cores()))
    share = math.ceil((1 + len(waiting)) / workers)
    batch: list[HeldJob] = []
    for key in keys:
        if len(batch) + 1 >= min(most, share):
            break
        try:
            with database.transaction():  # two workers that looked at once would both find memory
                if not queue.fits_memory(key):
                    break  # nor do the others, which are of the same shape
                if held := take_job(key):
                    batch.append(held)
        except OSError:
            break
    return batch


def _shape(job: Job) -> tuple[Any, int]:
    """Return what jobs of one batch must have in common, and how many go into a batch. (None, 1) is
    a job that is trained alone: a single run, or one at which a worker has died."""
    alone = None, 1
    request = job.request() or {}
    if not request.get("later") or job.state().get("deaths", 0):
        return alone
    try:
        experiment = registry.experiment(request["experiment"])
        config = from_stored(experiment.config, request["config"])
    except Exception:  # it fails with a message when it is trained
        return alone
    batching = experiment.batching
    if not batching or segments.compiler(experiment, config):  # by torch it had other digits
        return alone
    return (request["experiment"], batching.alike(config)), batching.most(config)


@malloc.bounded_heap()
def train_together(jobs: Sequence[HeldJob], stopped: Callable[[], bool]) -> None:
    """Train jobs of one shape from their requests to their ends; the lock of each is released when
    it ends."""
    from icl_core.training.batched import Differs  # imports torch

    begun_jobs: dict[int, BegunJob] = {}
    for index, held in enumerate(jobs):
        begin = partial(_begin, begun_jobs, index, held, stopped)
        run_and_record(held.job, held.has_lease, begin)
        if index not in begun_jobs:
            held.lock.close()
    for begun in begun_jobs.values():
        begun.progress.together = len(begun_jobs)
    remaining = dict(begun_jobs)
    try:
        for index, result in _results(begun_jobs):
            held = jobs[index]
            if isinstance(result, Differs):  # it is trained alone below, from the start
                held.job.checkpoint.unlink(missing_ok=True)
                continue
            run_and_record(held.job, held.has_lease, partial(_end, begun_jobs[index], result))
            # at once, not after the last job: it may be requested again
            remaining.pop(index).progress.shared.release()
            held.lock.close()
    except Exception:  # a fault of the program does not fail its jobs: each is trained alone
        traceback.print_exc()
    for index, begun in remaining.items():
        held = jobs[index]
        begun.progress.shared.release()
        run_and_record(held.job, held.has_lease, partial(_interrupted_state, held.job))
        train_job(held.job, stopped, held.has_lease)
        held.lock.close()


def _begin(
    begun_jobs: dict[int, BegunJob], index: int, held: HeldJob, stopped: Callable[[], bool]
) -> State | None:
    """Prepare the training of one job, and add it to `begun_jobs` under its index."""
    begun = begin_job(held.job, stopped, held.has_lease)
    if begun is None:
        return {"status": "done"}
    begun_jobs[index] = begun
    return None


def _results(begun_jobs: dict[int, BegunJob]) -> Iterable[tuple[int, Tensors | Exception]]:
    """Train the jobs as one program; yield the index of each, as it ends, with its tensors or the
    exception that ended it."""
    indices = list(begun_jobs)
    jobs = list(begun_jobs.values())
    if not jobs or jobs[0].experiment.batching is None:
        return
    run = jobs[0].experiment.batching.run
    for position, result in run([job.config for job in jobs], [job.progress for job in jobs]):
        yield indices[position], result


def _end(begun: BegunJob, result: Tensors | Exception) -> State | None:
    if isinstance(result, Exception):
        raise result
    return finish_job(begun, result)


def _interrupted_state(job: Job) -> State:
    return {**job.state(), "status": "interrupted"}
