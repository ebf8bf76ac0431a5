"""Train one job from its request to its end: the run is trained, measured and saved. Called by
workers, here and on a cluster.

Machines may share the trainings of one store only if the digests of their source and the versions
of the packages that compute are equal (`cluster`); a worker ends when the source on disk changes
(`SourceWatch`).
"""

import platform
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from icl_core import registry
from icl_core.contract.experiment import Cancelled, Diverged, Experiment, Run, Tensors
from icl_core.contract.knobs import BadSetting
from icl_core.contract.settings_io import from_stored
from icl_core.evidence import measurements
from icl_core.jobs import faults, table
from icl_core.jobs.folder import LONGEST_PAUSE, Job, write_problem
from icl_core.jobs.job_progress import JobProgress, LeaseLost
from icl_core.jobs.phase_helper import THREADS, Stopped, identity_of
from icl_core.machine import device, malloc
from icl_core.runs import code, database, store
from icl_core.runs.header import key_of
from icl_core.training import segments

PACKAGES = ("torch", "numpy", "safetensors")
LOOK = 1.0  # seconds between two looks at the files of the source


def code_digests() -> dict[str, str]:
    """Return a digest of the source as it is on disk now, under "icl_core", and the versions of the
    packages, without the suffix of a build for another device."""
    packages = {name: version(name).partition("+")[0] for name in PACKAGES}
    return {"icl_core": code.source_digest(), **packages}


def code_difference(expected: Mapping[str, str], actual: Mapping[str, str]) -> str:
    """Return in words what is not as expected, "torch 2.13.0 was expected, 2.12.1 came"; "" if
    nothing is."""
    return "; ".join(
        f"{name} {value:.12} was expected, {actual.get(name, 'nothing'):.12} came"
        for name, value in expected.items()
        if actual.get(name) != value
    )


def source_mtimes() -> dict[Path, int]:
    """Return when each file of the source was changed, in ns."""
    mtimes: dict[Path, int] = {}
    for folder in code.source_folders():
        for path in folder.rglob("*.py"):
            with suppress(FileNotFoundError):  # an editor is replacing it
                mtimes[path] = path.stat().st_mtime_ns
    return mtimes


class SourceWatch:
    """Watches whether the source on disk has changed since this object was made.

    There are hundreds of files: they are looked at once in LOOK seconds, and at a new request.
    """

    def __init__(self) -> None:
        self._mtimes = source_mtimes()
        self._changed = False
        self._look_at = time.monotonic() + LOOK
        self._requests = 0

    def changed(self, requests: int = 0) -> bool:
        """Return whether the source had changed at the last look; `requests` counts requests."""
        is_due = time.monotonic() >= self._look_at or requests != self._requests
        if not self._changed and is_due:
            self._changed = source_mtimes() != self._mtimes
            self._look_at = time.monotonic() + LOOK
            self._requests = requests
        return self._changed


DEATHS = 3  # workers killed without progress between them before the job counts as failed
FIRST_PAUSE = 15.0  # seconds until a run without room is saved again; doubled every time

State = dict[str, Any]  # the fields of `Job.write_state`


@dataclass(frozen=True, eq=False)
class BegunJob:
    """A job whose training is about to start."""

    job: Job
    experiment: Experiment
    config: Any
    progress: JobProgress


@malloc.bounded_heap()
def train_job(job: Job, stopped: Callable[[], bool], has_lease: Callable[[], bool]) -> None:
    """Train one job from its request to its end, whatever that is. Raises `GpuLost` if this process
    can train no other."""

    def work() -> State | None:
        begun = begin_job(job, stopped, has_lease)
        if begun is None:
            return {"status": "done"}
        return finish_job(begun, begun.experiment.run(begun.config, begun.progress))

    run_and_record(job, has_lease, work)


def run_and_record(
    job: Job, has_lease: Callable[[], bool], work: Callable[[], State | None]
) -> None:
    """Do the work of a job, and write the state that it returns, or the one that follows from its
    exception.

    `work` returns None if the job continues, or its last state is written. A worker that has lost
    the job's lock writes nothing. Raises `GpuLost`.
    """
    fault = ""
    error = ""
    try:
        last = work()
    except (LeaseLost, database.Unusable):  # the next worker continues
        return
    except Stopped:
        last = {**job.state(), "status": "interrupted", "seconds_left": None, "deaths": 0}
    except Cancelled:
        write_cancelled(job, has_lease)
        return
    except (Diverged, BadSetting) as problem:
        traceback.print_exc()
        last = {"status": "failed", "message": str(problem)}
    except Exception as problem:  # an experiment's fault ends its job, not the worker
        traceback.print_exc()
        fault = faults.fault_kind(problem)
        error = faults.first_line(problem)
        last = {"status": "failed", "message": f"{type(problem).__name__}: {problem}"}
    if fault:  # outside of the except block, which would keep the training's tensors alive
        last = _fault_state(job, fault, error)
    if last is not None and has_lease():
        # Without its last state the job counts as interrupted, and continues when there is room.
        with suppress(OSError):
            job.write_state(**last)
    if fault == faults.GPU:
        raise faults.GpuLost


def write_cancelled(job: Job, has_lease: Callable[[], bool]) -> None:
    """Write that a job was cancelled, or that it is queued if it was requested again meanwhile."""
    with suppress(OSError), database.transaction():  # else the next worker finds it cancelled
        if has_lease():
            how = table.cancel_request(job.key)
            job.write_state(**(job.cancelled_state(how) if how else {"status": "queued"}))


