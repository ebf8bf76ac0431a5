"""Wait for jobs in a terminal, with a progress bar on stderr. Called by the command line, the build
of the shipped runs and sweeps."""

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from tqdm import tqdm

from icl_core.contract.message import printable_lines
from icl_core.jobs import folder, queue, spawn
from icl_core.jobs.faults import Failed
from icl_core.jobs.folder import write_problem
from icl_core.jobs.table import CANCELLED, WAITING
from icl_core.runs import store
from icl_core.runs.request import Request
from icl_core.runs.store import Header

_PAUSE = 0.2  # seconds between looks
CANCELLED_HERE = "cancelled; the same command goes on from the last checkpoint"
GOES_ON = "the training goes on for others who asked for it"
INTERRUPTED = "interrupted; the same command goes on from here"


def train_or_load(request: Request) -> Header:
    """Return the run that is asked for, trained if need be with a progress bar on stderr. Raises
    `Failed`; Ctrl-C cancels the training and raises `KeyboardInterrupt` with a sentence."""
    header = store.default().find(request)
    if header is not None:
        return header
    with interruptible():
        try:
            submit(request)
            _watch(request.key, request.id)
        except KeyboardInterrupt:
            is_cancelled = queue.cancel(request.key, visitor="")
            raise KeyboardInterrupt(CANCELLED_HERE if is_cancelled else GOES_ON) from None
    header = store.default().find(request)
    if header is None:
        raise Failed(
            "\n".join(store.default().messages())
            or "the run was made but is no longer in the cache"
        )
    return header


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C raise `KeyboardInterrupt`, for what has to be tidied, where it would end the
    command at once (`icl_core.command.guard`)."""
    handler = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if handler is signal.SIG_IGN or not is_main:  # as in a shell's background, a script's thread
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def submit(request: Request) -> str:
    """Request a run as `queue.submit` does, and return its key. Raises `BadSetting`, and `Failed`
    where the request cannot be written."""
    try:
        return queue.submit(request)
    except OSError as problem:
        raise Failed(f"the training cannot start: {write_problem(problem)}") from problem


def _watch(key: str, experiment_id: str) -> None:
    """Show the progress of a job until it ends. Raises `Failed` if it is not done then."""
    printed: set[str] = set()
    with _bar(experiment_id) as bar:
        while (state := queue.state(key)) is not None and not state.ended:
            spawn.ensure_workers()
            queue.watch(key, f"terminal-{os.getpid()}")
            print_obstacle([state], printed)
            bar.total = state.total or None
            loss = state.status if math.isnan(state.loss) else f"loss {state.loss:.4g}"
            bar.set_postfix_str(loss, refresh=False)
            bar.update(max(0, state.step - bar.n))
            bar.refresh()
            time.sleep(_PAUSE)
    if state is not None and state.status != "done":
        end = "was cancelled" if state.status == CANCELLED else "failed: "
        raise Failed(f"the training {end}{state.message}")


def _bar(title: str) -> tqdm:
    """Return a progress bar for a terminal; in a notebook its widget, or a line of text where the
    package ipywidgets is missing."""
    ipython = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if ipython is None or not hasattr(ipython, "kernel"):
        # disable=None: no bar into a file
        return tqdm(desc=title, unit="step", file=sys.stderr, disable=None)
    if find_spec("ipywidgets"):
        from tqdm.notebook import tqdm as widget

        return widget(desc=title, unit="step")
    return tqdm(desc=title, unit="step", file=sys.stderr)


def print_obstacle(states: list[queue.JobState], printed: set[str]) -> None:
    """Print what keeps a job waiting, such as a full disk, and which machines are refused, without
    the messages in `printed`, to which the new ones are added. Prints also if no bar is drawn."""
    waits = {state.message for state in states if state.status in WAITING and state.message}
    for message in sorted({*waits, *folder.read_cluster_status().refused} - printed):
        tqdm.write(printable_lines(message), file=sys.stderr)
        printed.add(message)


def watch_all(keys: list[str], workers: int | None) -> None:
    """Wait until all jobs have ended, `workers` at a time, with a progress bar that counts runs.

    Raises `ValueError` for less than one worker.
    """
    spawn.check_count(workers)
    printed: set[str] = set()
    with tqdm(total=len(keys), unit="run", file=sys.stderr, disable=None if keys else True) as bar:
        while True:
            states = [state for key in keys if (state := queue.state(key)) is not None]
            ended = sum(state.ended for state in states)
            print_obstacle(states, printed)
            progress = (
                f"{state.experiment} {state.step / max(state.total, 1):.0%}"
                for state in states
                if state.status == "running"
            )
            bar.set_postfix_str(", ".join(progress), refresh=False)
            bar.update(ended - bar.n)
            bar.refresh()
            if ended == len(states):
                return
            spawn.ensure_workers(workers)
            time.sleep(5 * _PAUSE)  # runs take minutes, and looking costs the trainings time
