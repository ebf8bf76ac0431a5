"""The command line: everything but the dashboard.

list · show, run, sweep, figure, stage, organism EXPERIMENT · a command for each kind of document
FILE · claims · build · gallery · verify, report · work

The commands are in `icl_core.command`, whose README says what they print.
"""

import argparse
import platform
import re
import sys
from collections.abc import Sequence
from importlib import metadata
from typing import Any

from icl_core.command import collect, explain, files, train, verify
from icl_core.command.experiment_options import Command
from icl_core.command.guard import BAD_VALUE, DONE, EXIT_CODES, FAILED
from icl_core.contract.knobs import BadSetting
from icl_core.contract.message import did_you_mean, printable_lines
from icl_core.jobs.faults import Failed
from icl_core.machine import folders, late_imports

OPTION = re.compile("--?[a-zA-Z]")  # what begins like an option, and not like a negative number


def main(arguments: Sequence[str] | None = None, program: str = "python -m icl_core") -> int:
    """Carry out one command of `program` and return its exit code, one of `guard.EXIT_CODES`.

    `arguments` are those of the process if they are left out. Called within `guard.run`, which
    takes what ends a command from outside. Raises `SystemExit`, as argparse does, for words that
    are no command and after `--help` and `--version`.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    parser, commands = _parsers(program)
    _check_names(words, parser, commands)
    options = parser.parse_args(words)
    try:
        if getattr(options, "scheduler", None):
            from icl_core.jobs import folder

            folder.choose_scheduler(options.scheduler)
        return options.command(options)
    except BadSetting as problem:
        print(printable_lines(problem), file=sys.stderr)
        return BAD_VALUE
    except Failed as problem:
        print(printable_lines(problem), file=sys.stderr)
        return FAILED


class Parser(argparse.ArgumentParser):
    """A parser that knows its options, so that a mistyped one can be answered."""

    def __init__(self, **more: Any) -> None:
        self.options: list[str] = []  # first, as argparse adds --help at once
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **more)

    def add_argument(self, *names: Any, **more: Any) -> argparse.Action:
        """Add an argument as argparse does, and note the option strings."""
        action = super().add_argument(*names, **more)
        self.options.extend(action.option_strings)
        return action


class _Version(argparse.Action):
    """Print the versions, which are looked up only then, and end."""

    def __init__(self, option_strings: Sequence[str], dest: str, **more: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **more)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(version_line())
        parser.exit()


def version_line() -> str:
    """Return the version of the dashboard, of Python and of torch, which is not imported."""
    torch = metadata.version("torch")
    python = platform.python_version()
    return f"{folders.NAME} {folders.project_version()} (Python {python}, torch {torch})"


def _parsers(program: str) -> tuple[Parser, dict[str, Parser]]:
    """Return the parser, and those of its commands by name."""
    codes = (f"  {code:<4} {meaning}" for code, meaning in EXIT_CODES.items())
    alone = "; alone it opens the dashboard" if program == "icl" else ""
    parser = Parser(
        prog=program,
        description=f"Train, draw and check the experiments{alone}.",
        epilog="\n".join(["exit codes:", *codes]),
    )
    parser.add_argument("--version", action=_Version, help="print the version and end")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    commands: dict[str, Parser] = {}

    def add(name: str, command: Command, about: str) -> Parser:
        commands[name] = subparsers.add_parser(name, help=about, description=f"{about}.")
        commands[name].set_defaults(command=command)
        return commands[name]

    for module in (explain, train, files, collect, verify):
        module.add_commands(add)
    work = add("work", _work, "train what was asked for; started by the dashboard when needed")
    work.add_argument("--once", action="store_true", help="one job at most")
    work.add_argument(
        "--server", type=int, metavar="PID", help="wait as long as this process lives"
    )
    work.add_argument(
        "--slots", type=int, metavar="N", help="do nothing if N workers are there already"
    )
    return parser, commands


def _check_names(words: list[str], parser: Parser, commands: dict[str, Parser]) -> None:
    """End with the likely name where a word is no command, or no option of its command."""
    current = parser
    for word in words:
        if word == "--":  # what follows is no option, as a file called -x
            return
        if current is parser and not word.startswith("-"):
            if word not in commands:
                every_name = f"; the commands are {', '.join(commands)}"
                hint = did_you_mean(word, commands) or every_name
                parser.error(f"there is no command {word!r:.80}{hint}")
            current = commands[word]
        elif OPTION.match(word):
            name = word.partition("=")[0]
            if not any(option.startswith(name) for option in current.options):
                every_name = f"; the options are {', '.join(current.options)}"
                hint = did_you_mean(name, current.options) or every_name
                current.error(f"there is no option {name!r:.80}{hint}")


def _work(options: argparse.Namespace) -> int:
    from icl_core.jobs import folder

    if not folder.scheduler():
        late_imports.import_now("torch")  # before all that trains: it must not get its stand-in
    from icl_core.cluster import dispatcher

    dispatcher.work(options.once, options.slots, options.server)
    return DONE
