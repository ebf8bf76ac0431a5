"""What a running experiment reports to: writes its state for the pages and its checkpoint for the next worker."""

import math
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from icl_core.experiment import Cancelled, Tensors
from icl_core.jobs.folder import Job
from icl_core.runs.disk import write_whole
from icl_core.runs.file import Damaged, pack, read

FIRST_CHECKPOINT = 4.0  # seconds of training
CHECKPOINT = 8.0  # seconds between checkpoints
TELL = 0.5  # seconds between states and curves on disk
LOOK = 0.1  # seconds between looks whether somebody cancelled


class Stopped(Exception):
    """The worker was asked to end; the checkpoint is written."""


class JobProgress:
    """The `Progress` of a job. `identity` is what a checkpoint must agree with: experiment, version, config, device and
    precision. Elsewhere, or less exactly, the same step would give other digits: a mixture that nobody can repeat."""

    def __init__(self, job: Job, identity: dict[str, Any], threads: int, stopped: Callable[[], bool]) -> None:
        self.job, self.identity, self.threads, self._stopped = job, identity, threads, stopped
        self.first_step, self.total, self.loss, self.deaths = 0, 0, math.nan, 0
        self._step = 0
        self._before = 0.0  # seconds of training by earlier workers
        self._state: Tensors | None = None
        self._read_checkpoint()
        self._start = time.monotonic()
        self._look, self._tell_at, self._checkpoint_at = self._start, self._start, self._start + FIRST_CHECKPOINT

    def resume(self) -> Tensors | None:
        """The state of the last checkpoint."""
        return self._state

    def report(
        self, done: int, total: int, loss: float, live: Callable[[], Tensors], state: Callable[[], Tensors]
    ) -> None:
        """See `icl_core.experiment.Progress`. By the clock, not by steps: these take microseconds or seconds."""
        self._step, self.total, self.loss = done, total, float(loss)
        now = time.monotonic()
        if now >= self._look:
            if self.job.cancel.exists():
                raise Cancelled("the run was cancelled")
            self._look = now + LOOK
        if self._stopped():
            self._write(self.job.checkpoint, state())
            raise Stopped
        if now >= self._checkpoint_at:
            self._write(self.job.checkpoint, state())
            self._checkpoint_at = time.monotonic() + CHECKPOINT
        if now >= self._tell_at:
            self.tell()
            self._write(self.job.live, live())
            # Writing may take long on a slow disk: never more than a tenth of the time.
            self._tell_at = max(now + TELL, time.monotonic() + 10 * (time.monotonic() - now))

    def seconds(self) -> float:
        """Seconds of training so far, earlier workers' too."""
        return self._before + time.monotonic() - self._start

    def tell(self, message: str = "") -> None:
        """Write the state for the pages."""
        made = self._step - self.first_step
        left = (time.monotonic() - self._start) * (self.total - self._step) / made if made > 0 else None
        self.job.tell(
            status="running",
            step=self._step,
            total=self.total,
            loss=self.loss,
            seconds=self.seconds(),
            seconds_left=left,
            message=message,
            pid=os.getpid(),
            first_step=self.first_step,
            deaths=self.deaths,
        )

    def _write(self, path: Path, tensors: Tensors) -> None:
        circumstances = {"step": self._step, "total": self.total, "loss": self.loss, "threads": self.threads}
        record = {**self.identity, **circumstances, "seconds": self.seconds()}
        write_whole(path, pack(tensors, record))

    def _read_checkpoint(self) -> None:
        """Go on from the checkpoint; a damaged one, or one of another version or device, is no use: start anew."""
        with suppress(OSError, Damaged):
            record, tensors = read(self.job.checkpoint)
            if {name: record.get(name) for name in self.identity} == self.identity:
                self._state, self._before = tensors, record["seconds"]
                self.first_step, self._step = record["step"], record["step"]
                self.total, self.loss, self.threads = record["total"], record["loss"], record["threads"]
