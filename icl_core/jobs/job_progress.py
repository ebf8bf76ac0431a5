"""What a running experiment reports to: writes its state for the pages and its checkpoint for the
next worker."""

import math
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from icl_core import registry
from icl_core.contract.experiment import Cancelled, NextTraining, Tensors
from icl_core.jobs.folder import Job, write_problem
from icl_core.jobs.reading import plain_file
from icl_core.jobs.shared import SharedTrainings
from icl_core.jobs.warm_start import Ends
from icl_core.runs import store
from icl_core.runs.disk import write_whole
from icl_core.runs.file import Damaged, pack, read

FIRST_CHECKPOINT = 4.0  # seconds of training
CHECKPOINT = 8.0  # seconds between checkpoints
SOON, TELL = (
    0.15,
    0.5,
)  # seconds between states and curves on disk, in a run's first seconds and later
LOOK = 0.1  # seconds between looks whether somebody cancelled
THREADS = 1  # tiny models want one; two on busy cores are several times slower


class Stopped(Exception):
    """The worker was asked to end; the checkpoint is written."""


class LeaseLost(Exception):
    """Somebody removed the lock of the job; another worker may have it by now."""


def identity_of(request: dict[str, Any]) -> dict[str, Any]:
    """What the files of a job that was asked for so must agree with, on this device."""
    from icl_core.machine import device  # imports torch

    return {
        "experiment": request["experiment"],
        "version": registry.version(request["experiment"]),
        "config": request["config"],
        "device": device.describe(),
        "precision": device.precision(),
    }


