"""Training jobs as pages and the command line see them: ask, watch, cancel. One job a config,
whoever asks.

A page writes a request and reads states; workers (`icl_core.jobs.worker`) train in processes of
their own, so that neither a rerun of the page nor a restart of the server ends a training. Call
`start.ensure_workers()` whenever you look at a job: it starts workers for what waits, also for what
a killed worker has left behind.
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
    ASKED,
    FULL,
    Job,
    disk_full,
    hold_lock,
    is_put_off,
    jobs_folder,
    queue_lock,
)
from icl_core.jobs.reading import CANCELLED, ENDED, TOLD, WAITING, delete_file, plain_file
from icl_core.jobs.state import JobState
from icl_core.machine import limits
from icl_core.runs import owners, store
from icl_core.runs.disk import private_folder
from icl_core.runs.file import IDENTITY, Damaged, read

_PLACES: dict[str, tuple[Any, Any]] = {}  # the jobs that waited at the last look, before and after
_PLACE = ("visitor", "turn", "later")  # what of a request decides when it is its turn
WATCHED = 3.0  # seconds after a look in which somebody counts as watching


def submit(experiment_id: str, config: Any, later: bool = False, visitor: str = "") -> str:
    """Ask for a run; the key. Does nothing if the store has it; two who ask for the same share it.

    `later`: behind all that are not, as the many runs of a sweep are. A job that failed or was
    cancelled is queued anew; one that is about to be goes on. Raises `BadSetting` for settings out
    of range, for a run that the cache can never keep and for what a `visitor` of a page may not ask
    for, `OSError` if the request cannot be written.
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
        known, others = _state(key), states()
        # workers forget, too, but not while they are busy, for hours maybe; a look costs as much as
        # there are folders
        forget.forget_ended(
            {
                each.key: each.status
                for each in others
                if each.status in CANCELLED and each.key != key
            }
        )
        place = {
            "visitor": visitor,
            "turn": turns.next_turn(visitor, later, others),
            "later": later,
        }
        if store.default().exact(experiment_id, key) is None and (known is None or known.ended):
            if visitor:
                limits.check_queued(turns.count_jobs(visitor, others))
            owners.remove_all(key)
            owners.add(key, visitor)
            what = {"experiment": experiment_id, "version": version, "config": values}
            Job(key).ask({**what, "asked": time.time_ns(), **place})
            (jobs_folder() / ASKED).touch(mode=0o600)  # wakes the worker that is waiting
        elif known is not None and not known.ended:
            owners.add(key, visitor)
            delete_file(Job(key).cancel)
            if known.status in WAITING and (later, place["turn"]) < (known.later, known.turn):
                Job(key).move(**place)  # it comes with the first turn of those who want it
    return key


def state(key: str) -> JobState | None:
    """The state of one job; None if nobody asked for it."""
    known = _state(key)
    if known is not None and known.status in WAITING:
        return next((queued for queued in states() if queued.key == key), known)
    return known


def states() -> list[JobState]:
    """All jobs in the order of the queue: by turns, in each the oldest request first; behind them
    those for `later`."""
    found, waiting = [], 0
    why = scheduler_address.read_status().message or (FULL if disk_full() else "")
    for _, known in sorted(listing.list_jobs(jobs_folder(), _asked, _settled), key=itemgetter(0)):
        waiting += is_ready(known)
        found.append(_placed(known, max(waiting, 1), why) if known.status in WAITING else known)
    if len(_PLACES) > 2 * waiting + 100:
        _PLACES.clear()
    return found


def is_ready(job: JobState) -> bool:
    """Whether a worker of this version may take the job now. One of a version that is yet to come
    here trains itself the jobs that were asked for by it."""
    try:
        version = registry.version(job.experiment)
    except BadSetting:  # there is no such experiment
        version = 0
    return job.status in WAITING and not is_put_off(job.retry_at) and job.version <= version


def _placed(known: JobState, position: int, why: str) -> JobState:
    """The state with its place in the queue, and `why` all wait, if they do; the same object as at
    the last look if nothing of that has changed."""
    before, told = _PLACES.get(known.key), (position, known.message or why)
    if before is None or before[0] is not known or (before[1].position, before[1].message) != told:
        before = _PLACES[known.key] = known, replace(known, position=position, message=told[1])
    return before[1]


