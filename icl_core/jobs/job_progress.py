"""The `Progress` that a job's own worker hands to the experiment: it writes the state and the
curves for the pages and the checkpoint for the next worker; and the preview of a run that is still
training, its model for the stage: small, written seldom. Called by `train` and `worker`."""

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil

from icl_core import registry
from icl_core.contract import seeds
from icl_core.contract.experiment import Cancelled, NextTraining, Run, Tensors
from icl_core.contract.progress import LazyTensors
from icl_core.contract.run import compact
from icl_core.contract.settings_io import from_stored
from icl_core.jobs import table
from icl_core.jobs.folder import Job, write_problem
from icl_core.jobs.phase_helper import (
    CHECKPOINT,
    FIRST_CHECKPOINT,
    LOOK,
    SharedProgress,
    SharedTrainings,
    Stopped,
)
from icl_core.jobs.table import CANCELLED
from icl_core.runs import store
from icl_core.runs.disk import write_whole
from icl_core.runs.file import Damaged, pack, read

FIRST_WRITE = 0.15  # seconds between two writes of state and curves, at first
WRITE = 0.5  # and later, if writing is fast
# Seconds by whose steps the time left is told: the later half of the training's, within these
# bounds, so that what is told grows steadier.
RECENT = 5.0
LONGEST_RECENT = 60.0


class _Reading(NamedTuple):
    """How many steps were timed so far, and at which time."""

    time: float
    steps: int


class LeaseLost(Exception):
    """Somebody removed the lock of the job; another worker may have it by now."""


