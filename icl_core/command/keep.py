"""A command for each kind of document that settings take, such as `text FILE`."""

import argparse
import sys
from functools import partial
from pathlib import Path

from icl_core import registry
from icl_core.command.experiment_options import AddCommand, add_json
from icl_core.command.guard import DONE
from icl_core.command.printing import print_json
from icl_core.contract.message import printable_lines
from icl_core.jobs.faults import Failed


def add_commands(add: AddCommand) -> None:
    """Add a command for each kind of document."""
    for name, kind in registry.document_kinds().items():
        command = add(name, partial(_keep, name), kind.command)
        command.add_argument("file", type=Path, metavar="FILE", help=kind.file)
        add_json(command, "the digest and what was read")


def _keep(kind: str, options: argparse.Namespace) -> int:
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