def _asked(key: str) -> tuple[tuple[bool, int, float, str], JobState] | None:
    """Its place in the order of the queue, and its state."""
    request, known = Job(key).request(), _state(key)
    return ((known.later, known.turn, request["asked"], key), known) if request and known else None


def _settled(told: tuple[Any, JobState]) -> bool:
    """Whether the state is as its file says. Of what runs, or has been left, the lock tells."""
    return told[1].status == "queued" or told[1].ended


def _state(key: str) -> JobState | None:
    job = Job(key)
    request = job.request()
    if request is None:
        return None
    told = job.state()
    if told["status"] == "running" and not job.locked():
        told = job.state()  # it may have ended between the two looks
        if told["status"] == "running":
            told |= {"status": "interrupted", "seconds_left": None}
    elif told["status"] == "running" and job.cancelled():
        told |= {"status": "cancelling"}  # its worker looks between steps
    known = {
        name: told[name] for name in TOLD if name in told and name in JobState.__dataclass_fields__
    }
    return JobState(
        **known,
        **{name: request[name] for name in (*IDENTITY, *_PLACE) if name in request},
        key=key,
    )


def partial_curves(key: str) -> Run | None:
    """The curves so far of a run that is still going, at most about a second old; None if there are
    none."""
    if not plain_file(Job(key).live):
        return None
    try:
        record, tensors = read(Job(key).live)
        config = from_stored(registry.experiment(record["experiment"]).config, record["config"])
        info = {name: record[name] for name in ("version", "step", "total", "loss")}
    except (OSError, Damaged, ValueError, TypeError, KeyError):  # KeyError: it is the file of a run
        return None
    return Run(config, tensors, info, record["digest"], finished=False)


def cancel(key: str, status: str = CANCELLED[0], visitor: str | None = None) -> bool:
    """Give the job up and discard its checkpoint; a running one stops at its next report. Whether
    it was given up: it goes on for others who asked for it than `visitor`; None is whoever is at
    the machine. Raises `BadSetting` for a visitor who has not asked for it."""
    limits.check_writable()
    job = Job(key)
    with queue_lock():  # nobody else asks for it meanwhile, and no worker says that it waits
        if (
            visitor is not None
            and job.state()["status"] in ENDED
            and owners.is_allowed(key, visitor)
        ):
            return True  # too late: what came of it is theirs, and they may delete it
        if others := owners.other_owners(key, visitor):
            job.move(visitor=min(others))  # whose it is now, in the same place
            owners.remove(key, visitor)
            return False
        with hold_lock(job.folder / "lock") as mine:
            if not mine:
                if job.folder.is_dir():
                    job.give_up(status)
            elif job.request() and job.state()["status"] not in ENDED:
                job.tell(status=status)
        owners.remove(key, visitor)
    return True


def watch(key: str, who: str) -> None:
    """Note that the page or terminal called `who` watches the job."""
    with suppress(OSError):
        private_folder(Job(key).watched)
        (Job(key).watched / who).touch(mode=0o600)


def unwatch(key: str, who: str, visitor: str | None = None) -> None:
    """`who` watches the job no more. Where nobody else does it is given up, as by `cancel`."""
    with suppress(OSError, BadSetting):
        delete_file(Job(key).watched / who)
        if not any(
            time.time() - path.stat().st_mtime < WATCHED for path in Job(key).watched.glob("*")
        ):
            cancel(key, CANCELLED[1], visitor)


def interrupt(key: str) -> None:
    """Stop the job at a checkpoint, for the command line; one that has not begun is given up, but
    for others who asked for it. It goes on when asked for again."""
    known = state(key)
    if known is not None and known.status == "running":
        with suppress(psutil.Error):
            process = psutil.Process(int(known.pid))
            if abs(process.create_time() - known.born) < 1:  # not one that took over the number
                process.terminate()
    elif known is not None and known.status == "queued" and owners.is_allowed(key, ""):
        cancel(key, visitor="")
