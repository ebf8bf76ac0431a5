"""Share the trainings of one job between several workers: each training is done by one of them,
with the digits that one worker alone would get.

    <job>/phases/<training>.lock              held by the worker that does the training
                 <training>.step              its number of steps so far
                 <training>.part.safetensors  its checkpoint, if a helper does it
                 <training>.made.safetensors  its result

`SharedTrainings` reads and writes these files. The job's own worker uses it through
`job_progress.JobProgress`; a worker without a job of its own helps another one by `assist`.

The final states of a run's trainings are kept in <job>/ends, so that a longer run of the same
settings continues from them (`EndStates`).
"""

import hashlib
import os
import shutil
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from icl_core import registry
from icl_core.contract.experiment import Cancelled, NextTraining, Tensors
from icl_core.contract.progress import LazyTensors
from icl_core.contract.settings_io import from_stored
from icl_core.jobs import faults, table
from icl_core.jobs.folder import Job, hold_lock, jobs_folder
from icl_core.machine import device, malloc
from icl_core.runs import code
from icl_core.runs.disk import private_folder, write_note, write_whole
from icl_core.runs.file import Damaged, pack, read
from icl_core.runs.header import stored_settings
from icl_core.runs.request import Request
from icl_core.training import segments

FIRST_CHECKPOINT = 4.0  # seconds of training before the first checkpoint
CHECKPOINT = 8.0  # seconds between checkpoints
LOOK = 0.1  # seconds between two looks for a request to cancel
THREADS = 1  # of torch: two on busy cores are several times slower for tiny models


def _file_of(folder: Path, training: str, kind: str) -> Path:
    """Return the path of a file of a training, whose name may hold any characters."""
    return folder / f"{hashlib.sha256(training.encode()).hexdigest()[:16]}.{kind}"


class Stopped(Exception):
    """The worker was asked to end; the checkpoint is written."""


class NothingLeft(Exception):
    """All trainings of the run are done, or other workers do them."""


def identity_of(request: dict[str, Any]) -> dict[str, Any]:
    """Return what the files of a job with this request must agree with on this device: experiment,
    version, config, device, precision, the code that computes, and the compiler of its segments if
    it has any."""
    experiment = registry.experiment(request["experiment"])
    config = from_stored(experiment.config, request["config"])
    return {
        "experiment": request["experiment"],
        "version": registry.version(request["experiment"]),
        "config": request["config"],
        "device": device.describe(),
        "precision": device.precision(),
        "code": code.name(),
        "compiler": segments.compiler(experiment, config),
    }


class SharedTrainings:
    """The trainings of one job as one of its workers sees them.

    `identity` is what a file must agree with (`identity_of`); a file that does not counts as
    absent. A file that cannot be written costs only that another worker repeats the training.
    """

    def __init__(self, job: Job, identity: dict[str, Any]) -> None:
        self.folder = job.phases
        self.identity = identity
        self.seconds = 0.0  # computing time of other workers in the results loaded so far
        self._lease = ExitStack()  # the lock of the training in progress
        self._counted: set[str] = set()  # trainings whose steps and seconds count as this worker's

    def mark_counted(self, names: Iterable[str]) -> None:
        """Note trainings whose results an earlier worker has loaded already."""
        self._counted.update(names)

    def not_begun(self, names: Iterable[str]) -> list[str]:
        """Return those of the trainings that no worker has begun."""
        return [name for name in names if not self._path(name, "step").exists()]

    def load_result(self, name: str) -> Tensors | None:
        """Return the result of a training, or None if no worker has finished it."""
        stored = self._read(self._path(name, "made.safetensors"))
        if stored is None:
            return None
        record, tensors = stored
        self.seconds += record.get("seconds", 0.0) if name not in self._counted else 0.0
        self._counted.add(name)
        return tensors

    def begin(self, name: str) -> bool:
        """Take a training; return False if another worker has it or its result is there. Where no
        lock can be written the training is taken, as no other worker can take it either."""
        with suppress(OSError):  # then no lock can be written: see above
            private_folder(self.folder)
        lock = self._path(name, "lock")
        has_lease = self._lease.enter_context(hold_lock(lock)) is not None
        may_train = has_lease or not os.access(lock, os.W_OK)
        # a damaged result counts as none
        if may_train and self._read(self._path(name, "made.safetensors")) is None:
            self.write_step(name, 0)
            self._counted.add(name)
            return True
        self._lease.close()
        return False

    def write_step(self, name: str, step: int) -> None:
        """Write how many steps of the training in progress are done."""
        with suppress(OSError):  # without it the job's worker shows a smaller number of steps
            write_note(self._path(name, "step"), str(step))

    def steps_elsewhere(self) -> int:
        """Return the number of steps that other workers have done, in trainings whose results are
        not loaded yet."""
        counted = {self._path(name, "step") for name in self._counted}
        total = 0
        for path in self.folder.glob("*.step"):
            if path not in counted:
                with suppress(OSError, ValueError):  # deleted, or being written
                    total += int(path.read_text())
        return total

    def save_result(self, name: str, tensors: Tensors, seconds: float) -> None:
        """Write the result of the training in progress, which took `seconds` of computing, and
        release the training."""
        with suppress(OSError):  # another worker repeats it
            write_whole(
                self._path(name, "made.safetensors"),
                pack(tensors, {**self.identity, "seconds": seconds}),
            )
            self._path(name, "part.safetensors").unlink(missing_ok=True)
        self._lease.close()

    def save_checkpoint(self, name: str, state: Tensors) -> None:
        """Write a checkpoint of the training in progress."""
        with suppress(OSError):  # the checkpoint before stays
            write_whole(self._path(name, "part.safetensors"), pack(state, self.identity))

    def load_checkpoint(self, name: str) -> Tensors:
        """Return the last checkpoint of a training; empty if there is none."""
        stored = self._read(self._path(name, "part.safetensors"))
        return stored[1] if stored else {}

    def release(self) -> None:
        """Release the training in progress, if there is one."""
        self._lease.close()

    def _path(self, name: str, kind: str) -> Path:
        return _file_of(self.folder, name, kind)

    def _read(self, path: Path) -> tuple[dict[str, Any], Tensors] | None:
        with suppress(OSError, Damaged):  # most often there is no such file
            record, tensors = read(path)
            if {name: record.get(name) for name in self.identity} == self.identity:
                return record, tensors
        return None


