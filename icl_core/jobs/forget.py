"""Forget old jobs. The latest that have ended stay, for their messages and for the final states
that a longer run continues from. Called by `queue.submit` and by workers, within a transaction."""

import shutil
import time
from collections.abc import Iterable
from contextlib import suppress

from icl_core.jobs import table
from icl_core.jobs.folder import Job, jobs_folder
from icl_core.jobs.state import CANCELLED
from icl_core.jobs.table import Row

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
