"""The stages of a job, and what shall happen as a worker comes to one."""

import itertools
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

from icl_core.jobs import job_progress, train
from icl_core.jobs.folder import Job
from icl_core.runs.local import LocalRuns
from tests.faults import bed

# Where each begins, how often a job comes there at most, and seconds that it takes.
STAGES: dict[str, tuple[Any, str, int, float]] = {
    "begin": (train, "begin_job", 1, 0.01),
    "training": (job_progress.JobProgress, "report", bed.STEPS, 0.01),
    "checkpoint": (job_progress.JobProgress, "_save_checkpoint", 4, 0.006),
    "metrics": (train, "_measure_run", 1, 0.002),
    "save": (LocalRuns, "save", 1, 0.02),
    "last state": (Job, "write_state", 6, 0.004),
}

GROUPS = {
    "training": ("begin", "training"),
    "writing a checkpoint": ("checkpoint",),
    "computing metrics": ("metrics",),
    "saving": ("save", "last state"),
}


def upon(stage: str, chance: Random, act: Callable[[], None]) -> None:
    """Have this process do `act` when it comes to a stage, once, at a random one of its times."""
    owner, name, most, _ = STAGES[stage]
    real = getattr(owner, name)
    count = itertools.count(1)
    time = chance.randint(1, most)

    def entered(*arguments: Any, **more: Any) -> Any:
        if next(count) == time:
            act()
        return real(*arguments, **more)

    setattr(owner, name, entered)


def killed_in(stage: str, chance: Random) -> int:
    """A worker that is killed within a stage. The kernel ends it by the default of SIGALRM: as
    abruptly as by SIGKILL, between any two instructions, and exactly in time on busy cores too."""
    span = STAGES[stage][3]

    def die() -> None:
        signal.setitimer(signal.ITIMER_REAL, max(1e-6, chance.uniform(0, span)))

    upon(stage, chance, die)
    return bed.work()


def halted_in(stage: str, chance: Random, reached: int, go: int) -> int:
    """A worker that says when it comes to a stage, and waits there until it may go on."""

    def waits() -> None:
        os.write(reached, b".")
        os.read(go, 1)

    upon(stage, chance, waits)
    return bed.work()


class Halted:
    """A worker that waits as soon as it comes to a stage; what is done then happens there."""

    def __init__(self, on: bed.Bed, stage: str) -> None:
        came, comes = os.pipe()
        goes, self._go = os.pipe()
        self._worker = on.begin(halted_in, stage, on.chance, comes, goes)
        os.close(comes)
        os.close(goes)
        with os.fdopen(came, "rb") as read:
            read.read(1)  # or it has ended before it came there
        self._ended = False

    def go_on(self) -> None:
        """Let it go on."""
        with suppress(OSError):
            os.write(self._go, b".")

    def end(self) -> None:
        """Wait for its end; it must be a good one."""
        if not self._ended:
            self._worker.result()
        self._ended = True

    def kill(self) -> None:
        """SIGKILL it."""
        self._worker.kill()
        self._worker.exit()