class JobProgress:
    """The `Progress` of a job. `identity` is what a checkpoint must agree with: experiment,
    version, config, device and precision. Elsewhere, or less exactly, the same step would give
    other digits: a mixture that nobody can repeat.

    `stopped` tells whether the worker shall end, `mine` whether it still has the job's lock. A file
    that cannot be written ends no training: the one before stays, and the next is tried at its
    time.
    """

    def __init__(
        self,
        job: Job,
        identity: dict[str, Any],
        threads: int,
        stopped: Callable[[], bool],
        mine: Callable[[], bool],
    ) -> None:
        self.job, self.identity, self.threads, self._stopped, self._mine = (
            job,
            identity,
            threads,
            stopped,
            mine,
        )
        self.first_step, self.total, self.loss, self.deaths, self.tries = 0, 0, math.nan, 0, 0
        self._born = psutil.Process().create_time()
        self.together = 1  # runs that this process makes as one
        self._trouble, self._step, self._phase, self._spare = "", 0, ("", 0, 0), 0
        self._entered = False  # and nothing reported since
        self._shared, self._ends = SharedTrainings(job, identity), Ends(identity)
        self._before = 0.0  # seconds of computing by earlier workers
        self._state: Tensors | None = None
        self._read_checkpoint()
        self._given = (
            self.first_step + self._shared.steps()
        )  # steps that were not made in the time since `_start`
        from icl_core.machine import device  # imports torch

        self._clock, self._start = device.clock, time.monotonic()
        self._began = self._clock()
        self._look, self._tell_at, self._checkpoint_at = (
            self._start,
            self._start,
            self._start + FIRST_CHECKPOINT,
        )

    def resume(self) -> Tensors | None:
        """The state of the last checkpoint."""
        return self._state

    def take(self, trainings: Sequence[str]) -> NextTraining:
        """See `Progress` in the contract."""
        while True:
            self.check()
            theirs = self._shared.steps()
            for name in trainings:
                made = self._shared.found(name)
                if made is not None:
                    self._step += theirs - self._shared.steps()  # they count as ours from here on
                    return NextTraining(name, made)
            for name in trainings:
                if self._shared.begin(name):
                    self._given -= (
                        theirs - self._shared.steps()
                    )  # where it goes on is counted at the first report
                    self._spare, self._taken_at = (
                        len(self._shared.untouched(trainings)),
                        self._clock(),
                    )
                    return NextTraining(name, resumed=self._shared.part(name))
            self._spare = 0
            self.enter("waiting for other cores")
            time.sleep(LOOK)

    def give(self, name: str, made: Tensors) -> None:
        """See `Progress` in the contract."""
        self._shared.give(name, made, self._clock() - self._taken_at)

    def earlier(self, name: str) -> Tensors:
        """See `Progress` in the contract."""
        return self._ends.earlier(name)

    def end(self, name: str, state: Callable[[], Tensors]) -> None:
        """See `Progress` in the contract."""
        self._ends.keep(name, state)

    def enter(self, what: str, first: int = 0, steps: int = 0) -> None:
        """See `Progress` in the contract. What is no training counts as all the steps before it."""
        self.check()
        self._phase, self._entered = (what, first, steps), steps > 0
        self.tell()

    def report(
        self,
        done: int,
        total: int,
        loss: float,
        live: Callable[[], Tensors],
        state: Callable[[], Tensors],
    ) -> None:
        """See `Progress` in the contract. By the clock, not by steps: these take microseconds or
        seconds. Raises `BadSetting` once the curves alone are more than the cache can keep."""
        if (
            self._entered
        ):  # a training may go on from where another process, or a shorter run, has left it
            self._given += done - max(self._step, self._phase[1])
            self._entered = False
        self._step, self.total, self.loss = done, total, float(loss)
        now = time.monotonic()
        stopped = self._stopped()
        if stopped or now >= min(self._look, self._checkpoint_at, self._tell_at):
            self.check()
            self._look = now + LOOK
        if stopped:
            self._keep(state())
            raise Stopped
        if now >= self._checkpoint_at:
            self._keep(state())
            self._checkpoint_at = time.monotonic() + CHECKPOINT
        if now >= self._tell_at:
            self.tell()
            with suppress(OSError):
                store.default().check_room(
                    self._write(self.job.live, live())
                )  # the run will be larger still
            # Writing may take long on a slow disk: never more than a tenth of the time, all runs of
            # a program together.
            pause = min(TELL * self.together**0.5, max(SOON, (now - self._start) / 10))
            self._tell_at = max(
                now + pause, time.monotonic() + 10 * self.together * (time.monotonic() - now)
            )

    def check(self) -> None:
        """Raise `Cancelled` if somebody asked for that, `Lost` if the job is no longer ours."""
        if not self._mine():
            raise LeaseLost
        if self.job.cancelled():
            raise Cancelled("the run was cancelled")

    def seconds(self) -> float:
        """Seconds of computing so far, earlier workers' too; of what is made as one, its share."""
        return self._before + self._shared.seconds + (self._clock() - self._began) / self.together

    def leave(self) -> None:
        """Let go of what was taken: the run has ended, or is made by another `JobProgress`."""
        self._shared.leave()

    def tell(self) -> None:
        """Write the state for the pages."""
        step = min(self._step + self._shared.steps(), self.total)
        made = step - self._given
        left = (time.monotonic() - self._start) * (self.total - step) / made if made > 0 else None
        phase, first, steps = self._phase
        with suppress(OSError):
            self.job.tell(
                status="running",
                step=step,
                total=self.total,
                spare=self._spare,
                phase=phase,
                phase_step=min(max(self._step - first, 0), steps),
                phase_steps=steps,
                loss=self.loss,
                seconds=self.seconds(),
                seconds_left=left,
                together=self.together,
                message=self._trouble,
                pid=os.getpid(),
                born=self._born,
                first_step=self.first_step,
                deaths=self.deaths,
                tries=self.tries,
            )

    def _keep(self, state: Tensors) -> None:
        """Write a checkpoint; where that fails, say so and keep the one before."""
        try:
            self._write(self.job.checkpoint, state)
            self._trouble = ""
        except OSError as problem:
            self._trouble = (
                f"{write_problem(problem)}; the training goes on, but stopping it now would "
                "lose some steps"
            )

    def _write(self, path: Path, tensors: Tensors) -> int:
        circumstances = {
            "step": self._step,
            "total": self.total,
            "loss": self.loss,
            "threads": self.threads,
        }
        record = {**self.identity, **circumstances, "seconds": self.seconds()}
        write_whole(path, content := pack(tensors, record))
        return len(content)

    def _read_checkpoint(self) -> None:
        """Go on from the checkpoint; a damaged one, or one of another version or device, is no use:
        start anew."""
        if not plain_file(self.job.checkpoint):
            return
        from icl_core.training import phases  # imports torch

        with suppress(OSError, Damaged, KeyError):  # KeyError: it is the file of a run
            record, tensors = read(self.job.checkpoint)
            reached = [record[name] for name in ("seconds", "step", "total", "loss", "threads")]
            if {name: record.get(name) for name in self.identity} == self.identity:
                self._state, self.first_step = tensors, record["step"]
                self._shared.merged(phases.kept(tensors))
                self._before, self._step, self.total, self.loss, self.threads = reached
