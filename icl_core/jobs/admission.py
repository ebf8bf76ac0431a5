"""Admit jobs to training by memory: a job waits until its estimated memory fits beside that of the
jobs that train on this machine. Called by `worker` and `batched_jobs`.

No job overtakes one that waits for memory: it would wait for ever. On GPUs each worker has the
memory of its own.
"""

from pathlib import Path
from typing import Any

from icl_core import registry
from icl_core.contract.settings_io import from_stored
from icl_core.jobs import queue
from icl_core.jobs.folder import Job, hold_lock
from icl_core.jobs.state import WAITING
from icl_core.machine import containers, device

WAITS = "it needs more memory than is left beside what is in training"


def fits(key: str) -> bool:
    """Return whether this machine has memory for one more training of the job. The first job always
    fits: settings that are larger than the machine are refused when they are made."""
    if device.is_gpu():
        return True
    used = 0
    for state in queue.states():
        if _is_in_training(state, key):
            job = Job(state.key)
            used += (estimated_memory(job) + containers.WORKER) * _count_trainings(job)
    return not used or used + estimated_memory(Job(key)) <= device.memory()


def write_memory_wait(state: queue.JobState) -> None:
    """Write into the job's state that it waits for memory, though a worker is free. The caller
    is within a transaction; the job may have been cancelled or begun since `state` was read. Raises
    `OSError`."""
    job = Job(state.key)
    stored = job.state()
    if stored["status"] == "queued" and stored.get("message") != WAITS and not job.is_locked():
        job.write_state(status="queued", message=WAITS)


def estimated_memory(job: Job) -> int:
    """Return the estimated bytes of one training of the job; 0 for a job that cannot be trained,
    which fails with a message when it is tried."""
    request: dict[str, Any] = job.request() or {}
    try:
        config = registry.experiment(request["experiment"]).config
        return device.estimated(lambda: from_stored(config, request["config"]))
    except Exception:  # of an experiment, too, that cannot be imported
        return 0


def _is_in_training(state: queue.JobState, key: str) -> bool:
    """Return whether a worker has the job, unless it is the job `key`, which is about to be taken.
    A worker that has just taken a job may not have written its state yet."""
    if state.status not in WAITING:
        return not state.ended
    job = Job(state.key)
    return state.key != key and (job.folder / "lock").exists() and job.is_locked()


def _count_trainings(job: Job) -> int:
    """Return how many of the job's trainings are in progress: its own worker has one at least."""
    return max(1, sum(map(_is_held, job.phases.glob("*.lock"))))


def _is_held(lock: Path) -> bool:
    with hold_lock(lock) as has_lease:
        return not has_lease
