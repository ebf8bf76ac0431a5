"""The queue of training jobs as pages and the command line use it: submit, watch, cancel. There is
one job for each config, whoever submits it.

A page writes a request and reads states; workers (`icl_core.jobs.worker`) train in processes of
their own, so that neither a rerun of the page nor a restart of the server ends a training. Call
`spawn.ensure_workers()` whenever you look at a job: it starts workers for what waits, also for what
a killed worker has left.
"""

import time
from contextlib import suppress
from dataclasses import replace
from operator import itemgetter
from typing import Any

import psutil

from icl_core import registry
from icl_core.contract.experiment import Run
from icl_core.contract.knobs import BadSetting
from icl_core.contract.settings_io import from_stored
from icl_core.jobs import forget, listing, scheduler_address, turns
from icl_core.jobs.estimate import estimate_seconds
from icl_core.jobs.folder import (
    FULL,
    WAKE_FILE,
    Job,
    disk_full,
    hold_lock,
    is_put_off,
    jobs_folder,
    queue_lock,
)
from icl_core.jobs.reading import CANCELLED, ENDED, STATE_FIELDS, WAITING
from icl_core.jobs.state import JobState
from icl_core.machine import limits
from icl_core.runs import owners, store
from icl_core.runs.disk import private_folder
from icl_core.runs.file import IDENTITY, Damaged, read

WATCHED = 3.0  # seconds after a look in which its page or terminal counts as watching
_PLACE_FIELDS = ("visitor", "turn", "later")  # fields of a request that decide about its place
# Jobs that waited at the last call of `states`, by key: without and with their position.
_placed_states: dict[str, tuple[JobState, JobState]] = {}
_SortKey = tuple[bool, int, float, str]


def submit(experiment_id: str, config: Any, later: bool = False, visitor: str = "") -> str:
    """Request a run and return its key. Nothing happens if the store has the run; a job that waits
    or runs is shared by all who request it.

    With `later` the job is queued behind all that are not, as the many runs of a sweep are. A job
    that failed or was cancelled is queued anew; a request to cancel it is withdrawn. Raises
    `BadSetting` for settings out of range, for a run that the cache can never keep and for what a
    `visitor` of a page may not request, `OSError` if the request cannot be written.
    """
    limits.check_writable()
    config = from_stored(registry.experiment(experiment_id).config, store.stored_settings(config))
    values = store.stored_settings(config)
    key = store.key_of(experiment_id, values)
    store.default().check_room(store.default().least_size(experiment_id, values))
    if visitor:
        limits.check_length(estimate_seconds(experiment_id, config))
    version = registry.version(experiment_id)
    with queue_lock():
        job_state = _state(key)
        all_states = states()
        # Workers forget jobs, too, but not while they are busy, maybe for hours; and a look at the
        # queue costs as much as there are folders.
        cancelled = {
            state.key: state.status
            for state in all_states
            if state.status in CANCELLED and state.key != key
        }
        forget.forget_ended(cancelled)
        forget.forget_kept(cancelled)
        turn = turns.next_turn(visitor, later, all_states)
        place = {"visitor": visitor, "turn": turn, "later": later}
        is_stored = store.default().exact(experiment_id, key) is not None
        if not is_stored and (job_state is None or job_state.ended):
            if visitor:
                limits.check_queued(turns.count_jobs(visitor, all_states))
            owners.remove_all(key)
            owners.add(key, visitor)
            settings = {"experiment": experiment_id, "version": version, "config": values}
            Job(key).enqueue({**settings, "asked": time.time_ns(), **place})
            (jobs_folder() / WAKE_FILE).touch(mode=0o600)
        elif job_state is not None and not job_state.ended:
            owners.add(key, visitor)
            Job(key).cancel.unlink(missing_ok=True)
            is_earlier = (later, turn) < (job_state.later, job_state.turn)
            if job_state.status in WAITING and is_earlier:
                Job(key).update_request(**place)  # the first turn of all who requested it counts
    return key


def state(key: str) -> JobState | None:
    """Return the state of one job, or None if it was not requested."""
    job_state = _state(key)
    if job_state is not None and job_state.status in WAITING:
        # its position depends on the others
        return next((queued for queued in states() if queued.key == key), job_state)
    return job_state


def states() -> list[JobState]:
    """Return all jobs in the order of the queue: by turns, in each the oldest request first; behind
    them those with `later`."""
    queue_states: list[JobState] = []
    ready = 0
    obstacle = scheduler_address.read_status().message or (FULL if disk_full() else "")
    entries = listing.list_jobs(jobs_folder(), _read_entry, _is_final)
    for _, job_state in sorted(entries, key=itemgetter(0)):
        ready += is_ready(job_state)
        if job_state.status in WAITING:
            job_state = _with_position(job_state, max(ready, 1), obstacle)
        queue_states.append(job_state)
    if len(_placed_states) > 2 * ready + 100:
        _placed_states.clear()
    return queue_states


def is_ready(job: JobState) -> bool:
    """Return whether a worker of this version of the code may take the job now. A job of a newer
    version waits for a worker of that version."""
    try:
        version = registry.version(job.experiment)
    except BadSetting:  # there is no such experiment
        version = 0
    return job.status in WAITING and not is_put_off(job.retry_at) and job.version <= version


