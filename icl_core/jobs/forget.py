"""Delete the folders of old jobs. The latest that have ended stay, for their messages and for the
final states that a longer run continues from. Called by `queue.submit` and by workers."""

import shutil
import time
from collections.abc import Mapping
from contextlib import suppress

from icl_core.jobs.folder import Job, jobs_folder
from icl_core.jobs.reading import CANCELLED

MAX_ENDED = 100  # jobs that have ended otherwise than by failing
MAX_FAILED = 400  # more, as nothing else records a failure
MAX_KEPT = 20  # cancelled jobs that can go on from where they were
LARGEST_KEPT = 2**28  # bytes of all that has been trained of these
_UNREQUESTED_NAMES = {"watched", "lock", "phases", "ends"}  # all that is in a folder nobody needs
_UNREQUESTED_AGE = 60.0  # seconds after which a folder without a request is deleted


def forget_ended(ended: Mapping[str, str]) -> None:
    """Delete all but the latest of the jobs that have ended, given as status by key. The caller
    holds the queue's lock: nobody requests one meanwhile."""
    failed = [key for key, status in ended.items() if status == "failed"]
    others = [key for key, status in ended.items() if status != "failed"]
    for keys, limit in ((failed, MAX_FAILED), (others, MAX_ENDED)):
        if len(keys) > limit:
            # those that everybody had left go first
            order = sorted(keys, key=lambda key: (ended[key] != "left", *_end_time(key)))
            for key in order[:-limit]:
                shutil.rmtree(Job(key).folder, ignore_errors=True)


def forget_kept(ended: Mapping[str, str]) -> None:
    """Delete what has been trained of cancelled jobs, the oldest first, where it is too much. The
    jobs that have ended are given as status by key; the caller holds the queue's lock."""
    kept = [
        Job(key)
        for key, status in ended.items()
        if status == CANCELLED[0] and Job(key).state().get("kept")
    ]
    size = 0
    newest_first = sorted(kept, key=lambda job: _end_time(job.key), reverse=True)
    for count, job in enumerate(newest_first, 1):
        size += job.training_size()
        if count > MAX_KEPT or size > LARGEST_KEPT:
            with suppress(OSError):  # the next call does it
                job.write_state(status=CANCELLED[0])


def forget_unrequested() -> None:
    """Delete the folders without a request: of a page that watched a job whose request was refused,
    or of a helper that wrote for a job that was forgotten. The caller holds the queue's lock."""
    with suppress(OSError):  # there is no folder of jobs yet
        for folder in jobs_folder().iterdir():
            with suppress(OSError):  # not a folder, or deleted meanwhile
                if abs(time.time() - folder.stat().st_mtime) <= _UNREQUESTED_AGE:
                    continue
                if {path.name for path in folder.iterdir()} <= _UNREQUESTED_NAMES:
                    shutil.rmtree(folder, ignore_errors=True)


def _end_time(key: str) -> tuple[bool, float]:
    """Return a sort key for the time at which a job ended. A time in the future, from before the
    clock was set back, sorts as long ago."""
    with suppress(OSError):  # deleted meanwhile: sorts first
        changed = (Job(key).folder / "state.json").stat().st_mtime
        return changed <= time.time() + _UNREQUESTED_AGE, changed
    return False, 0.0