def begin_job(
    job: Job, stopped: Callable[[], bool], has_lease: Callable[[], bool]
) -> BegunJob | None:
    """Prepare the training that was requested; return None if the store has the run. Raises
    `BadSetting` for a request that this version of the code cannot train."""
    request = job.request() or {}
    experiment_id = request["experiment"]
    experiment = registry.experiment(experiment_id)
    config = from_stored(experiment.config, request["config"])
    if key_of(experiment_id, config) != job.key:
        raise BadSetting(
            f"it was asked for with version {request['version']} of {experiment_id}, which has "
            f"version {registry.version(experiment_id)} here: restart the dashboard and ask again"
        )
    if store.default().exact(experiment_id, job.key):
        return None

    progress = JobProgress(job, identity_of(request), THREADS, stopped, has_lease)
    _count_deaths(job, progress)
    progress.write_state()
    device.set_threads(progress.threads)
    return BegunJob(job, experiment, config, progress)


def finish_job(begun: BegunJob, tensors: Tensors) -> State | None:
    """Measure and save the run of a job, and write that it is done. Return the last state if it
    could not be written or is another one, else None."""
    job = begun.job
    progress = begun.progress
    progress.enter("computing the metrics")
    identity = progress.identity
    shipped = store.default().shipped_runs(identity["experiment"])
    run = Run(begun.config, tensors, _run_info(progress), shipped=shipped)
    measured = _measure_run(begun.experiment, run)
    info = _run_info(progress) | measured
    progress.check()
    try:
        header = store.default().save(identity["experiment"], identity["config"], tensors, info)
    except OSError as problem:
        return postponed_state(job, progress.tries, problem)
    last = {
        "status": "done",
        "message": info.get("message", ""),
        "step": progress.total,
        "total": progress.total,
        "loss": progress.loss,
        "seconds": info["seconds"],
    }
    # One transaction: meanwhile nobody cancels the job or requests it again.
    with suppress(OSError), database.transaction():  # the caller tries to write the state again
        try:
            progress.check()
        except Cancelled:
            store.default().discard(header)
            raise
        job.write_state(**last)
        return None
    return last


def _fault_state(job: Job, fault: str, error: str) -> State:
    """Return the state of a job that a fault of the machine has ended; its checkpoint stays.

    If the GPU is lost the job is left as by a worker that was killed: the next one continues it,
    and counts a death.
    """
    if fault == faults.GPU:
        message = f"the GPU was lost: {error}"
        return {
            **job.state(),
            "status": "running",
            "seconds_left": None,
            "message": message,
            "fault": message,
        }
    request = job.request() or {}
    config = from_stored(registry.experiment(request["experiment"]).config, request["config"])
    message = faults.memory_message(config, error)
    has_checkpoint = job.checkpoint.exists()
    if has_checkpoint:
        message += (
            ". The last checkpoint is kept: the same run, asked for again, goes on from there"
        )
    return {"status": "failed", "message": message, "kept": has_checkpoint}


def postponed_state(job: Job, tries: int, problem: OSError) -> State:
    """Return the state of a job whose run could not be saved. Its checkpoint stays; it is tried
    again after pauses that double."""
    pause = min(FIRST_PAUSE * 2.0 ** min(tries, 64), LONGEST_PAUSE)  # 64: no overflow after days
    return {
        **job.state(),
        "status": "interrupted",
        "seconds_left": None,
        "message": f"{write_problem(problem)}; the run will be kept once there is room",
        "tries": tries + 1,
        "retry_at": time.time() + pause,
    }


def _count_deaths(job: Job, progress: JobProgress) -> None:
    """Count the workers that were killed at this job without progress between them, and raise
    `BadSetting` if there are too many: a job that takes its worker down, most often for memory,
    must not do so for ever."""
    state = job.state()
    progress.tries = state.get("tries", 0)
    if state["status"] == "running":
        has_advanced = progress.first_step > state.get("first_step", 0)
        progress.deaths = 1 if has_advanced else state.get("deaths", 0) + 1
    if progress.deaths >= DEATHS:
        reason = state.get("fault") or "is the setting too large for this machine's memory?"
        raise BadSetting(
            f"the worker was killed {progress.deaths} times without getting beyond step "
            f"{progress.first_step}; {reason}"
        )


def _measure_run(experiment: Experiment, run: Run) -> dict[str, Any]:
    """Return the metrics for the run's file. If they fail the training is saved all the same, with
    a message in their place; if the GPU is lost the exception is raised, as another process can
    compute them from the checkpoint."""
    try:
        return {"metrics": measurements.measure(experiment, run)}
    except Exception as problem:  # the experiment may be repaired without training again
        if faults.fault_kind(problem) == faults.GPU:
            raise
        traceback.print_exc()
        message = f"the metrics failed: {type(problem).__name__}: {problem}"
        return {"metrics": [], "message": message}


def _run_info(progress: JobProgress) -> dict[str, Any]:
    """Return the circumstances of a training, for the metadata of the run's file."""
    packages = {name: version(name) for name in PACKAGES}
    if compiler := progress.identity["compiler"]:
        packages[segments.COMPILER] = compiler
    by_clock = progress.seconds_before + time.monotonic() - progress.start
    info: dict[str, Any] = {
        **{name: progress.identity[name] for name in ("version", "device", "precision", "code")},
        "packages": {"python": platform.python_version(), **packages},
        "threads": progress.threads,
        "seconds": round(progress.seconds(), 3),
        # beyond its seconds of computing others held the run up
        "waited": round(min(by_clock, progress.seconds()), 3),
    }
    if progress.together > 1:
        info["together"] = progress.together
    return info | {"date": datetime.now(UTC).isoformat(timespec="seconds")}