class JobProgress(SharedProgress):
    """The `Progress` of a job's own worker.

    `identity` is what a checkpoint must agree with (`phase_helper.identity_of`): on another device,
    or with less precision, the same step would give other digits, and nobody could repeat the
    mixture. `stopped` returns whether the worker must end, `has_lease` whether it still has the
    job's lock. A file that cannot be written ends no training: the one before stays, and the next
    is tried when it is due.
    """

    def __init__(
        self,
        job: Job,
        identity: dict[str, Any],
        threads: int,
        stopped: Callable[[], bool],
        has_lease: Callable[[], bool],
    ) -> None:
        super().__init__(job, SharedTrainings(job, identity), stopped)
        self.identity = identity
        self.threads = threads
        self.first_step = 0  # at which this worker continues
        self.total = 0
        self.loss = math.nan
        self.deaths = 0  # of workers at this job, without progress between them
        self.tries = 0  # to save the run
        self.together = 1  # runs that this process trains as one tensor program
        self._has_lease = has_lease
        self._born = psutil.Process().create_time()
        self._obstacle = ""  # why the last checkpoint could not be written
        self._step = 0
        self._spare = 0  # trainings that another worker could do
        self._phase = ("", 0, 0)  # what is done now, its first step and its number of steps
        self._entered = False  # a training was entered, and nothing reported since
        self.seconds_before = 0.0  # of computing by earlier workers
        self._checkpoint: Tensors | None = None
        self._read_checkpoint()
        # steps that were not done in the time since `_start`, for the estimate of the time left
        self._steps_not_timed = self.first_step + self.shared.steps_elsewhere()
        self.start = time.monotonic()
        self._clock_start = self._clock()
        self._readings = [_Reading(self.start, 0)]
        self._look_at = self.start
        self._write_at = self.start
        self._checkpoint_at = self.start + FIRST_CHECKPOINT
        self._preview = PreviewWriter(job.preview)

    def resume(self) -> Tensors | None:
        """Return the state of the last checkpoint."""
        return self._checkpoint

    def take(self, trainings: Sequence[str]) -> NextTraining:
        while True:
            self.check()
            elsewhere = self.shared.steps_elsewhere()
            if finished := self._finished(trainings):
                # its steps count as this worker's from here on
                self._step += elsewhere - self.shared.steps_elsewhere()
                return finished
            for name in trainings:
                if self.shared.begin(name):
                    # the step at which it continues is counted at the first report
                    self._steps_not_timed -= elsewhere - self.shared.steps_elsewhere()
                    self._spare = len(self.shared.not_begun(trainings))
                    return self._begun(name)
            self._spare = 0
            self.enter("waiting for other cores")
            time.sleep(LOOK)

    def enter(self, what: str, first: int = 0, steps: int = 0) -> None:
        self.check()
        self._phase = (what, first, steps)
        self._entered = steps > 0
        self.write_state()

    def report(
        self,
        done: int,
        total: int,
        loss: float,
        live: LazyTensors,
        state: LazyTensors,
        preview: LazyTensors = dict,
    ) -> None:
        """See `Progress` in the contract. What is due is decided by the clock, not by steps, which
        take microseconds or seconds. Raises `BadSetting` once the curves alone are larger than the
        cache can keep."""
        if self._entered:
            # the training may continue from where another process, or a shorter run, has left it
            self._steps_not_timed += done - max(self._step, self._phase[1])
            self._entered = False
        self._step = done
        self.total = total
        self.loss = float(loss)
        now = time.monotonic()
        stopped = self._stopped()
        if stopped or now >= min(self._look_at, self._checkpoint_at, self._write_at):
            if table.cancel_request(self.job.key) == CANCELLED and done and self._has_lease():
                self._save_checkpoint(state())  # a visitor may want it to go on
                self._preview.write(preview, self._record, at_once=True)
                self.write_state()
            self.check()
            self._look_at = now + LOOK
        if stopped:
            self._save_checkpoint(state())
            raise Stopped
        if now >= self._checkpoint_at:
            self._save_checkpoint(state())
            self._checkpoint_at = time.monotonic() + CHECKPOINT
        if now >= self._write_at:
            self.write_state()
            with suppress(OSError):  # the curves before stay
                size = self._write(self.job.live, live())
                store.default().check_room(size)  # the run will be larger still
            # On a slow disk, writing takes a tenth of the time at most, that of all runs of a
            # tensor program together.
            longest = WRITE * self.together**0.5
            pause = min(longest, max(FIRST_WRITE, (now - self.start) / 10))
            self._write_at = max(
                now + pause, time.monotonic() + 10 * self.together * (time.monotonic() - now)
            )
        self._preview.together = self.together
        self._preview.write(preview, self._record)

    def check(self) -> None:
        """Raise `Cancelled` if the job is to be cancelled, `LeaseLost` if its lock is gone."""
        if not self._has_lease():
            raise LeaseLost
        if table.cancel_request(self.job.key):
            raise Cancelled("the run was cancelled")

    def seconds(self) -> float:
        """Return the seconds of computing so far, those of earlier workers and of helpers included;
        of a tensor program for several runs, this run's share."""
        return (
            self.seconds_before
            + self.shared.seconds
            + (self._clock() - self._clock_start) / self.together
        )

    def write_state(self) -> None:
        """Write the state for the pages."""
        step = min(self._step + self.shared.steps_elsewhere(), self.total)
        phase, first, steps = self._phase
        seconds = self._step_seconds(step - self._steps_not_timed)
        with suppress(OSError):  # the state before stays
            self.job.write_state(
                status="running",
                step=step,
                total=self.total,
                spare=self._spare,
                phase=phase,
                phase_step=min(max(self._step - first, 0), steps),
                phase_steps=steps,
                loss=self.loss,
                seconds=self.seconds(),
                seconds_left=None if seconds is None else (self.total - step) * seconds,
                together=self.together,
                message=self._obstacle,
                pid=os.getpid(),
                born=self._born,
                first_step=self.first_step,
                deaths=self.deaths,
                tries=self.tries,
            )

    def _step_seconds(self, timed_steps: int) -> float | None:
        """Return the seconds that a step takes, by the clock, at the pace of the later half of the
        training's seconds; None before the first step. `timed_steps` are those done since the
        start, by this worker and its helpers."""
        now = _Reading(time.monotonic(), timed_steps)
        recent = min(LONGEST_RECENT, max(RECENT, (now.time - self.start) / 2))
        if timed_steps < self._readings[-1].steps:  # a training has begun again
            self._readings = [now]
        earlier = [reading for reading in self._readings if reading.steps < timed_steps]
        if not earlier:
            return None
        old = [reading for reading in earlier if reading.time <= now.time - recent]
        since = old[-1] if old else earlier[0]
        self._readings = [reading for reading in self._readings if reading.time >= since.time]
        if timed_steps > self._readings[-1].steps:
            self._readings.append(now)
        return (now.time - since.time) / (timed_steps - since.steps)

    def _save_checkpoint(self, state: Tensors) -> None:
        """Write a checkpoint. If that fails the one before stays, and the state says so."""
        try:
            self._write(self.job.checkpoint, state)
            self._obstacle = ""
        except OSError as problem:
            self._obstacle = (
                f"{write_problem(problem)}; the training goes on, but stopping it now would lose "
                "some steps"
            )

    def _write(self, path: Path, tensors: Tensors) -> int:
        """Write tensors with the circumstances of this step; return the number of bytes."""
        content = pack(tensors, self._record())
        write_whole(path, content)
        return len(content)

    def _record(self) -> dict[str, Any]:
        """Return the circumstances of this step."""
        circumstances = {
            "step": self._step,
            "total": self.total,
            "loss": self.loss,
            "threads": self.threads,
        }
        return {**self.identity, **circumstances, "seconds": self.seconds()}

    def _read_checkpoint(self) -> None:
        """Continue from the checkpoint. Start anew if there is none, or if it is damaged or of
        another version or device."""
        if not self.job.checkpoint.exists():
            return
        from icl_core.training import phases  # after torch: it must not get its stand-in

        with suppress(OSError, Damaged, KeyError):  # KeyError: the file of a run in its place
            record, tensors = read(self.job.checkpoint)
            names = ("seconds", "step", "total", "loss", "threads")
            reached = {name: record[name] for name in names}  # all, before anything is set
            if {name: record.get(name) for name in self.identity} == self.identity:
                self._checkpoint = tensors
                self.first_step = reached["step"]
                self.shared.mark_counted(phases.finished_phases(tensors))
                self.seconds_before = reached["seconds"]
                self._step = reached["step"]
                self.total = reached["total"]
                self.loss = reached["loss"]
                self.threads = reached["threads"]