class SharedProgress:
    """What the `Progress` of a job's own worker and that of a helper have in common: trainings are
    taken from `SharedTrainings`, and their final states kept for longer runs. The contract's
    `Progress` says what each method does."""

    def __init__(self, job: Job, shared: SharedTrainings, stopped: Callable[[], bool]) -> None:
        self.job = job
        self.shared = shared
        self._stopped = stopped
        self._ends = EndStates(shared.identity)
        self._clock = device.clock
        self._training_began = 0.0  # by the clock of the device

    def _finished(self, trainings: Sequence[str]) -> NextTraining | None:
        """Return the first of the trainings that another worker has finished."""
        for name in trainings:
            result = self.shared.load_result(name)
            if result is not None:
                return NextTraining(name, result)
        return None

    def _begun(self, name: str) -> NextTraining:
        """Return a training that this worker has taken, with its checkpoint if it has one."""
        self._training_began = self._clock()
        return NextTraining(name, resumed=self.shared.load_checkpoint(name))

    def give(self, name: str, made: Tensors) -> None:
        self.shared.save_result(name, made, self._clock() - self._training_began)

    def earlier(self, name: str) -> Tensors:
        return self._ends.load_earlier(name)

    def end(self, name: str, state: Callable[[], Tensors]) -> None:
        self._ends.save(name, state)


class HelperProgress(SharedProgress):
    """The `Progress` of a worker that helps with another worker's job. It writes no state for the
    pages: the job's own worker does. `is_needed` returns whether this worker has a job to do."""

    def __init__(
        self,
        job: Job,
        shared: SharedTrainings,
        stopped: Callable[[], bool],
        is_needed: Callable[[], bool],
    ) -> None:
        super().__init__(job, shared, stopped)
        self.trained = 0
        self._is_needed = is_needed
        self._name = ""
        self._first_step = 0  # the run's step at which the training begins
        self._look_at = time.monotonic()
        self._checkpoint_at = self._look_at

    def resume(self) -> Tensors | None:
        """Return None: a helper's checkpoints are those of its trainings."""
        return None

    def take(self, trainings: Sequence[str]) -> NextTraining:
        """See `Progress` in the contract. Raises `NothingLeft` also if this worker is needed
        elsewhere."""
        self._check()
        if finished := self._finished(trainings):
            return finished
        for name in self.shared.not_begun(trainings):
            if not self._is_needed() and self.shared.begin(name):
                self._name = name
                self._checkpoint_at = time.monotonic() + FIRST_CHECKPOINT
                return self._begun(name)
        raise NothingLeft

    def give(self, name: str, made: Tensors) -> None:
        self._check()
        super().give(name, made)
        self.trained += 1

    def end(self, name: str, state: Callable[[], Tensors]) -> None:
        self._check()
        super().end(name, state)

    def enter(self, what: str, first: int = 0, steps: int = 0) -> None:
        if steps:
            self._first_step = first

    def report(
        self,
        done: int,
        total: int,
        loss: float,
        live: LazyTensors,
        state: LazyTensors,
        preview: LazyTensors = dict,
    ) -> None:
        """See `Progress` in the contract. A helper shows nothing: the job's own worker does."""
        now = time.monotonic()
        if self._stopped() or now >= self._checkpoint_at:
            self._check()
            checkpoint = {
                name: tensor for name, tensor in state().items() if name.startswith("now/")
            }
            self.shared.save_checkpoint(self._name, checkpoint)
            self._checkpoint_at = time.monotonic() + CHECKPOINT
        if self._stopped():
            raise Stopped
        if now >= self._look_at:
            self._check()
            self.shared.write_step(self._name, done - self._first_step)
            self._look_at = now + LOOK

    def _check(self) -> None:
        """Raise `Cancelled` if the job is to be cancelled or was forgotten. Called before every
        write: a folder that was deleted must not come back."""
        if table.cancel_request(self.job.key) or self.job.request() is None:
            raise Cancelled


