"""The command `figure`: the panels of a run in a file."""

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from icl_core.command.experiment_options import (
    AddCommand,
    add_setting,
    experiment_and_config,
    pairs,
)
from icl_core.command.guard import DONE, FAILED
from icl_core.command.printing import print_problems
from icl_core.contract import settings_io
from icl_core.contract.experiment import CannotDraw, Drawing, Panel
from icl_core.contract.knobs import BadSetting, unknown_name
from icl_core.jobs.faults import Failed
from icl_core.runs.request import Request

T = TypeVar("T")
ENDINGS = (".html", ".json")


def add_commands(add: AddCommand) -> None:
    """Add `figure`."""
    figure = add("figure", _figure, "draw a run into a file")
    add_setting(figure)
    figure.add_argument(
        "--view", nargs="+", action="extend", default=[], metavar="NAME=VALUE", help="what is shown"
    )
    figure.add_argument("--drawing", metavar="NAME", help="only this drawing")
    figure.add_argument(
        "--out", required=True, type=output_path, metavar="FILE", help="ends in .html or .json"
    )


def output_path(text: str) -> Path:
    """Return the path that `--out` names."""
    return Path(os.path.expanduser(text))  # a shell leaves the ~ of --out=~/x.html as it is


def _figure(options: argparse.Namespace) -> int:
    from icl_core.jobs.terminal import train_or_load
    from icl_core.runs import store
    from icl_core.share import export

    check_file(options.out, ENDINGS)
    experiment, preset, config = experiment_and_config(options)
    drawings = [drawing for drawing in experiment.drawings if drawing.applies(config)]
    if options.drawing is not None:
        drawings = [_drawing(options.drawing, experiment.drawings, drawings)]
    default_view = experiment.view(**preset.view)
    view = settings_io.parse(experiment.view, pairs(options.view), default_view)
    header = train_or_load(Request(options.experiment, config))
    run = store.default().load(header)
    if run is None:
        raise Failed("\n".join(store.default().messages()) or f"the run {header.key} is gone")
    problems: list[str] = []
    panels: dict[str, Panel] = {}
    for drawing in drawings:
        panel = _drawn(
            f"the drawing {drawing.name}", lambda d=drawing: d.panel(run, view), problems
        )
        if panel is not None:
            panels[drawing.name] = panel
    headline = _drawn("the headline", lambda: experiment.headline(run, view), problems)
    if panels:
        write = export.json_text if options.out.suffix == ".json" else export.html_text
        write_text(options.out, write(experiment.title, headline or "", panels))
    print_problems(problems)
    return FAILED if problems else DONE


def check_file(path: Path, endings: tuple[str, ...]) -> None:
    """Raise `BadSetting` unless a file of one of the `endings` can be written there, before
    anything is trained for it."""
    if path.suffix not in endings:
        raise BadSetting(f"--out must end in {' or '.join(endings)}, got {str(path)!r:.200}")
    if path.is_dir():
        raise BadSetting(f"--out must be a file, got the folder {str(path)!r:.200}")
    if not path.parent.is_dir():
        raise BadSetting(f"--out must be in a folder that is there, got {str(path)!r:.200}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise BadSetting(f"--out must be a file that can be written, got {str(path)!r:.200}")


def _drawing(name: str, every: tuple[Drawing, ...], applying: list[Drawing]) -> Drawing:
    """Return the drawing called `name`; raises `BadSetting` if there is none for these settings."""
    names = [drawing.name for drawing in every]
    if name not in names:
        raise unknown_name("--drawing", name, names)
    by_name = {drawing.name: drawing for drawing in applying}
    if name not in by_name:
        raise BadSetting(
            f"--drawing must be one of {', '.join(by_name)} at these settings, got {name!r}"
        )
    return by_name[name]


def _drawn(what: str, draw: Callable[[], T], problems: list[str]) -> T | None:
    """Return what `draw` returns; None if it cannot be drawn, with a sentence in `problems`."""
    try:
        return draw()
    except (CannotDraw, BadSetting) as problem:
        problems.append(f"{what} could not be made: {problem}")
        return None


def write_text(path: Path, text: str) -> None:
    """Write a file; raises `Failed` where that is impossible."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise Failed(f"{path} could not be written: {problem.strerror}") from problem
