"""Train several waiting jobs of one experiment and of equal shape as one tensor program: the runs
of a sweep. Called by `worker`.

Each job has its own lock, state, checkpoint and run, and ends by itself: one that is cancelled,
fails or cannot be saved does not disturb the others. Their checkpoints are those that they would
have alone.
"""

import math
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from icl_core import registry
from icl_core.contract.experiment import Tensors
from icl_core.contract.settings_io import from_stored
from icl_core.jobs import admission, environment, queue
from icl_core.jobs.folder import Job, hold_lock
from icl_core.jobs.train import BegunJob, State, begin_job, finish_job, run_and_record, train_job
from icl_core.machine import malloc
from icl_core.runs import database


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
    variables = environment.current()
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
                if not admission.fits(key):
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
    if not batching:
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
