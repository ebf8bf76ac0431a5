"""The commands that give a run to others: `stage`, a page with its player, and `organism`."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from icl_core.command.experiment_options import (
    AddCommand,
    add_setting,
    experiment_and_config,
)
from icl_core.command.figure import check_file, output_path, write_text
from icl_core.command.guard import DONE
from icl_core.contract.knobs import BadSetting
from icl_core.jobs.faults import Failed

if TYPE_CHECKING:
    from icl_core.library import LibraryRun


def add_commands(add: AddCommand) -> None:
    """Add `stage` and `organism`."""
    stage = add("stage", _stage, "write a run's stage with its clock as one page")
    add_setting(stage)
    stage.add_argument(
        "--out", required=True, type=output_path, metavar="FILE", help="ends in .html"
    )
    organism = add(
        "organism", _organism, "write a run's model in the layout of GPT-2, with what is known"
    )
    add_setting(organism)
    organism.add_argument(
        "--out", required=True, type=output_path, metavar="FOLDER", help="is made if need be"
    )


def _stage(options: argparse.Namespace) -> int:
    check_file(options.out, (".html",))
    write_text(options.out, _run(options).html())
    return DONE


def _organism(options: argparse.Namespace) -> int:
    from icl_core.share import organism

    _check_folder(options.out)
    _, _, config = experiment_and_config(options)
    organism.exporter(options.experiment, config)  # refused before anything is trained for it
    try:
        _run(options).export_model(options.out)
    except OSError as problem:
        raise Failed(f"{options.out} could not be written: {problem.strerror}") from problem
    return DONE


def _run(options: argparse.Namespace) -> "LibraryRun":
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
