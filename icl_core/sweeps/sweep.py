"""The runs of a grid: asked for through the job queue, each made and stored once, whoever asks.

Of the queue a sweep needs no more than to submit, to see all states, to cancel and to interrupt, by
a run's key: all that another one would have to offer.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from icl_core import registry
from icl_core.contract.knobs import BadSetting
from icl_core.jobs import queue, turns
from icl_core.jobs.estimate import estimates
from icl_core.jobs.reading import CANCELLED, WAITING
from icl_core.machine import limits
from icl_core.runs import owners, store
from icl_core.runs.file import canonical
from icl_core.runs.store import Header
from icl_core.sweeps.setting_grid import Cell, Grid

DONE, RUNNING, QUEUED, FAILED, MISSING = "done", "running", "waiting", "failed", "missing"
SOME = 12  # cells whose times are estimated for all
GONE = "the run was made but is no longer in the cache"


@dataclass(frozen=True, eq=False)
class Outcome:
    """What has become of a cell: done (`header` has its run), running, waiting, failed (`message`
    says why) or missing: nobody has asked for it, it was cancelled, or its run has been dropped
    since."""

    cell: Cell
    status: str
    message: str = ""
    header: Header | None = None
    job: queue.JobState | None = None

    @property
    def measured(self) -> Mapping[str, Mapping[str, Any]]:
        """The records of its metrics, by claim, with `value`, `error` and what else a run's file
        keeps of them."""
        records = self.header.info.get("metrics", ()) if self.header else ()
        return {
            record["claim"]: record
            for record in records
            if "claim" in record and record["value"] is not None
        }


@dataclass(frozen=True, eq=False)
class SweepStatus:
    """A sweep at one moment. `seconds_left` is None where no run tells how long one takes."""

    outcomes: tuple[Outcome, ...]
    seconds_left: float | None

    @property
    def counts(self) -> Counter[str]:
        """How many cells are done, running, waiting, failed, missing."""
        return Counter(each.status for each in self.outcomes)

    @property
    def ended(self) -> bool:
        """Whether nothing more will come of what was asked for."""
        return not self.counts[RUNNING] + self.counts[QUEUED]

    @property
    def metrics(self) -> tuple[str, ...]:
        """The ids of the claims that some run has measured."""
        return tuple(dict.fromkeys(name for each in self.outcomes for name in each.measured))


class Sweep:
    """A grid on its way. It holds nothing but what is asked: another one of the same grid finds all
    that is done."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self._keys = [
            cell.config and store.key_of(grid.experiment, cell.config) for cell in grid.cells
        ]
        self._refused: dict[str, str] = {}

    def ask(self, visitor: str = "") -> None:
        """Ask for every run that is neither stored, nor asked for, nor known to fail. Raises
        `OSError`, and `BadSetting`, with nothing asked for, if these are more than a page's
        `visitor` may have in the queue."""
        outcomes = zip(self._keys, self.look().outcomes, strict=True)
        missing = [(key, each.cell) for key, each in outcomes if key and each.status == MISSING]
        if visitor:
            limits.check_queued(turns.count_jobs(visitor, queue.states()), len(missing))
        for key, cell in missing:
            try:
                queue.submit(self.grid.experiment, cell.config, later=True, visitor=visitor)
            except BadSetting as problem:  # a run that can never be kept, or takes too long
                self._refused[key] = str(problem)

    @property
    def refused(self) -> tuple[str, ...]:
        """Why runs were refused when they were asked for."""
        return tuple(dict.fromkeys(self._refused.values()))

    def look(self, workers: int = 1) -> SweepStatus:
        """How far every cell is. Reads headers and states, no tensors."""
        runs, states = self._runs(), {state.key: state for state in queue.states()}
        cells = zip(self.grid.cells, self._keys, strict=True)
        outcomes = tuple(
            self._outcome(cell, key, runs, states.get(key or "")) for cell, key in cells
        )
        return SweepStatus(outcomes, self._seconds_left(outcomes, workers))

    def cost(self) -> tuple[int, float | None]:
        """How many runs are still to be made, and the seconds that they take on one idle core."""
        left = [each for each in self.look().outcomes if each.status in (MISSING, QUEUED, RUNNING)]
        return len(left), self._seconds({each.cell.config: 1.0 for each in left})

    def cancel(self, visitor: str | None = None) -> None:
        """Give up what is not done yet and `visitor` asked for, for good; None, at the machine, all
        of it."""
        for state in self._on_its_way():
            if owners.is_allowed(state.key, visitor):
                queue.cancel(state.key, visitor=visitor)

    def may_cancel(self, visitor: str | None) -> bool:
        """Whether anything on its way was asked for by `visitor`."""
        return any(owners.is_allowed(state.key, visitor) for state in self._on_its_way())

    def interrupt(self) -> None:
        """Stop at checkpoints, for the command line. `ask` goes on from there."""
        for state in self._on_its_way():
            if state.status == "queued" and owners.is_allowed(state.key, ""):
                queue.cancel(
                    state.key, visitor=""
                )  # first, or a worker that stops would take the next
        for state in self._on_its_way():
            queue.interrupt(state.key)

    def _on_its_way(self) -> list[queue.JobState]:
        return [state for state in queue.states() if state.key in self._keys and not state.ended]

    def _runs(self) -> dict[str, list[Header]]:
        """The stored runs by all settings but the number of seeds: a run of more seeds holds those
        of fewer."""
        found: dict[str, list[Header]] = {}
        for header in store.default().every(self.grid.experiment):
            found.setdefault(_but_seeds(header.config), []).append(header)
        return found

    def _outcome(
        self,
        cell: Cell,
        key: str | None,
        runs: Mapping[str, Sequence[Header]],
        job: queue.JobState | None,
    ) -> Outcome:
        if key is None or key in self._refused:
            return Outcome(cell, FAILED, cell.refused or self._refused[key or ""])
        if header := _smallest(
            runs.get(_but_seeds(store.stored_settings(cell.config)), ()), key, cell.config
        ):
            return Outcome(cell, DONE, header.info.get("message", ""), header)
        if job is None:
            return Outcome(cell, MISSING)
        status = {"failed": FAILED, "done": MISSING, **dict.fromkeys(CANCELLED, MISSING)}.get(
            job.status, RUNNING
        )
        told = GONE if job.status == "done" else job.message
        return Outcome(cell, QUEUED if job.status in WAITING else status, told, job=job)

    def _seconds_left(self, outcomes: Sequence[Outcome], workers: int) -> float | None:
        """What the runs on their way still take: as long as each says itself, or by its
        settings."""
        jobs = [
            (each.cell.config, each.job)
            for each in outcomes
            if each.status in (RUNNING, QUEUED) and each.job
        ]
        running = [job for _, job in jobs if job.status == "running"]
        told = [
            job.seconds_left / max(1, job.together)
            for job in running
            if job.seconds_left is not None
        ]
        rest = [
            (config, job)
            for config, job in jobs
            if job.status != "running" or job.seconds_left is None
        ]
        guessed = self._seconds(
            {config: 1 - min(1.0, job.step / max(1, job.total)) for config, job in rest}
        )
        if guessed is None:
            return None
        return max((sum(told) + guessed) / max(1, min(workers, len(jobs))), *told, 0.0)

    def _seconds(self, shares: Mapping[Any, float]) -> float | None:
        """What such shares of the runs of these settings take on one core; None if no run tells.
        Some stand for all: what a unit of cost takes differs less between them than the cost."""
        some = random.Random(0).sample(list(shares), min(SOME, len(shares)))
        found, cost = (
            estimates(self.grid.experiment, some),
            registry.experiment(self.grid.experiment).cost,
        )
        if None in found:
            return None
        total = sum(share * cost(config) for config, share in shares.items())
        return total * sum(filter(None, found)) / sum(map(cost, some)) if some else 0.0


def _but_seeds(config: Mapping[str, Any]) -> str:
    return canonical({name: value for name, value in config.items() if name != "seeds"})


def _smallest(runs: Sequence[Header], key: str, config: Any) -> Header | None:
    """Of the runs of these settings the one that `key` names, or else the one of fewest seeds that
    holds them all."""
    wanted = getattr(config, "seeds", 0)
    held = [header for header in runs if header.config.get("seeds", 0) >= wanted]
    exact = next((header for header in held if header.key == key), None)
    return exact or min(held, key=lambda header: header.config.get("seeds", 0), default=None)
