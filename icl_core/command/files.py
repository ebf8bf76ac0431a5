"""The commands that write a file or read one.

`figure` and `stage` draw a run into a file, `organism` writes its model, and a command for each
kind of document that settings take, such as `text FILE`, stores one.
"""

import argparse
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from icl_core import registry
from icl_core.command.experiment_options import (
    AddCommand,
    add_json,
    add_setting,
    experiment_and_config,
    pairs,
)
from icl_core.command.guard import DONE, FAILED
from icl_core.command.printing import print_json, print_problems
from icl_core.contract import settings_io
from icl_core.contract.experiment import CannotDraw, Drawing, Panel
from icl_core.contract.knobs import BadSetting, unknown_name
from icl_core.contract.message import printable_lines
from icl_core.jobs.faults import Failed
from icl_core.runs.request import Request

if TYPE_CHECKING:
    from icl_core.library import LibraryRun


T = TypeVar("T")
ENDINGS = (".html", ".json")


def add_commands(add: AddCommand) -> None:
    """Add `figure`, `stage`, `organism`, and a command for each kind of document."""
    figure = add("figure", _figure, "draw a run into a file")
    add_setting(figure)
    figure.add_argument(
        "--view", nargs="+", action="extend", default=[], metavar="NAME=VALUE", help="what is shown"
    )
    figure.add_argument("--drawing", metavar="NAME", help="only this drawing")
    figure.add_argument(
        "--out", required=True, type=output_path, metavar="FILE", help="ends in .html or .json"
    )
    stage = add("stage", _stage, "write a run's stage: a page with its clock, a picture, or a film")
    add_setting(stage)
    stage.add_argument(
        "--out",
        required=True,
        type=output_path,
        metavar="FILE",
        help="ends in .html, or, with a Chromium, in .svg, .pdf (1920 × 1080) or .webp (the film)",
    )
    stage.add_argument("--step", type=int, metavar="N", help="the training step of a picture")
    stage.add_argument("--dark", action="store_true", help="a picture or film in the dark theme")
    organism = add(
        "organism", _organism, "write a run's model in the layout of GPT-2, with what is known"
    )
    add_setting(organism)
    organism.add_argument(
        "--out", required=True, type=output_path, metavar="FOLDER", help="is made if need be"
    )
    for name, kind in registry.document_kinds().items():
        command = add(name, partial(_document, name), kind.command)
        command.add_argument("file", type=Path, metavar="FILE", help=kind.file)
        add_json(command, "the digest and what was read")


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
        write_file(options.out, write(experiment.title, headline or "", panels).encode())
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


def write_file(path: Path, content: bytes) -> None:
    """Write a file; raises `Failed` where that is impossible."""
    try:
        path.write_bytes(content)
    except OSError as problem:
        raise Failed(f"{path} could not be written: {problem.strerror}") from problem


def _stage(options: argparse.Namespace) -> int:
    from icl_core.share import pictures, talk

    ending = options.out.suffix
    check_file(options.out, (".html", *talk.ENDINGS))
    if ending == ".html" and (options.step is not None or options.dark):
        raise Failed(
            "--step and --dark are for a picture: the page has its own clock, and is light"
        )
    run = _library_run(options)
    if ending == ".html":
        write_file(options.out, run.html().encode())
        return DONE
    try:
        view = run.view(options.step)
        content = talk.draw(options.experiment, run.run, view, ending, options.dark)
    except pictures.NotTaken as problem:
        raise Failed(str(problem)) from problem
    write_file(options.out, content)
    return DONE


def _organism(options: argparse.Namespace) -> int:
    from icl_core.share import export

    _check_folder(options.out)
    _, _, config = experiment_and_config(options)
    export.model_export(options.experiment, config)  # refused before anything is trained for it
    try:
        _library_run(options).export_model(options.out)
    except OSError as problem:
        raise Failed(f"{options.out} could not be written: {problem.strerror}") from problem
    return DONE


def _library_run(options: argparse.Namespace) -> "LibraryRun":
    from icl_core.library import load

    _, _, config = experiment_and_config(options)
    return load(options.experiment, config)


def _check_folder(path: Path) -> None:
    """Raise `BadSetting` unless files can be written in that folder."""
    if path.exists() and not path.is_dir():
        raise BadSetting(f"--out must be a folder, got the file {str(path)!r:.200}")
    parent = path if path.exists() else path.parent
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise BadSetting(f"--out must be a folder that can be written, got {str(path)!r:.200}")


def _document(kind: str, options: argparse.Namespace) -> int:
    from icl_core.jobs.folder import write_problem
    from icl_core.runs import documents

    try:
        *sentences, setting = documents.keep_file(kind, options.file)
    except OSError as problem:
        are = registry.document_kinds()[kind].are
        reason = str(problem) if problem.errno is None else write_problem(problem)
        raise Failed(f"{are} not kept: {reason}") from problem
    digest = setting.rpartition("=")[2]
    try:
        if options.json:
            print_json({"kind": kind, "digest": digest, "sentences": sentences})
        else:
            print(printable_lines("\n".join([*sentences, setting])))
        sys.stdout.flush()
    except OSError:  # it is kept: without its digest nobody could use it
        print(setting, file=sys.stderr)
        raise
    return DONE
