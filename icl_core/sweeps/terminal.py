"""A sweep in a terminal: one line that counts its runs, and a table of what they measured."""

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from tqdm import tqdm

from icl_core.jobs import spawn
from icl_core.jobs.folder import write_problem
from icl_core.jobs.terminal import Failed, print_obstacle
from icl_core.sweeps.sweep import DONE, FAILED, RUNNING, Outcome, Sweep, SweepStatus

PAUSE = 1.0  # seconds between looks: runs take longer, and looking costs the trainings time


def carry_out(sweep: Sweep, workers: int | None) -> SweepStatus:
    """Make all runs that are missing, `workers` at a time. Raises `Failed` where nothing can be
    written; Ctrl-C stops at checkpoints, and the same sweep goes on from there."""
    spawn.check_count(workers)
    try:
        sweep.ask()
        return _watch(sweep, workers)
    except OSError as problem:
        raise Failed(f"the sweep cannot start: {write_problem(problem)}") from problem
    except KeyboardInterrupt:
        sweep.interrupt()
        print("interrupted; the same command goes on from here", file=sys.stderr)
        raise


def _watch(sweep: Sweep, workers: int | None) -> SweepStatus:
    said: set[str] = set()
    form = "{l_bar}{bar}| {n_fmt} of {total_fmt} runs{postfix}"
    with tqdm(
        total=len(sweep.grid.cells), desc="sweep", file=sys.stderr, bar_format=form, disable=None
    ) as bar:
        while True:
            look = sweep.look(spawn.trainings(workers))
            print_obstacle([each.job for each in look.outcomes if each.job], said)
            bar.n = look.counts[DONE]
            bar.set_postfix_str(_postfix(look))
            if look.ended and not any(
                each.job and each.job.status == "left" for each in look.outcomes
            ):
                return look
            if look.ended:  # somebody had begun a run that this sweep counted on, and has left it
                sweep.ask()
            spawn.ensure_workers(workers)
            time.sleep(PAUSE)


def _postfix(look: SweepStatus) -> str:
    counts = [f"{look.counts[name]} {name}" for name in (RUNNING, FAILED) if look.counts[name]]
    left = (
        []
        if look.ended or look.seconds_left is None
        else [f"{tqdm.format_interval(look.seconds_left)} left"]
    )
    return ", ".join([*counts, *left])


def row(outcome: Outcome) -> dict[str, Any]:
    """A cell for JSON: where it is in the grid, what has become of it, what its run measured."""
    metrics = {
        name: {"value": each["value"], "error": each["error"]}
        for name, each in outcome.measured.items()
    }
    run = outcome.header.key if outcome.header else ""
    about = {"status": outcome.status, "message": outcome.message, "run": run}
    return {"settings": dict(outcome.cell.at), **about, "metrics": metrics}


def table(look: SweepStatus) -> str:
    """A line a cell: its settings, then every metric's value; where there is none, what has become
    of the cell."""
    fields = list(look.outcomes[0].cell.at)
    lines = [[*fields, *look.metrics]]
    for each in look.outcomes:
        values = (
            [_value(each.measured.get(name)) for name in look.metrics]
            if each.status == DONE
            else []
        )
        told = (
            [f"{each.status}: {each.message}" if each.message else each.status]
            if each.status != DONE
            else []
        )
        lines.append([*(str(each.cell.at[field]) for field in fields), *values, *told])
    return "\n".join(_aligned(lines))


def _aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """The cells of all lines in columns; a message, which has no column, does not widen one."""
    columns = len(lines[0])
    full = [line for line in lines if len(line) == columns]
    widths = [max(len(line[index]) for line in full) for index in range(columns)]
    return [
        "  ".join(f"{word:<{width}}" for word, width in zip(line, widths, strict=False)).rstrip()
        for line in lines
    ]


def _value(record: Mapping[str, Any] | None) -> str:
    if record is None:
        return "–"
    return f"{record['value']:.4g}" + (f" ± {record['error']:.2g}" if record["error"] else "")
