"""Which jobs that have ended stay, for their messages and for what a longer run goes on from: the
latest."""

import shutil
import time
from collections.abc import Mapping
from contextlib import suppress

from icl_core.jobs.folder import Job, jobs_folder

KEPT, KEPT_FAILED = 100, 400  # of those that failed nothing else tells
_NOT_ASKED = {"watched", "lock", "phases", "ends"}  # a folder of these alone
_UNASKED = 60.0  # seconds after which a folder that only somebody's look has made is nobody's


def forget_ended(ended: Mapping[str, str]) -> None:
    """Drop all but the latest of these jobs, which have ended: their status by key. Under the
    queue's lock: nobody asks for one meanwhile."""
    failed = [key for key, status in ended.items() if status == "failed"]
    others = [key for key, status in ended.items() if status != "failed"]
    for some, most in ((failed, KEPT_FAILED), (others, KEPT)):
        if len(some) > most:
            order = sorted(
                some, key=lambda key: (ended[key] != "left", *_end(key))
            )  # nobody waited for those first
            for key in order[:-most]:
                shutil.rmtree(Job(key).folder, ignore_errors=True)


def forget_unrequested() -> None:
    """Drop the folders in which nothing is asked for: a page looked, and its request was refused,
    or a helper left something for a job that was forgotten. Under the queue's lock."""
    with suppress(OSError):
        for folder in jobs_folder().iterdir():
            with suppress(OSError):  # a file, or gone meanwhile
                idle = abs(time.time() - folder.stat().st_mtime) > _UNASKED
                if idle and {path.name for path in folder.iterdir()} <= _NOT_ASKED:
                    shutil.rmtree(folder, ignore_errors=True)


def _end(key: str) -> tuple[bool, float]:
    """When it ended; in a future that never came, before a clock was set back, counts
    as long ago."""
    with suppress(OSError):
        at = (Job(key).folder / "state.json").stat().st_mtime
        return at <= time.time() + _UNASKED, at
    return False, 0.0
