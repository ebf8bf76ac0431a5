"""Several jobs that wait, of one experiment and of equal shape, made as one tensor program: the
runs of a sweep.

Each is a job as ever, with its own lock, state, checkpoint and run, and ends by itself: one that is
cancelled, fails or cannot be kept is no trouble of the others. Their checkpoints are those that
they would have alone.
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
from icl_core.jobs import admission, queue
from icl_core.jobs.folder import Job, hold_lock, queue_lock
from icl_core.jobs.train import BegunJob, begin_job, conclude, finish_job, train_job
from icl_core.machine import malloc


@dataclass(frozen=True, eq=False)
class HeldJob:
    """A job whose lock this worker has, until `lock` is closed."""

    job: Job
    mine: Callable[[], bool]
    lock: ExitStack


def take_job(key: str) -> HeldJob | None:
    """The job, if it is due and nobody has it."""
    lock, job = ExitStack(), Job(key)
    mine = lock.enter_context(hold_lock(job.folder / "lock"))
    if mine and job.due():
        return HeldJob(job, mine, lock)
    lock.close()
    return None


def batch_with(first: HeldJob, slots: int) -> list[HeldJob]:
    """What goes together with a job: runs of sweeps that wait and are of its shape, no more than
    leave their share of what waits to other workers that have nothing to do. Nobody who asks for a
    single run waits for others'."""
    known = queue.states()
    waiting = [state for state in known if state.key != first.job.key and queue.is_ready(state)]
    like, most = _shape(first.job)
    keys = [state.key for state in waiting if most > 1 and _shape(Job(state.key))[0] == like]
    busy = len({state.pid for state in known if state.status == "running"})
    share = math.ceil((1 + len(waiting)) / max(1, slots - busy))
    found: list[HeldJob] = []
    for key in keys:
        if len(found) + 1 >= min(most, share):
            break
        try:
            with queue_lock():  # two that look at once would both find room
                if not admission.fits(key):
                    break  # nor do the others, which are alike
                if other := take_job(key):
                    found.append(other)
        except OSError:
            break
    return found


def _shape(job: Job) -> tuple[Any, int]:
    """What the job has in common with those that it can go with, and how many go together; 1: it
    goes alone, as one that has taken down its worker does."""
    request = job.request() or {}
    if not request.get("later") or job.state().get("deaths", 0):
        return None, 1
    try:
        experiment = registry.experiment(request["experiment"])
        config = from_stored(experiment.config, request["config"])
    except Exception:  # whatever is wrong with it is told when it is trained
        return None, 1
    if not experiment.batching:
        return None, 1
    return (request["experiment"], experiment.batching.alike(config)), experiment.batching.most(
        config
    )


@malloc.bounded_heap()
def train_together(jobs: Sequence[HeldJob], stopped: Callable[[], bool]) -> None:
    """Jobs of one shape from their requests to their ends; each is let go of as it ends."""
    begun: dict[int, BegunJob] = {}
    for index, each in enumerate(jobs):
        conclude(each.job, each.mine, partial(_begin, begun, index, each, stopped))
        if index not in begun:
            each.lock.close()
    for found in begun.values():
        found.progress.together = len(begun)
    left = dict(begun)
    try:
        for index, made in _made(begun):
            conclude(jobs[index].job, jobs[index].mine, partial(_end, begun[index], made))
            left.pop(index).progress.leave()  # at once: it may be asked for again
            jobs[index].lock.close()
    except Exception:  # what the program of all does wrong is not the failure of each
        traceback.print_exc()
    for index, found in left.items():
        found.progress.leave()
        conclude(
            found.job,
            jobs[index].mine,
            lambda job=found.job: {**job.state(), "status": "interrupted"},
        )
        train_job(jobs[index].job, stopped, jobs[index].mine)
        jobs[index].lock.close()


def _begin(
    begun: dict[int, BegunJob], index: int, each: HeldJob, stopped: Callable[[], bool]
) -> dict[str, Any] | None:
    found = begin_job(each.job, stopped, each.mine)
    if found is None:
        return {"status": "done"}
    begun[index] = found
    return None


def _made(begun: dict[int, BegunJob]) -> Iterable[tuple[int, Tensors | Exception]]:
    """What each makes or is ended by, as it ends."""
    indices, each = list(begun), list(begun.values())
    if not each or each[0].experiment.batching is None:
        return
    run = each[0].experiment.batching.run
    for at, made in run([one.config for one in each], [one.progress for one in each]):
        yield indices[at], made


def _end(begun: BegunJob, made: Tensors | Exception) -> dict[str, Any] | None:
    if isinstance(made, Exception):
        raise made
    return finish_job(begun, made)
