"""The commands that train: `run` and `sweep`."""

import argparse
from typing import TYPE_CHECKING

from icl_core.command.experiment_options import (
    AddCommand,
    add_json,
    add_setting,
    experiment_and_config,
)
from icl_core.command.guard import DONE, FAILED
from icl_core.command.printing import print_findings, print_json, print_problems
from icl_core.contract.message import printable_lines
from icl_core.machine import device
from icl_core.runs import code
from icl_core.runs.request import Request

if TYPE_CHECKING:
    from icl_core.runs.store import Header


def add_commands(add: AddCommand) -> None:
    """Add `run` and `sweep`."""
    run = add("run", _run, "train one setting, or load it, and print its metrics")
    add_setting(run)
    add_json(run, "the metrics")
    sweep = add(
        "sweep",
        _sweep,
        "train a grid of settings and print their metrics; goes on where it was interrupted",
    )
    add_setting(sweep)
    sweep.add_argument(
        "--over", nargs="+", action="extend", required=True, metavar="NAME=VALUE,…", help="the grid"
    )
    sweep.add_argument("--seeds", type=int, metavar="N", help="seeds of every run")
    sweep.add_argument("--jobs", type=int, metavar="N", help="trainings at once")
    add_json(sweep, "the cells of the grid")


def _run(options: argparse.Namespace) -> int:
    from icl_core.evidence import measurements
    from icl_core.jobs.terminal import train_or_load

    _, _, config = experiment_and_config(options)
    header = train_or_load(Request(options.experiment, config))
    print_problems([*_other_circumstances(header), *filter(None, [code.note(header)])])
    print_findings(measurements.of_run(header), options.json)
    return DONE


def _other_circumstances(header: "Header") -> list[str]:
    """Return a sentence if a stored run was made with another precision than is asked for, or on
    another device than a new one would be."""
    precision = header.info.get("precision", "")
    made_on = header.info.get("device", "")
    precision_here = device.wanted_precision() or precision
    if not precision or not made_on or (precision, made_on) == (precision_here, device.describe()):
        return []
    return [
        f"This run was made at precision {precision} on {made_on}; ICL_PRECISION and ICL_DEVICE "
        "hold for new runs."
    ]


def _sweep(options: argparse.Namespace) -> int:
    from icl_core.sweeps import setting_grid, sweep, terminal

    _, _, base = experiment_and_config(options)
    grid = setting_grid.parse(options.experiment, options.over, base, options.seeds)
    status = terminal.carry_out(sweep.Sweep(grid), options.jobs)
    if options.json:
        print_json([terminal.row(outcome) for outcome in status.outcomes])
    else:
        print(printable_lines(terminal.table(status)))
    return DONE if status.counts[sweep.DONE] == len(status.outcomes) else FAILED
