"""A cache of its own with two finished runs, and the processes that use it: pages, workers, whoever
looks.

All are forked from one process that has imported everything, so that one costs milliseconds in
place of seconds. None holds anything of another: a cache is opened by each for itself.
"""

import faulthandler
import multiprocessing
import os
import shutil
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random
from typing import Any

from icl_core import registry
from icl_core.jobs import estimate, job_progress, queue, spawn, table, train, worker
from icl_core.machine import device
from icl_core.runs import store
from icl_core.runs.header import key_of
from icl_core.runs.request import Request
from tests.house import TOY

STEPS = 120  # of a training; some tens of milliseconds
FINISHED = (0, 1)  # seeds of the runs that are there
ASKED = (2, 3, 4)  # and of those that are asked for
PATIENCE = 60.0  # seconds after which a process hangs
NOBODY = 65534
_CONTEXT = multiprocessing.get_context("fork")


class Wrong(Exception):
    """A promise that was not kept: this is counted as lost."""


class NotHere(Exception):
    """The fault cannot be injected on this machine; says what it needs."""


def settings(seed: int) -> Any:
    """What is asked for by a seed."""
    return registry.experiment(TOY).config(steps=STEPS, seed=seed)


def key(seed: int) -> str:
    """The key of its run."""
    return key_of(TOY, settings(seed))


def prepare() -> None:
    """Once, in the process that all others are forked from: import everything, and make time pass
    faster."""
    registry.experiment(TOY)
    device.prepare()
    estimate.know_pace()
    job_progress.FIRST_CHECKPOINT = job_progress.CHECKPOINT = 0.01
    job_progress.FIRST_WRITE = job_progress.WRITE = 0.01
    job_progress.LOOK = 0.002
    train.FIRST_PAUSE = 0.0
    train.source_mtimes = dict  # nobody changes the code meanwhile
    spawn._start_workers = lambda *arguments: None  # a worker is begun by the case itself
    # or every process would copy all pages of this one when it looks for garbage
    device.keep_imports()


class Bed:
    """Everything that one case needs: a folder with a cache, chance, and processes."""

    def __init__(self, folder: Path, chance: Random) -> None:
        self.folder = folder
        self.chance = chance
        self.user = os.getuid()
        self.cache = folder / "cache"
        self.log = folder / "output.log"

    def lay(self, cache: Path, original: Path | None) -> None:
        """Use this folder as the cache, with a copy of what `original` holds."""
        self.cache = cache
        if original:
            shutil.copytree(original, cache, dirs_exist_ok=True)

    def give_to(self, user: int) -> None:
        """Let the cache, and all processes from now on, be of another user."""
        self.user = user
        for path in (self.folder, *self.folder.rglob("*")):
            os.chown(path, user, user)

    def begin(self, act: Callable[..., Any], *arguments: Any) -> "Process":
        """A process that does this."""
        return Process(self, act, arguments)

    def act(self, act: Callable[..., Any], *arguments: Any) -> Any:
        """What this gives back, done by a process that knows nothing of before."""
        if self.user != os.getuid():
            return self.begin(act, *arguments).result()
        self._enter()
        try:
            return act(*arguments)
        finally:
            store.default().close()

    def _enter(self) -> None:
        os.environ["ICL_CACHE_DIR"] = str(self.cache)
        os.environ["ICL_ARTIFACTS"] = str(self.folder / "artifacts")
        if self.user != os.getuid():
            os.setgroups([])
            os.setgid(self.user)
            os.setuid(self.user)
        store.default.cache_clear()
        table._last_look = table._Look()
        queue._placed_states.clear()

    def sleep(self, longest: float) -> float:
        """A random time up to the longest, most often a short one."""
        return longest * self.chance.random() ** 2


class Process:
    """A process on a bed; its result, if it comes to its end."""

    def __init__(self, bed: Bed, act: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._receiver, sender = _CONTEXT.Pipe(duplex=False)
        self._name = getattr(act, "__name__", "a process")
        self._real: BaseProcess = _CONTEXT.Process(target=_live, args=(bed, sender, act, arguments))
        self._real.start()
        sender.close()
        self.pid: int = self._real.pid or 0

    def kill(self) -> None:
        """SIGKILL."""
        self._real.kill()

    def exit(self) -> int:
        """Wait for its end; the exit code, that of a signal negative. Raises `Wrong` if
        it hangs."""
        self._real.join(PATIENCE)
        if self._real.is_alive():
            where = _state(self.pid)
            self._real.kill()
            self._real.join()
            raise Wrong(f"{self._name} hangs {where}")
        return self._real.exitcode or 0

    def result(self) -> Any:
        """What it gives back. Raises `Wrong` if it hangs, dies or raises."""
        has_sent = self._receiver.poll(PATIENCE)
        problem = value = None
        with suppress(EOFError):  # its exit code says why
            problem, value = self._receiver.recv() if has_sent else (None, None)
        code = self.exit()
        if code or not has_sent:
            raise Wrong(f"{self._name} ended with exit code {code}")
        if problem is not None:
            raise Wrong(f"{self._name} raised {problem}")
        return value


def _state(pid: int) -> str:
    """What the system tells of a process that hangs: D is one that waits for a disk, and no fault
    of ours."""
    with suppress(OSError):
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return f"in state {state}, {Path(f'/proc/{pid}/wchan').read_text()}"
    return ""


def _live(bed: Bed, sender: Any, act: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    with open(bed.log, "ab", buffering=0) as log:
        for stream in (1, 2):
            os.dup2(log.fileno(), stream)
    faulthandler.dump_traceback_later(0.9 * PATIENCE)  # where it hangs
    bed._enter()
    message: tuple[str | None, Any]
    try:
        message = None, act(*arguments)
        store.default().close()
    except Wrong as problem:
        message = str(problem), None
    except Exception as problem:
        traceback.print_exc()
        message = f"{type(problem).__name__}: {problem}", None
    sys.stdout.flush()
    sender.send(message)


def submit(seed: int) -> str:
    """Ask for a run, as a page does."""
    return queue.submit(Request(TOY, settings(seed)))


def work(slots: int = 1) -> int:
    """A worker that trains what waits, if anything does."""
    return worker.work(once=True, slots=slots)
