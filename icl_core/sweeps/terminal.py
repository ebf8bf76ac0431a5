"""A sweep in a terminal: a progress line that counts its runs, and a table of their metrics."""

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from tqdm import tqdm

from icl_core.jobs import spawn
from icl_core.jobs.faults import Failed
from icl_core.jobs.folder import write_problem
from icl_core.jobs.terminal import INTERRUPTED, interruptible, print_obstacle
from icl_core.sweeps.sweep import DONE, FAILED, RUNNING, Outcome, Sweep, SweepStatus

PAUSE = 1.0  # seconds between looks: runs take longer, and looking costs the trainings time


def carry_out(sweep: Sweep, workers: int | None) -> SweepStatus:
    """Make all runs that are missing, `workers` at a time, and return what has become of them.

    Raises `Failed` where nothing can be written. Ctrl-C stops the trainings at checkpoints and
    raises `KeyboardInterrupt` with a sentence; the same sweep goes on from there.
    """
    spawn.check_count(workers)
    with interruptible():
        try:
            _ask(sweep)
            return _watch(sweep, workers)
        except KeyboardInterrupt:
            sweep.interrupt()
            raise KeyboardInterrupt(INTERRUPTED) from None


def _ask(sweep: Sweep) -> None:
    try:
        sweep.ask()
    except OSError as problem:
        raise Failed(f"the sweep cannot start: {write_problem(problem)}") from problem


def _watch(sweep: Sweep, workers: int | None) -> SweepStatus:
    """Show the progress of a sweep until it has ended."""
    printed: set[str] = set()  # messages about what keeps runs waiting
    line = "{l_bar}{bar}| {n_fmt} of {total_fmt} runs{postfix}"
    with tqdm(
        total=len(sweep.grid.cells), desc="sweep", file=sys.stderr, bar_format=line, disable=None
    ) as bar:
        while True:
            status = sweep.look(spawn.trainings(workers))
            jobs = [outcome.job for outcome in status.outcomes if outcome.job]
            print_obstacle(jobs, printed)
            bar.n = status.counts[DONE]
            bar.set_postfix_str(_postfix(status))
            if status.ended:
                if not any(job.left for job in jobs):
                    return status
                # somebody else had begun a run of this sweep and has left it
                _ask(sweep)
            spawn.ensure_workers(workers)
            time.sleep(PAUSE)


def _postfix(status: SweepStatus) -> str:
    """Return the end of the progress line: "2 running, 1 failed, 00:12 left"."""
    parts = [f"{status.counts[name]} {name}" for name in (RUNNING, FAILED) if status.counts[name]]
    if not status.ended and status.seconds_left is not None:
        parts.append(f"{tqdm.format_interval(status.seconds_left)} left")
    return ", ".join(parts)


def row(outcome: Outcome) -> dict[str, Any]:
    """Return a cell for JSON: its values on the axes, its status and what its run has measured."""
    metrics = {
        claim: {"value": record["value"], "error": record["error"]}
        for claim, record in outcome.measured.items()
    }
    return {
        "settings": dict(outcome.cell.at),
        "status": outcome.status,
        "message": outcome.message,
        "run": outcome.header.key if outcome.header else "",
        "metrics": metrics,
    }


def table(status: SweepStatus) -> str:
    """Return a line a cell: its values on the axes, then the value of every metric; its status
    where it has no run."""
    fields = list(status.outcomes[0].cell.at)
    lines = [[*fields, *status.metrics]]
    for outcome in status.outcomes:
        line = [str(outcome.cell.at[field]) for field in fields]
        if outcome.status == DONE:
            line += [_value(outcome.measured.get(claim)) for claim in status.metrics]
        elif outcome.message:
            line.append(f"{outcome.status}: {outcome.message}")
        else:
            line.append(outcome.status)
        lines.append(line)
    return "\n".join(_aligned(lines))


def _aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines with their words in columns; a status, which is in no column, widens
    none."""
    columns = len(lines[0])
    full = [line for line in lines if len(line) == columns]
    widths = [max(len(line[index]) for line in full) for index in range(columns)]
    widths.append(0)  # of a status behind the last column, where no run has measured anything
    return [
        "  ".join(f"{word:<{width}}" for word, width in zip(line, widths, strict=False)).rstrip()
        for line in lines
    ]


def _value(record: Mapping[str, Any] | None) -> str:
    if record is None:
        return "–"
    error = f" ± {record['error']:.2g}" if record["error"] else ""
    return f"{record['value']:.4g}{error}"
