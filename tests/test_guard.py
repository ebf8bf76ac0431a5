"""What guards a command of the terminal: streams that lack a character, are full or closed, and
Ctrl-C. Each in a process of its own."""

import os
import signal
import subprocess
import sys

import pytest
from house import ROOT

from icl_core.command import guard

GUARDED = """
import os, signal, sys
from icl_core.command import guard
def command():
{body}
sys.exit(guard.run(command))
"""


def guarded(*lines: str) -> list[str]:
    """Return the words of a process that carries out a command of these lines."""
    body = "".join(f"    {line}\n" for line in lines)
    return [sys.executable, "-c", GUARDED.format(body=body)]


def outcome(words: list[str], **more) -> tuple[int, str, str]:
    """Return the exit code of a process, and what it has printed."""
    more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    process = subprocess.run(words, cwd=ROOT, text=True, encoding="utf-8", **more)
    return process.returncode, process.stdout or "", process.stderr or ""


@pytest.mark.parametrize(
    ("encoding", "expected"), [("ascii", r"\u03b7 \xe9"), ("cp1252", r"\u03b7 é"), ("utf-8", "η é")]
)
def test_a_character_that_a_stream_lacks_is_escaped(encoding, expected):
    words = guarded("print('η é')", "print('η', file=sys.stderr)", "return 0")
    process = subprocess.run(
        words, cwd=ROOT, capture_output=True, env={**os.environ, "PYTHONIOENCODING": encoding}
    )
    assert (process.returncode, process.stdout.decode(encoding).strip()) == (0, expected)


def test_a_pipe_that_is_closed_ends_the_command_in_silence():
    process = subprocess.Popen(
        guarded("for number in range(10**6): print(number)", "return 0"),
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.readline() == "0\n"
    process.stdout.close()
    assert process.stderr.read() == "" and process.wait() == guard.CLOSED_PIPE
    process.stderr.close()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
@pytest.mark.parametrize("text", ["'x'", "'x' * 10**6"], ids=["little", "much"])
def test_a_full_device_is_said_in_a_line(text):
    with open("/dev/full", "w") as full:
        code, _, error = outcome(guarded(f"print({text})", "return 0"), stdout=full)
    assert (code, error) == (1, "the output could not be written: No space left on device\n")


def test_a_problem_of_a_file_is_said_in_a_line():
    code, output, error = outcome(guarded("open('/none/x')"))
    expected = "the command could not go on: /none/x: No such file or directory\n"
    assert (code, output, error) == (1, "", expected)


@pytest.mark.parametrize(
    "problem",
    [
        "OSError(28, 'it is full')",
        "OSError('it is full')",
        "BrokenPipeError(32, 'it is full')",
    ],
)
def test_a_problem_of_something_else_is_not_called_the_output_s(problem):
    """As of a database or a connection, which names no file."""
    code, output, error = outcome(guarded("print('data')", f"raise {problem}"))
    assert (code, output, error) == (1, "data\n", "the command could not go on: it is full\n")


def test_a_guarded_stream_is_what_it_was_otherwise():
    lines = [
        "sys.stdout.writelines(['a', 'b'])",
        "print(sys.stdout.encoding, sys.stdout.isatty(), sys.stdout.fileno())",
        "sys.stdout.flush()",
        "sys.stdout.buffer.write(b'c')",
        "return 0",
    ]
    code, output, error = outcome(guarded(*lines))
    assert (code, output.lower(), error) == (0, "abutf-8 false 1\nc", "")


def test_streams_that_are_closed_end_nothing(tmp_path):
    lines = [
        f"kept = open({str(tmp_path / 'x')!r}, 'w')",
        "print('to nobody'); print('to nobody', file=sys.stderr)",
        "kept.write('kept'); kept.close()",
        "return 3",
    ]
    closed = ["sh", "-c", 'exec "$@" >&- 2>&- <&-', "sh", *guarded(*lines)]
    assert outcome(closed) == (3, "", "") and (tmp_path / "x").read_text() == "kept"


def heed() -> None:
    """Take Ctrl-C as from a terminal: a shell's background has its children ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_ctrl_c_is_one_line_even_in_a_destructor():
    """Whose exceptions are lost."""
    lines = [
        "class Slow:",
        "    def __del__(self): print('ready', flush=True); signal.pause()",
        "Slow()",
        "return 0",
    ]
    check_interrupted(guarded(*lines), "stdout", "ready")


def test_ctrl_c_while_modules_are_imported_is_one_line():
    words = [sys.executable, "-X", "importtime", "-m", "icl_core", "list"]
    check_interrupted(words, "stderr", "numpy.linalg")


def check_interrupted(words: list[str], stream: str, sign: str) -> None:
    """Send Ctrl-C once a stream of the process has a line with the sign, and check its end."""
    process = subprocess.Popen(
        words, cwd=ROOT, preexec_fn=heed, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    output = getattr(process, stream)
    assert any(sign in line for line in output)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    lines = [line for line in error.splitlines(keepends=True) if "import time:" not in line]
    assert process.returncode == guard.INTERRUPTED and lines == ["interrupted\n"]


def test_a_shell_that_ignores_ctrl_c_for_its_background_is_heeded():
    words = guarded("os.kill(os.getpid(), signal.SIGINT)", "return 0")
    ignore = lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)  # noqa: E731
    assert outcome(words, preexec_fn=ignore) == (0, "", "")
