"""One clock for several runs: by training step, or what else the experiment's clock counts, or by
the steps since a milestone of each run."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from icl_core.contract.experiment import Experiment
from icl_core.contract.knobs import knobs_of
from icl_core.contract.run import Run


@dataclass(frozen=True)
class CommonClock:
    """The places of a clock, and the snapshot that each run shows at each place.

    places     training steps or, by a milestone, steps since it; ascending
    shown      for each run the index of its snapshot at each place: its latest one not beyond the
               clock, or its first while the clock is before all of them
    starts     for each run the training step at the clock's zero
    milestone  the name of what each run has reached there; empty by training step
    """

    places: tuple[int, ...]
    shown: tuple[tuple[int, ...], ...]
    starts: tuple[int, ...]
    milestone: str = ""


def aligned(
    steps: Sequence[Sequence[int]], starts: Sequence[int], milestone: str = ""
) -> CommonClock:
    """Return the clock over the snapshots of all runs at `steps`, each counted from the run's
    start; by a milestone also over the place where all have reached it. A run without snapshots
    shows its only state throughout."""
    own = [[step - start for step in each] for each, start in zip(steps, starts, strict=True)]
    places = sorted(set().union(*own, [0] if milestone or not any(own) else []))
    snapshots = [tuple(max(0, bisect_right(each, place) - 1) for place in places) for each in own]
    return CommonClock(tuple(places), tuple(snapshots), tuple(starts), milestone)


def unit_of(experiment: Experiment) -> str:
    """Return what an experiment's clock counts, such as "training step" or "pairs read"."""
    snapshot = knobs_of(experiment.view).get("snapshot")
    return snapshot.label if snapshot else "training step"


def common_milestones(experiment: Experiment, runs: Sequence[Run]) -> dict[str, tuple[int, ...]]:
    """Return the milestones that all runs have reached: for each name the step of each run, rounded
    to a whole one."""
    reached = [experiment.milestones(run) for run in runs]
    return {
        name: tuple(round(each[name]) for each in reached)
        for name in reached[0]
        if all(name in each for each in reached)
    }


def clock_of(experiment: Experiment, runs: Sequence[Run], milestone: str = "") -> CommonClock:
    """Return the clock of runs by a milestone of theirs; by training step if one of them has not
    reached it, or if there is none of that name."""
    has_clock = "snapshot" in knobs_of(experiment.view)
    steps = [run.snapshot_steps if has_clock else [] for run in runs]
    starts = common_milestones(experiment, runs).get(milestone)
    if starts is None:
        return aligned(steps, [0] * len(runs))
    return aligned(steps, starts, milestone)


def thinned(clock: CommonClock, count: int) -> CommonClock:
    """Return the clock with at most `count` of its places, two at least: evenly many, the first and
    the last, and where a run is at its milestone the place nearest to it."""
    last = len(clock.places) - 1
    count = max(2, count)
    if last < count:
        return clock
    remaining = {round(index * last / (count - 1)) for index in range(count)}
    if clock.milestone:
        zero = min(range(last + 1), key=lambda index: abs(clock.places[index]))
        nearest = min(remaining - {0, last} or remaining, key=lambda index: abs(index - zero))
        remaining = remaining - {nearest} | {zero, 0, last}
    indices = sorted(remaining)
    return replace(
        clock,
        places=tuple(clock.places[index] for index in indices),
        shown=tuple(tuple(shown[index] for index in indices) for shown in clock.shown),
    )
