"""The queue of training jobs as pages and the command line use it: submit, watch, cancel. There is
one job for each config, whoever submits it.

Each change is one transaction of the database. A page submits jobs and reads states; workers
(`icl_core.jobs.worker`) train in processes of their own, so that neither a rerun of the page nor a
restart of the server ends a training. Call `spawn.ensure_workers()` whenever you look at a job: it
starts workers for what waits, also for what a killed worker has left.

A job waits until its estimated memory fits beside that of the jobs that train on this machine; no
job overtakes one that waits for memory, as that one would wait for ever. On GPUs each worker has
the memory of its own. Of the jobs that have ended the latest stay, for their messages and for the
final states that a longer run continues from.
"""

import shutil
import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from icl_core import registry
from icl_core.contract.experiment import Run
from icl_core.contract.knobs import BadSetting
from icl_core.contract.settings_io import from_stored
from icl_core.jobs import folder, starts, table
from icl_core.jobs.estimate import estimate_seconds
from icl_core.jobs.folder import FULL, Job, disk_full, hold_lock, is_put_off, jobs_folder
from icl_core.jobs.table import CANCELLED, LEFT, WAITING, JobState, Row
from icl_core.machine import containers, device, limits
from icl_core.runs import code, database, owners, store
from icl_core.runs.file import Damaged, read
from icl_core.runs.request import Request


def check_preconditions() -> None:
    """Raise `BadSetting` if nothing may be trained here, or if an environment variable names a
    device, a precision or a scheduler that there cannot be."""
    limits.check_writable()
    if address := folder.scheduler():
        folder.check_scheduler(address)
    else:
        table.check_environment()  # the device of another machine is not known here


WATCHED = 3.0  # seconds after a look in which its page or terminal counts as watching
_STATE_FIELDS = JobState.__dataclass_fields__.keys()
# Jobs that waited or had ended at the last call of `states`, by key: their row, and their state
# with the position.
_placed_states: dict[str, tuple[Row, JobState]] = {}


