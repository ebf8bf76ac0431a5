"""Guard a command of the terminal: its standard streams, and what ends it from outside.

A command is imported within its guard, as the first imports take a second. So this module imports
nothing of the project.

Ctrl-C ends a command at once, with one line and no traceback: a `KeyboardInterrupt` that is raised
within an import or a destructor may be lost. What has to be tidied first, such as a training that
is asked for, is done within `icl_core.jobs.terminal.interruptible`.
"""

import errno
import os
import signal
import sys
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout, suppress
from typing import Any, cast

DONE = 0  # exit codes
FAILED = 1
BAD_VALUE = 2
DIFFER = 3  # of `verify`
NOT_VERIFIED = 4
INTERRUPTED = 130
CLOSED_PIPE = 141  # as of a program that SIGPIPE has ended
EXIT_CODES = {
    DONE: "everything was done",
    FAILED: "something was not: a training failed, a panel could not be drawn, a file or a folder "
    "could not be written",
    BAD_VALUE: "the command, a value in it or an environment variable is wrong; nothing was begun",
    DIFFER: "verify: a claim's runs, trained anew, gave another verdict or another number",
    NOT_VERIFIED: "verify: a claim was not verified, as its time limit came or it has no run",
    INTERRUPTED: "Ctrl-C",
    CLOSED_PIPE: "whoever reads the output has closed it, as `head` does",
}


class OutputError(OSError):
    """What is printed cannot be written to stdout or stderr."""


class _Output:
    """A standard stream whose failures to write can be told from those of files and databases."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text; raises `OutputError`."""
        return self._try(lambda: self._stream.write(text))

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts; raises `OutputError`."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Write what was kept back; raises `OutputError`."""
        self._try(self._stream.flush)

    def _try(self, act: Callable[[], Any]) -> Any:
        try:
            return act()
        except OSError as problem:
            raise OutputError(problem.errno, problem.strerror) from problem


def run(command: Callable[[], int]) -> int:
    """Carry out a command and return its exit code, or that of what has ended it, which one line on
    stderr names.

    A character that a stream's encoding lacks is escaped, and a stream that is closed takes
    whatever is written. A `KeyboardInterrupt` says its message.
    """
    _prepare_streams()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored
        signal.signal(signal.SIGINT, _end_at_once)
    stdout = cast(Any, _Output(sys.stdout))
    stderr = cast(Any, _Output(sys.stderr))
    with redirect_stdout(stdout), redirect_stderr(stderr):
        code, end = _carry_out(command)
        _say(end)
    return code


def _carry_out(command: Callable[[], int]) -> tuple[int, str]:
    """Return the command's exit code and what is to be said of its end, if anything is."""
    try:
        code = _exit_code(command)
        sys.stdout.flush()
        return code, ""
    except KeyboardInterrupt as interruption:
        return INTERRUPTED, str(interruption) or "interrupted"
    except OutputError as problem:
        if problem.errno == errno.EPIPE:
            return CLOSED_PIPE, ""
        return FAILED, f"the output could not be written: {problem.strerror or problem}"
    except OSError as problem:
        return FAILED, f"the command could not go on: {_in_words(problem)}"


def _in_words(problem: OSError) -> str:
    """Return what the system says of a file, without its number."""
    if not problem.strerror:
        return str(problem)
    return f"{problem.filename}: {problem.strerror}" if problem.filename else problem.strerror


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