@malloc.bounded_heap()
def assist(job: Job, stopped: Callable[[], bool], is_needed: Callable[[], bool]) -> int:
    """Do trainings of `job` until none is left or this worker is needed elsewhere; return how many
    were done.

    An exception ends the help and is printed; the job's own worker meets it as well and reports it.
    Raises `GpuLost` if this process must end.
    """
    request: dict[str, Any] = job.request() or {}
    shared = None
    progress = None
    fault = ""
    try:
        experiment = registry.experiment(request["experiment"])
        device.set_threads(THREADS)
        shared = SharedTrainings(job, identity_of(request))
        progress = HelperProgress(job, shared, stopped, is_needed)
        experiment.run(from_stored(experiment.config, request["config"]), progress)
    except (NothingLeft, Cancelled, Stopped):
        pass
    except Exception as problem:
        traceback.print_exc()
        fault = faults.fault_kind(problem)
    if shared:
        shared.release()
    if fault == faults.GPU:
        raise faults.GpuLost
    if fault == faults.MEMORY:
        device.release()
    return progress.trained if progress else 0


LARGEST_ENDS = 2**28  # bytes of all final states; those of the oldest runs are deleted first


class EndStates:
    """The final states of one job's trainings, and those of the shorter runs that it can continue
    from. `identity` is what a file must agree with (`phase_helper.identity_of`)."""

    def __init__(self, identity: dict[str, Any]) -> None:
        self._identity = identity

    def save(self, training: str, state: Callable[[], Tensors]) -> None:
        """Write the final state of a training. If that fails, a longer run starts anew."""
        if config := self._extendable_config():
            path = _file_of(
                Job(Request(self._identity["experiment"], config).key).ends,
                training,
                "safetensors",
            )
            write_end_state(path, pack(state(), self._identity))

    def load_earlier(self, training: str) -> Tensors:
        """Return the final state of that training in the longest shorter run; empty if there is
        none."""
        experiment_id = self._identity["experiment"]
        config = self._extendable_config()
        experiment = registry.experiment(experiment_id)
        for shorter_config in experiment.shorter(config) if config else ():
            path = _file_of(
                Job(Request(experiment_id, shorter_config).key).ends, training, "safetensors"
            )
            expected = {**self._identity, "config": stored_settings(shorter_config)}
            with suppress(OSError, Damaged):  # most often there is no such file
                record, tensors = read(path)
                if {field: record.get(field) for field in expected} == expected:
                    return tensors
        return {}

    def _extendable_config(self) -> Any:
        """Return the job's settings, or None if its run cannot be a part of a longer one."""
        experiment = registry.experiment(self._identity["experiment"])
        config = from_stored(experiment.config, self._identity["config"])
        return config if experiment.goes_on(config) else None


def write_end_state(path: Path, content: bytes) -> None:
    """Write the file of a final state, and delete those of the oldest runs if there are too many
    bytes of them."""
    if len(content) > LARGEST_ENDS:
        return
    with suppress(OSError):  # a longer run starts anew
        private_folder(path.parent)
        write_whole(path, content)
        sizes: dict[Path, int] = {}  # of the final states of whole runs, the oldest first
        for folder in sorted(jobs_folder().glob("*/ends"), key=lambda ends: ends.stat().st_mtime):
            sizes[folder] = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
        for folder in list(sizes):
            if folder != path.parent and sum(sizes.values()) > LARGEST_ENDS:
                shutil.rmtree(folder, ignore_errors=True)
                del sizes[folder]


def has_end(request: Request) -> bool:
    """Return whether a run was trained here to its end and has left the states that a longer one
    continues from."""
    if not request.experiment.goes_on(request.config):
        return False
    job = Job(request.key)
    with suppress(OSError):  # the database cannot be read now
        return job.state()["status"] == "done" and any(job.ends.glob("*.safetensors"))
    return False