def submit(request: Request, later: bool = False, visitor: str = "") -> str:
    """Request a run and return its key. Nothing happens if the store has the run; a job that waits
    or runs is shared by all who request it.

    With `later` the job is queued behind all that are not, as the many runs of a sweep are. A job
    that failed or was cancelled is queued anew; a request to cancel it is withdrawn. Raises
    `BadSetting` for settings out of range, for a run that the cache can never keep and for what a
    `visitor` of a page may not request, `OSError` if the request cannot be written.
    """
    check_preconditions()
    checked = from_stored(request.experiment.config, request.settings)
    request = Request(request.id, checked)
    key = request.key
    if visitor:
        limits.check_length(estimate_seconds(request))
    with database.transaction():
        job_state = _state(key)
        all_states = states()
        # Workers forget jobs, too, but not while they are busy, maybe for hours; and a look at the
        # queue costs as much as there are jobs.
        forget_ended([CANCELLED], spared=key)
        turn = table.next_turn(visitor, later, all_states)
        place = {"visitor": visitor, "turn": turn, "later": later}
        is_stored = store.default().exact(request.id, key) is not None
        if not is_stored and (job_state is None or job_state.ended):
            store.default().check_room(store.default().least_size(request))
            if visitor:
                limits.check_queued(table.count_jobs(visitor, all_states))
            owners.remove_all(key)
            owners.add(key, visitor)
            row = {
                "experiment": request.id,
                "version": request.version,
                "config": request.settings,
                "environment": table.current_environment(),
                "asked": time.time_ns(),
            }
            Job(key).enqueue({**row, **place})
        elif job_state is not None and not job_state.ended:
            owners.add(key, visitor)
            table.write_cancel(key, "")
            if job_state.status in WAITING:
                table.write_environment(key, table.current_environment())
            is_earlier = (later, turn) < (job_state.later, job_state.turn)
            if job_state.status in WAITING and is_earlier:
                table.move(key, **place)  # the first turn of all who requested it counts
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
    them those with `later`. A job that waits is the same object as at the last call if nothing of
    it has changed."""
    queue_states: list[JobState] = []
    ready = 0
    obstacle = folder.read_cluster_status().message or (FULL if disk_full() else "")
    obstacle = obstacle or starts.obstacles.get(jobs_folder(), "")
    for row in table.all_rows():
        before_row, job_state = _placed_states.get(row.key, (None, None))
        if job_state is None or before_row is not row:
            job_state = _state_of(row)
        ready += is_ready(job_state)
        if job_state.status in WAITING:
            message = _asked_elsewhere(job_state) or row.state.get("message") or obstacle
            position = max(ready, 1)
            if (job_state.position, job_state.message) != (position, message):
                job_state = replace(job_state, position=position, message=message)
        if job_state.status == "queued" or job_state.ended:
            _placed_states[row.key] = row, job_state
        else:  # it can change with its lock, too
            _placed_states.pop(row.key, None)
        queue_states.append(job_state)
    if len(_placed_states) > 2 * len(queue_states) + 100:
        _placed_states.clear()
    return queue_states


def is_ready(job: JobState) -> bool:
    """Return whether a worker of the code here may take the job now. A job of other code, or of a
    newer version, waits for a worker of that."""
    try:
        version = registry.version(job.experiment)
    except BadSetting:  # there is no such experiment
        version = 0
    is_ours = job.version <= version and table.is_for_code_here(job.environment)
    return is_ours and job.status in WAITING and not is_put_off(job.retry_at)


def _asked_elsewhere(job: JobState) -> str:
    """Return in words for which other code a job waits; "" if it is for the code here."""
    if table.is_for_code_here(job.environment):
        return ""
    identity = job.environment[table.CODE]
    asked = (
        f"it was asked for by {code.described(identity)}, with version {job.version} of "
        f"{job.experiment}"
    )
    if code.is_gone(identity):
        return f"{asked}. That folder is gone, so nothing will train it: cancel it"
    return f"{asked}, and waits for a worker of that; here is {code.name()}"


def _state(key: str) -> JobState | None:
    """Return the state of a job without its position in the queue; None also if the database cannot
    be read now."""
    with suppress(OSError):
        if row := table.find(key):
            return _state_of(row)
    return None


def _state_of(row: Row) -> JobState:
    stored = row.state
    job = Job(row.key)
    if stored["status"] == "running" and not job.is_locked():
        stored = job.state()  # it may have ended between the two looks
        if stored["status"] == "running":
            stored = {**stored, "status": "interrupted", "seconds_left": None}
    elif stored["status"] == "running" and table.cancel_request(row.key):
        stored = {**stored, "status": "cancelling"}  # its worker looks between steps
    fields = {**stored, **row.request}
    return JobState(key=row.key, **{name: fields[name] for name in fields if name in _STATE_FIELDS})


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


def cancel(key: str, how: str = CANCELLED, visitor: str | None = None) -> bool:
    """Cancel the job; a running one stops at its next report. Its checkpoint is kept for a while,
    unless `how` is LEFT.

    Returns whether it is cancelled: it goes on if others than `visitor` have requested it. With
    None, for whoever is at the machine, it is cancelled in any case. Raises `BadSetting` for a
    visitor who has not requested it.
    """
    limits.check_writable()
    job = Job(key)
    job.make_room()
    # The lease is held until the transaction is on the disk and what was trained is deleted: until
    # then no worker may begin anew.
    with ExitStack() as lease, database.transaction():
        has_lease = lease.enter_context(hold_lock(job.folder / "lock"))
        job_state = _state(key)
        ended = job_state is not None and job_state.ended
        if visitor is not None and ended and owners.is_allowed(key, visitor):
            return True  # too late: the run is theirs, and they may delete it
        if other_owners := owners.other_owners(key, visitor):
            table.move(key, visitor=min(other_owners))  # it keeps its place in the queue
            owners.remove(key, visitor)
            return False
        if job_state is not None and not ended:
            is_held = not (has_lease and has_lease())
            # A job that waits may be held for a moment only, by somebody who looks or cancels, or
            # by a worker that has just taken it and finds the request to cancel.
            if not is_held or job_state.status in WAITING:
                job.write_state(**job.cancelled_state(how))
            if is_held:
                table.write_cancel(key, how)
        owners.remove(key, visitor)
    return True


def watch(key: str, who: str) -> None:
    """Note that the page or terminal called `who` watches the job."""
    with suppress(OSError, BadSetting):  # on a full disk the note before counts
        table.see(key, who, WATCHED / 2)


def unwatch(key: str, who: str, visitor: str | None = None) -> None:
    """Note that `who` watches the job no more. If nobody else does it is cancelled as
    left."""
    with suppress(OSError, BadSetting):  # not the visitor's job, or it cannot be cancelled now
        if all(time.time() - seen >= WATCHED for seen in table.leave(key, who)):
            cancel(key, LEFT, visitor)


def interrupt(key: str) -> None:
    """Stop the job at a checkpoint, for the command line; it continues when requested again. A
    queued job is cancelled, unless others have requested it."""
    job_state = state(key)
    if job_state is None:
        return
    if job_state.status == "running":
        with suppress(psutil.Error):  # it ends by itself meanwhile
            if process := starts.living_process(int(job_state.pid), job_state.born):
                process.terminate()
    elif job_state.status == "queued" and owners.is_allowed(key, ""):
        cancel(key, visitor="")


WAITS = "it needs more memory than is left beside what is in training"


def fits_memory(key: str) -> bool:
    """Return whether this machine has memory for one more training of the job. The first job always
    fits: settings that are larger than the machine are refused when they are made."""
    if device.is_gpu():
        return True
    used = 0
    for state in states():
        if _is_in_training(state, key):
            job = Job(state.key)
            used += (estimated_memory(job) + containers.WORKER) * _count_trainings(job)
    return not used or used + estimated_memory(Job(key)) <= device.memory()


def write_memory_wait(state: JobState) -> None:
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


def _is_in_training(state: JobState, key: str) -> bool:
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


MAX_ENDED = 100  # jobs that have ended otherwise than by failing
MAX_FAILED = 400  # more, as nothing else records a failure
MAX_KEPT = 20  # cancelled jobs that can go on from where they were
LARGEST_KEPT = 2**28  # bytes of all that has been trained of these
_UNREQUESTED_NAMES = {"lock", "phases", "ends"}  # all that is in a folder nobody needs
_UNREQUESTED_AGE = 60.0  # seconds after which such a folder without a job is deleted
_TRAINED_NAMES = {"checkpoint.safetensors", "live.safetensors", "preview.safetensors"}
_LOST_AGE = 7 * 86400.0  # seconds after which what was trained of a job that is lost is deleted


def forget_ended(statuses: Iterable[str], spared: str = "") -> None:
    """Forget all but the latest of the jobs that have ended with one of `statuses`, and what has
    been trained of cancelled ones where it is too much. Never the job `spared`. Raises
    `OSError`."""
    ended = [
        row for row in table.all_rows() if row.state["status"] in statuses and row.key != spared
    ]
    failed = [row for row in ended if row.state["status"] == "failed"]
    others = [row for row in ended if row.state["status"] != "failed"]
    for rows, limit in ((failed, MAX_FAILED), (others, MAX_ENDED)):
        # those that everybody had left go first
        order = sorted(rows, key=lambda row: (not row.state.get("left"), *_end_time(row)))
        for row in order[: max(0, len(rows) - limit)]:
            # within the transaction: once it has ended, the job may be asked for anew
            shutil.rmtree(Job(row.key).folder, ignore_errors=True)
            table.delete(row.key)
    _forget_kept(others)


def _forget_kept(ended: Iterable[Row]) -> None:
    """Delete what has been trained of cancelled jobs, the oldest first, where it is too much."""
    kept = [row for row in ended if row.state["status"] == CANCELLED and row.state.get("kept")]
    size = 0
    for count, row in enumerate(sorted(kept, key=_end_time, reverse=True), 1):
        job = Job(row.key)
        size += job.training_size()
        if count > MAX_KEPT or size > LARGEST_KEPT:
            # within the transaction: once it has ended, the job may be asked for anew
            job.delete_training()
            job.write_state(status=CANCELLED)


def forget_unrequested() -> None:
    """Delete the folders without a job, as of a helper that wrote for one that was forgotten."""
    requested = {row.key for row in table.all_rows()}
    with suppress(OSError):  # there is no folder of jobs yet
        for folder in jobs_folder().iterdir():
            with suppress(OSError):  # not a folder, or deleted meanwhile
                if folder.name in requested:
                    continue
                age = abs(time.time() - folder.stat().st_mtime)
                if age <= _UNREQUESTED_AGE:
                    continue
                names = {path.name for path in folder.iterdir()}
                is_of_job = bool(names & _TRAINED_NAMES)
                if names <= _UNREQUESTED_NAMES or (is_of_job and age > _LOST_AGE):
                    shutil.rmtree(folder, ignore_errors=True)
    table.delete_lost_watchers(time.time() - _LOST_AGE)


def _end_time(row: Row) -> tuple[bool, float]:
    """Return a sort key for the time at which a job ended. A time in the future, from before the
    clock was set back, sorts as long ago."""
    return row.changed <= time.time() + _UNREQUESTED_AGE, row.changed