def _with_position(job_state: JobState, position: int, obstacle: str) -> JobState:
    """Return the state with its position in the queue, and with the obstacle that keeps all jobs
    waiting, if there is one. The same object as at the last call is returned if nothing of this has
    changed."""
    message = job_state.message or obstacle
    cached = _placed_states.get(job_state.key)
    if (
        cached is None
        or cached[0] is not job_state
        or (cached[1].position, cached[1].message) != (position, message)
    ):
        cached = job_state, replace(job_state, position=position, message=message)
        _placed_states[job_state.key] = cached
    return cached[1]


def _read_entry(key: str) -> tuple[_SortKey, JobState] | None:
    """Return what sorts the job in the queue, and its state; None if it was not requested."""
    request = Job(key).request()
    job_state = _state(key)
    if not request or not job_state:
        return None
    return (job_state.later, job_state.turn, request["asked"], key), job_state


def _is_final(entry: tuple[Any, JobState]) -> bool:
    """Return whether the state can change only with its file. A job that runs, or was left by a
    killed worker, can change with its lock, too."""
    return entry[1].status == "queued" or entry[1].ended


def _state(key: str) -> JobState | None:
    """Return the state of a job without its position in the queue."""
    job = Job(key)
    request = job.request()
    if request is None:
        return None
    stored = job.state()
    if stored["status"] == "running" and not job.is_locked():
        stored = job.state()  # it may have ended between the two looks
        if stored["status"] == "running":
            stored |= {"status": "interrupted", "seconds_left": None}
    elif stored["status"] == "running" and job.cancel_status():
        stored |= {"status": "cancelling"}  # its worker looks between steps
    names = [name for name in STATE_FIELDS if name in JobState.__dataclass_fields__]
    from_state = {name: stored[name] for name in names if name in stored}
    from_request = {name: request[name] for name in (*IDENTITY, *_PLACE_FIELDS) if name in request}
    return JobState(**from_state, **from_request, key=key)


def partial_curves(key: str) -> Run | None:
    """Return the curves so far of a job that runs, about a second old at most; None if there are
    none."""
    try:
        record, tensors = read(Job(key).live)
        config = from_stored(registry.experiment(record["experiment"]).config, record["config"])
        info = {name: record[name] for name in ("version", "step", "total", "loss")}
    except (OSError, Damaged, ValueError, TypeError, KeyError):  # KeyError: it is the file of a run
        return None
    return Run(config, tensors, info, record["digest"], finished=False)


def cancel(key: str, status: str = CANCELLED[0], visitor: str | None = None) -> bool:
    """Cancel the job; a running one stops at its next report. Its checkpoint is kept for a while,
    unless the job is left.

    Returns whether it is cancelled: it goes on if others than `visitor` have requested it. With
    None, for whoever is at the machine, it is cancelled in any case. Raises `BadSetting` for a
    visitor who has not requested it.
    """
    limits.check_writable()
    job = Job(key)
    with queue_lock():  # meanwhile nobody requests it, and no worker writes that it waits
        ended = job.state()["status"] in ENDED
        if visitor is not None and ended and owners.is_allowed(key, visitor):
            return True  # too late: the run is theirs, and they may delete it
        if other_owners := owners.other_owners(key, visitor):
            job.update_request(visitor=min(other_owners))  # it keeps its place in the queue
            owners.remove(key, visitor)
            return False
        with hold_lock(job.folder / "lock") as has_lease:
            if not has_lease:
                if job.folder.is_dir():
                    job.request_cancel(status)
            elif job.request() and job.state()["status"] not in ENDED:
                job.write_state(**job.cancelled_state(status))
        owners.remove(key, visitor)
    return True


def watch(key: str, who: str) -> None:
    """Note that the page or terminal called `who` watches the job."""
    with suppress(OSError):  # on a full disk the note before counts
        private_folder(Job(key).watched)
        (Job(key).watched / who).touch(mode=0o600)


def unwatch(key: str, who: str, visitor: str | None = None) -> None:
    """Note that `who` watches the job no more. If nobody else does it is left: cancelled with that
    status."""
    with suppress(OSError, BadSetting):  # not the visitor's job, or it cannot be cancelled now
        (Job(key).watched / who).unlink(missing_ok=True)
        ages = [time.time() - path.stat().st_mtime for path in Job(key).watched.glob("*")]
        if not any(age < WATCHED for age in ages):
            cancel(key, CANCELLED[1], visitor)


def interrupt(key: str) -> None:
    """Stop the job at a checkpoint, for the command line; it continues when requested again. A
    queued job is cancelled, unless others have requested it."""
    job_state = state(key)
    if job_state is None:
        return
    if job_state.status == "running":
        with suppress(psutil.Error):  # the process has ended
            process = psutil.Process(int(job_state.pid))
            if abs(process.create_time() - job_state.born) < 1:  # else another one has its pid
                process.terminate()
    elif job_state.status == "queued" and owners.is_allowed(key, ""):
        cancel(key, visitor="")
