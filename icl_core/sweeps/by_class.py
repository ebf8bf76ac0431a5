"""A sweep that a class trains by turns: its lot, the runs of what phones have drawn, and what each
of these settings says."""

import math
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from icl_core import registry
from icl_core.classroom.lots import Lot, Told
from icl_core.contract.knobs import BadSetting
from icl_core.contract.message import sentence
from icl_core.jobs.table import CANCELLED
from icl_core.sweeps.map import number_with_error
from icl_core.sweeps.setting_grid import Grid
from icl_core.sweeps.sweep import DONE, FAILED, MISSING, QUEUED, RUNNING, Outcome, Sweep

_SUFFIXES = {1: "st", 2: "nd", 3: "rd"}


@dataclass(frozen=True)
class Progress:
    """How far the settings are that a class has drawn.

    counts    how many of them have each status
    told      what they say, by index in the grid
    asked     the indices of those whose runs were asked for
    refused   why the runs of some were refused for good, each reason once
    put_off   why none could be asked for now
    """

    counts: Counter[str]
    told: Mapping[int, Told]
    asked: frozenset[int]
    refused: tuple[str, ...]
    put_off: tuple[str, ...]


def key(grid: Grid) -> Hashable:
    """Return what names a grid to a class: its settings, whichever setting is on screen."""
    return grid.experiment, *(cell.config for cell in grid.cells)


def lot(grid: Grid) -> Lot:
    """Return the lot of a grid: all its settings but those that the experiment refuses."""
    labels = {
        index: grid.title(cell) for index, cell in enumerate(grid.cells) if cell.config is not None
    }
    return Lot(key(grid), labels, grid)


def train(lot: Lot, visitor: str, metric: str) -> Progress:
    """Ask for the runs of the settings that were drawn since the last call, as `visitor`, and
    return how far all that were drawn are.

    They tell the `metric` of this claim, or the first one measured where none has it. A run is
    asked for once: what the visitor cancels stays cancelled.
    """
    drawn = frozenset(lot.drawn.values())
    sweep = Sweep(lot.grid)
    status = sweep.look()
    put_off: tuple[str, ...] = ()
    new = {index for index in drawn - lot.asked if status.outcomes[index].status == MISSING}
    waiting = sorted(new)
    try:
        while waiting:  # one by one: as many as the queue takes of this visitor
            sweep.ask(visitor, {waiting[0]})
            del waiting[0]
    except (BadSetting, OSError) as problem:
        put_off = (str(problem),)
    asked = drawn.difference(waiting)  # the others are asked for again, at the next call
    if new:
        status = sweep.look()
    labels = {claim.id: claim.label for claim in registry.experiment(lot.grid.experiment).claims}
    measured = [name for name in status.metrics if name in labels] or list(labels)
    shown = metric if metric in measured else measured[0]
    outcomes = {index: status.outcomes[index] for index in sorted(drawn)}
    told = {
        index: _told(outcome, shown, labels[shown], _values(outcomes, shown))
        for index, outcome in outcomes.items()
        # a run that was refused when it was asked for is not refused by a look
        if index in asked and (index in new or not _is_unasked(outcome))
    }
    counts = Counter(outcome.status for outcome in outcomes.values())
    return Progress(counts, told, asked, sweep.refused, put_off)


def _is_unasked(outcome: Outcome) -> bool:
    return outcome.status == MISSING and outcome.job is None


def _values(outcomes: Mapping[int, Outcome], metric: str) -> list[float]:
    """Return the numbers that the settings have, as they are shown."""
    records = [outcome.measured.get(metric) for outcome in outcomes.values()]
    return [_rounded(record["value"]) for record in records if record]


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def _told(outcome: Outcome, metric: str, label: str, values: list[float]) -> Told:
    """Return what a setting says, of all whose `values` of the metric are known."""
    job = outcome.job
    if outcome.status == FAILED:
        return Told(f"It failed: {outcome.message}.")
    if outcome.status == RUNNING and job:
        end = f", until step {job.total:,}" if job.total else ""
        return Told(f"It is in training{end}.", f"step {job.step:,}")
    if outcome.status == QUEUED and job:
        return Told(f"It waits: number {job.position} in the queue.")
    if outcome.status != DONE:
        is_cancelled = job is not None and job.status == CANCELLED
        return Told("It was cancelled." if is_cancelled else sentence(outcome.message))
    record = outcome.measured.get(metric)
    if not record:
        return Told(f"It is trained, but “{label}” is not measured at this setting.")
    value = record["value"]
    error = math.nan if record["error"] is None else record["error"]
    name = label[:1].upper() + label[1:]
    return Told(f"{name}: {_place(value, values)}.", number_with_error(value, error))


def _place(value: float, values: list[float]) -> str:
    """Return where a value stands among those that are known, counted from the nearer end: "3rd
    lowest of 12 that are done"."""
    if len(values) == 1:
        return "the first one that is done"
    from_below = 1 + sum(other < _rounded(value) for other in values)
    from_above = 1 + sum(other > _rounded(value) for other in values)
    place, end = min((from_below, "lowest"), (from_above, "highest"), key=lambda pair: pair[0])
    suffix = "th" if place % 100 in (11, 12, 13) else _SUFFIXES.get(place % 10, "th")
    ordinal = "" if place == 1 else f"{place}{suffix} "
    return f"{ordinal}{end} of {len(values)} that are done"
