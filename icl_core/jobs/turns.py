"""Whose turn it is: visitors who share the workers take one run each in turn, however many each has
asked for.

Each job gets the number of its turn when it is asked for: one more than the last of its visitor's
jobs that wait or train, but never less than the turn that is being served. So nobody saves up turns
by not asking, a visitor with one job is served before the second job of everybody else, and a job's
place never falls behind those that its visitor asks for later. Jobs for `later`, as those of sweeps
are, take turns behind all others.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from icl_core.jobs.reading import WAITING


class Job(Protocol):
    """What decides about turns."""

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
    """The turn of what `visitor` asks for now."""
    beside = [job for job in jobs if not job.ended and job.later == later]
    served = [job.turn for job in beside if job.status not in WAITING]
    now = max(served) if served else min((job.turn for job in beside), default=1)
    return max(now, *(job.turn + 1 for job in beside if job.visitor == visitor), 1)


def count_jobs(visitor: str, jobs: Sequence[Job]) -> int:
    """How many runs that wait or train are this visitor's."""
    return sum(job.visitor == visitor and not job.ended for job in jobs)
