"""Guard a command of the terminal: its standard streams, and what ends it from outside.

A command is imported within its guard, as the first imports take a second. So this module imports
nothing of the project.

Ctrl-C ends a command at once, with one line and no traceback: a `KeyboardInterrupt` that is raised
within an import or a destructor may be lost. What has to be tidied first, such as a training that
is asked for, is done within `icl_core.jobs.terminal.interruptible`.
"""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

DONE = 0  # exit codes
FAILED = 1
BAD_VALUE = 2
INTERRUPTED = 130
CLOSED_PIPE = 141  # as of a program that SIGPIPE has ended
EXIT_CODES = {
    DONE: "everything was done",
    FAILED: "something was not: a training failed, a panel could not be drawn, a file not written",
    BAD_VALUE: "the command or a value in it is wrong; nothing was begun",
    INTERRUPTED: "Ctrl-C",
    CLOSED_PIPE: "whoever reads the output has closed it, as `head` does",
}


def run(command: Callable[[], int]) -> int:
    """Carry out a command and return its exit code, or that of what has ended it, which one line on
    stderr names.

    A character that a stream's encoding lacks is escaped, and a stream that is closed takes
    whatever is written. A `KeyboardInterrupt` says its message.
    """
    _prepare_streams()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored
        signal.signal(signal.SIGINT, _end_at_once)
    end = ""
    try:
        code = _exit_code(command)
        sys.stdout.flush()
    except KeyboardInterrupt as interruption:
        code = INTERRUPTED
        end = str(interruption) or "interrupted"
    except BrokenPipeError:
        code = CLOSED_PIPE
    except OSError as problem:
        code = FAILED
        end = f"the command could not go on: {problem}"
        if problem.strerror and problem.filename is None:  # no file: a stream
            end = f"the output could not be written: {problem.strerror}"
    _say(end)
    return code


def _end_at_once(*_: Any) -> None:
    with suppress(OSError):
        os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


def _exit_code(command: Callable[[], int]) -> int:
    """Return the code with which the command ends, in whatever way. Raises what ends it from
    outside."""
    try:
        return command()
    except SystemExit as end:
        if isinstance(end.code, str):
            _say(end.code)
            return FAILED
        return end.code or DONE


def _prepare_streams() -> None:
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # closed; the next file that is opened would take its place
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            null = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
            setattr(sys, name, null)
        elif hasattr(stream, "reconfigure"):  # a notebook's or a test's may lack it
            stream.reconfigure(errors="backslashreplace")


def _say(sentence: str) -> None:
    """Print a sentence on stderr, if there is one, and let vanish what a stream cannot write:
    Python would try once more as it ends, and fail."""
    with suppress(OSError):  # nobody can be told
        if sentence:
            print(sentence, file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
