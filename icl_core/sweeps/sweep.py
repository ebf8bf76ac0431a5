"""A sweep: the runs of a grid, asked for through the job queue, each made and stored once.

A sweep needs of the queue no more than to submit a run, to see the states of all, and to cancel and
interrupt one by its key.
"""

import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from icl_core import registry
from icl_core.contract.knobs import BadSetting
from icl_core.jobs import queue, table
from icl_core.jobs.estimate import estimates
from icl_core.jobs.table import CANCELLED, WAITING
from icl_core.machine import limits
from icl_core.runs import owners, store
from icl_core.runs.file import canonical
from icl_core.runs.header import key_of, stored_settings
from icl_core.runs.request import Request
from icl_core.runs.store import Header
from icl_core.sweeps.setting_grid import Cell, Grid

DONE = "done"  # what may have become of a cell
RUNNING = "running"
QUEUED = "waiting"
FAILED = "failed"
MISSING = "missing"
SOME = 12  # cells whose times are estimated, to stand for all
GONE = "the run was made but is no longer in the cache"


@dataclass(frozen=True, eq=False)
class Outcome:
    """What has become of a cell.

    `status` is DONE, and `header` has the run; RUNNING or QUEUED, and `job` has its state; FAILED,
    and `message` says why; or MISSING: nobody has asked for the run, it was cancelled, or it has
    been dropped since.
    """

    cell: Cell
    status: str
    message: str = ""
    header: Header | None = None
    job: queue.JobState | None = None

    @property
    def measured(self) -> Mapping[str, Mapping[str, Any]]:
        """The records of the run's metrics as its file has them, `value` and `error` among them, by
        claim."""
        records = self.header.info.get("metrics", ()) if self.header else ()
        return {
            record["claim"]: record
            for record in records
            if "claim" in record and record["value"] is not None
        }


@dataclass(frozen=True, eq=False)
class SweepStatus:
    """How far a sweep is. `seconds_left` is None where no run tells how long one takes."""

    outcomes: tuple[Outcome, ...]
    seconds_left: float | None

    @property
    def counts(self) -> Counter[str]:
        """How many cells have each status."""
        return Counter(outcome.status for outcome in self.outcomes)

    @property
    def ended(self) -> bool:
        """Whether no run is waiting or running."""
        return not self.counts[RUNNING] + self.counts[QUEUED]

    @property
    def metrics(self) -> tuple[str, ...]:
        """The ids of the claims that some run has measured."""
        ids: dict[str, None] = {}
        for outcome in self.outcomes:
            ids.update(dict.fromkeys(outcome.measured))
        return tuple(ids)


