"""Turns: visitors who share the workers get one run each in turn, however many each has requested.

Each job gets the number of its turn when it is requested: one more than the last turn of its
visitor's jobs that wait or train, but never less than the turn that is being served. So nobody
saves up turns by not requesting, a visitor with one job comes before the second job of everybody
else, and a job never falls behind those that its visitor requests afterwards. Jobs with `later`
(those of sweeps) take turns behind all others. Called by `queue.submit` and by sweeps.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from icl_core.jobs.state import WAITING


class Job(Protocol):
    """The fields of a `JobState` that decide about turns."""

    @property
    def visitor(self) -> str: ...
    @property
    def turn(self) -> int: ...
    @property
    def later(self) -> bool: ...
    @property
    def status(self) -> str: ...
    @property
    def ended(self) -> bool: ...


def next_turn(visitor: str, later: bool, jobs: Iterable[Job]) -> int:
    """Return the turn of a job that `visitor` requests now."""
    competing = [job for job in jobs if not job.ended and job.later == later]
    served = [job.turn for job in competing if job.status not in WAITING]
    current = max(served) if served else min((job.turn for job in competing), default=1)
    return max(current, *(job.turn + 1 for job in competing if job.visitor == visitor), 1)


def count_jobs(visitor: str, jobs: Sequence[Job]) -> int:
    """Return how many jobs of this visitor wait or train."""
    return sum(job.visitor == visitor and not job.ended for job in jobs)
