"""A worker that has nothing of its own helps another: it trains what that one's run has left,
training by training."""

import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from icl_core import registry
from icl_core.contract.experiment import Cancelled, NextTraining, Tensors
from icl_core.contract.settings_io import from_stored
from icl_core.jobs import faults
from icl_core.jobs.folder import Job
from icl_core.jobs.job_progress import (
    CHECKPOINT,
    FIRST_CHECKPOINT,
    LOOK,
    THREADS,
    Stopped,
    identity_of,
)
from icl_core.jobs.shared import SharedTrainings
from icl_core.jobs.warm_start import Ends
from icl_core.machine import malloc


class NothingLeft(Exception):
    """All trainings of the run are done or in hand."""


class HelperProgress:
    """The `Progress` of a worker that helps at a job. It shows nothing: the job's own
    worker does."""

    def __init__(
        self,
        job: Job,
        shared: SharedTrainings,
        stopped: Callable[[], bool],
        wanted: Callable[[], bool],
    ) -> None:
        from icl_core.machine import device  # imports torch

        self.job, self.shared, self.trained = job, shared, 0
        self._ends = Ends(shared.identity)
        self._stopped, self._wanted, self._clock = stopped, wanted, device.clock
        self._name, self._first, self._began = "", 0, 0.0
        self._look = self._checkpoint_at = time.monotonic()

    def resume(self) -> Tensors | None:
        """What is there lies with the trainings."""
        return None

    def take(self, trainings: Sequence[str]) -> NextTraining:
        """See `Progress` in the contract. Raises `NothingLeft` also once this worker is wanted
        elsewhere."""
        self._check()
        for name in trainings:
            made = self.shared.found(name)
            if made is not None:
                return NextTraining(name, made)
        for name in self.shared.untouched(trainings):
            if not self._wanted() and self.shared.begin(name):
                self._name, self._began = name, self._clock()
                self._checkpoint_at = time.monotonic() + FIRST_CHECKPOINT
                return NextTraining(name, resumed=self.shared.part(name))
        raise NothingLeft

    def give(self, name: str, made: Tensors) -> None:
        """See `Progress` in the contract."""
        self._check()
        self.shared.give(name, made, self._clock() - self._began)
        self.trained += 1

    def earlier(self, name: str) -> Tensors:
        """See `Progress` in the contract."""
        return self._ends.earlier(name)

    def end(self, name: str, state: Callable[[], Tensors]) -> None:
        """See `Progress` in the contract."""
        self._check()
        self._ends.keep(name, state)

    def enter(self, what: str, first: int = 0, steps: int = 0) -> None:
        """See `Progress` in the contract."""
        self._first = first if steps else self._first

    def report(
        self,
        done: int,
        total: int,
        loss: float,
        live: Callable[[], Tensors],
        state: Callable[[], Tensors],
    ) -> None:
        """See `Progress` in the contract."""
        now = time.monotonic()
        if self._stopped() or now >= self._checkpoint_at:
            self._check()
            prefix = f"now/{self._name}/"
            found = {
                key.removeprefix(prefix): part
                for key, part in state().items()
                if key.startswith(prefix)
            }
            self.shared.keep(self._name, found)
            self._checkpoint_at = time.monotonic() + CHECKPOINT
        if self._stopped():
            raise Stopped
        if now >= self._look:
            self._check()
            self.shared.step(self._name, done - self._first)
            self._look = now + LOOK

    def _check(self) -> None:
        """Before anything is written, too: what is forgotten must not begin anew."""
        if self.job.cancelled() or self.job.request() is None:
            raise Cancelled


@malloc.bounded_heap()
def assist(job: Job, stopped: Callable[[], bool], wanted: Callable[[], bool]) -> int:
    """Train what the run of `job` has left, until nothing is or this worker is `wanted` elsewhere;
    the number of trainings. What goes wrong here goes wrong with the job's own worker, too, and is
    told by that one. Raises `GpuLost` where this one must end."""
    from icl_core.machine import device  # imports torch

    request: dict[str, Any] = job.request() or {}
    shared, progress, fault = None, None, ""
    try:
        experiment = registry.experiment(request["experiment"])
        device.set_threads(THREADS)
        shared = SharedTrainings(job, identity_of(request))
        progress = HelperProgress(job, shared, stopped, wanted)
        experiment.run(from_stored(experiment.config, request["config"]), progress)
    except (NothingLeft, Cancelled, Stopped):
        pass
    except Exception as problem:
        traceback.print_exc()
        fault = faults.fault_kind(problem)
    if shared:
        shared.leave()
    if fault == faults.GPU:
        raise faults.GpuLost
    if fault == faults.MEMORY:
        device.release()
    return progress.trained if progress else 0