class Sweep:
    """The runs of a grid. It holds nothing but the grid: another sweep of the same grid finds all
    runs that are done."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self._keys = [cell.config and key_of(grid.experiment, cell.config) for cell in grid.cells]
        self._refused: dict[str, str] = {}

    def ask(self, visitor: str = "", among: Collection[int] | None = None) -> None:
        """Ask for every run that is neither stored, nor asked for, nor known to fail; of the cells
        `among` all by their indices, if these are given.

        Raises `OSError` if the queue cannot be written, and `BadSetting`, with nothing asked for,
        if none of the runs can be trained or they are more than a page's `visitor` may have in the
        queue.
        """
        outcomes = self.look().outcomes
        missing = [
            (key, outcome.cell)
            for index, (key, outcome) in enumerate(zip(self._keys, outcomes, strict=True))
            if key and outcome.status == MISSING and (among is None or index in among)
        ]
        if missing:
            queue.check_preconditions()
        if visitor:
            limits.check_queued(table.count_jobs(visitor, queue.states()), len(missing))
        for key, cell in missing:
            try:
                queue.submit(
                    Request(self.grid.experiment, cell.config), later=True, visitor=visitor
                )
            except BadSetting as problem:  # a run that can never be kept, or takes too long
                self._refused[key] = str(problem)

    @property
    def refused(self) -> tuple[str, ...]:
        """Why runs were refused when they were asked for, each reason once."""
        return tuple(dict.fromkeys(self._refused.values()))

    def look(self, workers: int = 1) -> SweepStatus:
        """Return how far every cell is, with `workers` trainings at a time. Reads headers and
        states, no tensors."""
        runs = self._runs()
        states = {state.key: state for state in queue.states()}
        outcomes = tuple(
            self._outcome(cell, key, runs, states.get(key or ""))
            for cell, key in zip(self.grid.cells, self._keys, strict=True)
        )
        return SweepStatus(outcomes, self._seconds_left(outcomes, workers))

    def cost(self) -> tuple[int, float | None]:
        """Return how many runs are still to be made, and the seconds that they take on one idle
        core; None if no run tells."""
        remaining = [
            outcome
            for outcome in self.look().outcomes
            if outcome.status in (MISSING, QUEUED, RUNNING)
        ]
        return len(remaining), self._seconds({outcome.cell.config: 1.0 for outcome in remaining})

    def cancel(self, visitor: str | None = None) -> None:
        """Cancel the runs that are not done and that `visitor` asked for; None, at the machine,
        cancels all."""
        for state in self._active_jobs():
            if owners.is_allowed(state.key, visitor):
                queue.cancel(state.key, visitor=visitor)

    def may_cancel(self, visitor: str | None) -> bool:
        """Return whether `visitor` asked for any run that is not done."""
        return any(owners.is_allowed(state.key, visitor) for state in self._active_jobs())

    def interrupt(self) -> None:
        """Stop all trainings at checkpoints, for the command line; `ask` goes on from there."""
        for state in self._active_jobs():
            # the waiting runs first, or a worker that stops would take the next
            if state.status == "queued" and owners.is_allowed(state.key, ""):
                queue.cancel(state.key, visitor="")
        for state in self._active_jobs():
            queue.interrupt(state.key)

    def _active_jobs(self) -> list[queue.JobState]:
        return [state for state in queue.states() if state.key in self._keys and not state.ended]

    def _runs(self) -> dict[str, list[Header]]:
        """Return the stored runs by all settings but the number of seeds: a run of more seeds holds
        those of fewer."""
        runs: dict[str, list[Header]] = {}
        for header in store.default().every(self.grid.experiment):
            runs.setdefault(_without_seeds(header.config), []).append(header)
        return runs

    def _outcome(
        self,
        cell: Cell,
        key: str | None,
        runs: Mapping[str, Sequence[Header]],
        job: queue.JobState | None,
    ) -> Outcome:
        if key is None or key in self._refused:
            return Outcome(cell, FAILED, cell.refused or self._refused[key or ""])
        same_settings = runs.get(_without_seeds(stored_settings(cell.config)), ())
        header = _smallest_run(same_settings, key, cell.config)
        if header:
            return Outcome(cell, DONE, header.info.get("message", ""), header)
        if job is None:
            return Outcome(cell, MISSING)
        if job.status == "done":
            return Outcome(cell, MISSING, GONE, job=job)
        if job.status == CANCELLED:
            status = MISSING
        elif job.status == "failed":
            status = FAILED
        elif job.status in WAITING:
            status = QUEUED
        else:
            status = RUNNING
        return Outcome(cell, status, job.message, job=job)

    def _seconds_left(self, outcomes: Sequence[Outcome], workers: int) -> float | None:
        """Return how long the active runs still take; None if no run tells.

        A running job tells by itself; the time of others is estimated from their settings.
        """
        jobs = [
            (outcome.cell.config, outcome.job)
            for outcome in outcomes
            if outcome.status in (RUNNING, QUEUED) and outcome.job
        ]
        measured: list[float] = []  # seconds that running jobs still take
        unfinished_shares: dict[Any, float] = {}  # of the other runs, by config
        for config, job in jobs:
            if job.status == "running" and job.seconds_left is not None:
                measured.append(job.seconds_left / max(1, job.together))
            else:
                unfinished_shares[config] = 1 - min(1.0, job.step / max(1, job.total))
        estimated = self._seconds(unfinished_shares)
        if estimated is None:
            return None
        at_once = max(1, min(workers, len(jobs)))
        return max((sum(measured) + estimated) / at_once, *measured, 0.0)

    def _seconds(self, shares: Mapping[Any, float]) -> float | None:
        """Return the seconds that these shares of the runs, by config, take on one core.

        None if no run tells. A sample of SOME stands for all: the time of a unit of cost differs
        less between runs than their cost.
        """
        experiment = self.grid.experiment
        sample = random.Random(0).sample(list(shares), min(SOME, len(shares)))
        seconds = estimates(experiment, sample)
        cost = registry.experiment(experiment).cost
        if None in seconds:
            return None
        if not sample:
            return 0.0
        total = sum(share * cost(config) for config, share in shares.items())
        return total * sum(filter(None, seconds)) / sum(map(cost, sample))


def _without_seeds(config: Mapping[str, Any]) -> str:
    return canonical({name: value for name, value in config.items() if name != "seeds"})


def _smallest_run(runs: Sequence[Header], key: str, config: Any) -> Header | None:
    """Return the run that `key` names, or else the run of fewest seeds that holds all seeds of the
    config. `runs` have the config's settings, but for the number of seeds."""
    seeds = getattr(config, "seeds", 0)
    large_enough = [header for header in runs if header.config.get("seeds", 0) >= seeds]
    exact = next((header for header in large_enough if header.key == key), None)
    return exact or min(
        large_enough, key=lambda header: header.config.get("seeds", 0), default=None
    )