LARGEST_PREVIEW = 300_000  # bytes of a file
PREVIEW_INTERVAL = 1.0  # seconds between the beginnings of two writes, at least
PREVIEW_SHARE = 0.03  # of the training's time, at most
FINAL_WEIGHTS = "final/"


class PreviewWriter:
    """Writes the previews of one job, as often as they may be written.

    `clock` returns seconds. `together` is the number of runs that the process trains at the same
    time: they share the time that previews may take.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.together = 1
        self._path = path
        self._clock = clock
        self._due = clock()  # the first one before the first step

    def write(
        self,
        preview: Callable[[], Tensors],
        record: Callable[[], Mapping[str, Any]],
        at_once: bool = False,
    ) -> bool:
        """Write the file if it is due, or `at_once` as the training is cancelled, and if there is a
        model that fits into it; return whether it was written. A file that cannot be written ends
        no training: the one before stays."""
        start = self._clock()
        if start < self._due and not at_once:
            return False
        content = packed_preview(preview(), record())
        written = False
        if content:
            with suppress(OSError):
                write_whole(self._path, content)
                written = True
        end = self._clock()
        # `took` of `took + pause` is at most PREVIEW_SHARE
        pause = (end - start) * self.together * (1 - PREVIEW_SHARE) / PREVIEW_SHARE
        self._due = max(start + PREVIEW_INTERVAL, end + pause)
        return written


def packed_preview(tensors: Tensors, record: Mapping[str, Any]) -> bytes:
    """Return the bytes of a preview's file; none if there is no model, or it does not fit."""
    if not tensors:
        return b""
    half = {name: seeds.half(array) for name, array in tensors.items()}
    if sum(array.nbytes for array in half.values()) < LARGEST_PREVIEW:
        content = pack(half, record)
        if len(content) <= LARGEST_PREVIEW:
            return content
    small = dict(half)
    for name, array in tensors.items():
        if name.startswith(FINAL_WEIGHTS) and np.ndim(array) >= 2:
            del small[name]
            small |= compact(name, np.asarray(array, np.float32))
    if sum(array.nbytes for array in small.values()) < LARGEST_PREVIEW:
        content = pack(small, record)
        if len(content) <= LARGEST_PREVIEW:
            return content
    return b""


def preview_stamp(key: str) -> int:
    """Return a number that changes whenever the preview of a job is written: the time of that, in
    ns since 1970; 0 if there is none."""
    with suppress(OSError):  # there is none, or it was deleted meanwhile
        return Job(key).preview.stat().st_mtime_ns
    return 0


def read_preview(key: str) -> Run | None:
    """Return the model of a job as it was at its last preview, as a run that is not finished; None
    if there is none.

    `info` has the job's `step`, `total` and `seconds` at that time. The run also holds what its
    drawings need that follows from the settings alone (`Experiment.preview`).
    """
    try:
        record, stored = read(Job(key).preview)
        experiment = registry.experiment(record["experiment"])
        config = from_stored(experiment.config, record["config"])
        info = {name: record[name] for name in ("version", "step", "total", "seconds")}
    except (OSError, Damaged, ValueError, TypeError, KeyError):  # KeyError: it is another file
        return None
    curves: Tensors = {}
    with suppress(OSError, Damaged):  # they are written apart, and may be gone
        _, curves = read(Job(key).live)
    tensors = _unpacked_preview(stored)
    known = experiment.preview(config, tensors)
    return Run(config, {**curves, **known, **tensors}, info, record["digest"], finished=False)


def _unpacked_preview(stored: Tensors) -> dict[str, np.ndarray]:
    """Return the tensors of a preview, floats in single precision."""
    tensors: dict[str, np.ndarray] = {}
    for name, array in stored.items():
        inner = name.removeprefix("snapshot/")
        if name.startswith("scale/"):
            continue
        if name.startswith("snapshot/") and f"scale/{inner}" in stored:
            tensors[inner] = array.astype(np.float32) * stored[f"scale/{inner}"].astype(np.float32)
        elif np.issubdtype(array.dtype, np.floating):
            tensors[name] = array.astype(np.float32)
        else:
            tensors[name] = array
    return tensors
