"""One job, from its request to its end: trained, measured, kept."""

import platform
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from icl_core import registry
from icl_core.contract.experiment import Cancelled, Diverged, Experiment, Run, Tensors
from icl_core.contract.knobs import BadSetting
from icl_core.contract.settings_io import from_stored
from icl_core.findings import findings
from icl_core.jobs import faults
from icl_core.jobs.code_version import PACKAGES
from icl_core.jobs.estimate import machine_pace
from icl_core.jobs.folder import LONGEST_PAUSE, Job, queue_lock, write_problem
from icl_core.jobs.job_progress import THREADS, JobProgress, LeaseLost, Stopped, identity_of
from icl_core.jobs.reading import plain_file
from icl_core.machine import malloc
from icl_core.runs import store

DEATHS = 3  # workers that a job may take down at one place before it counts as failed
FIRST_PAUSE = (
    15.0  # seconds until a run for which there is no room is tried again; doubled every time
)


@dataclass(frozen=True, eq=False)
class BegunJob:
    """A job that is to be trained now."""

    job: Job
    experiment: Experiment
    config: Any
    progress: JobProgress


@malloc.bounded_heap()
def train_job(job: Job, stopped: Callable[[], bool], mine: Callable[[], bool]) -> None:
    """One job from request to its end, whatever that is. Raises `GpuLost` where the worker can do
    no other."""

    def work() -> dict[str, Any] | None:
        begun = begin_job(job, stopped, mine)
        return (
            finish_job(begun, begun.experiment.run(begun.config, begun.progress))
            if begun
            else {"status": "done"}
        )

    conclude(job, mine, work)


def conclude(job: Job, mine: Callable[[], bool], work: Callable[[], dict[str, Any] | None]) -> None:
    """Do the work of a job and tell the state that it gives, or what it came to an end by; None: it
    goes on, or its end has been told. A worker that has lost the job's lock writes nothing. Raises
    `GpuLost`."""
    fault = ""
    try:
        last = work()
    except LeaseLost:
        return
    except Stopped:
        last = {**job.state(), "status": "interrupted", "seconds_left": None, "deaths": 0}
    except Cancelled:
        tell_cancelled(job, mine)
        return
    except (Diverged, BadSetting) as problem:
        traceback.print_exc()
        last = {"status": "failed", "message": str(problem)}
    except (
        Exception
    ) as problem:  # whatever an experiment does wrong is the job's failure, not the worker's
        traceback.print_exc()
        fault, said = faults.fault_kind(problem), faults.first_line(problem)
        last = {"status": "failed", "message": f"{type(problem).__name__}: {problem}"}
    if fault:  # out of the block: what the training held is freed by now
        last = _faulty(job, fault, said)
    if last is not None and mine():
        with suppress(OSError):  # untold, it counts as interrupted, and goes on when there is room
            job.tell(**last)
    if fault == faults.GPU:
        raise faults.GpuLost


def tell_cancelled(job: Job, mine: Callable[[], bool]) -> None:
    """Tell that a job was cancelled; it waits anew if it was asked for again meanwhile."""
    with suppress(OSError), queue_lock():  # untold, it is cancelled by the next worker
        if mine():
            job.tell(status=job.cancelled() or "queued")


def begin_job(job: Job, stopped: Callable[[], bool], mine: Callable[[], bool]) -> BegunJob | None:
    """The job as it was asked for, on its way; None if its run is there."""
    request = job.request() or {}
    experiment_id = request["experiment"]
    experiment = registry.experiment(experiment_id)
    config = from_stored(experiment.config, request["config"])
    if store.key_of(experiment_id, config) != job.key:
        raise BadSetting(
            f"{experiment_id} has changed since this run was asked for; ask for it again"
        )
    if store.default().exact(experiment_id, job.key):
        return None

    from icl_core.machine import device

    progress = JobProgress(job, identity_of(request), THREADS, stopped, mine)
    _count_deaths(job, progress)
    progress.tell()
    device.set_threads(progress.threads)
    return BegunJob(job, experiment, config, progress)


def finish_job(begun: BegunJob, tensors: Tensors) -> dict[str, Any] | None:
    """Measure and keep the run of a job, and tell that it is done; the state that could not be
    told, or is another."""
    job, progress = begun.job, begun.progress
    progress.enter("computing the metrics")
    measured = _measured(begun.experiment, Run(begun.config, tensors, _info(progress)))
    info = _info(progress) | measured
    progress.check()
    try:
        asked = progress.identity
        header = store.default().save(asked["experiment"], asked["config"], tensors, info)
    except OSError as problem:
        return postponed(job, progress.tries, problem)
    reached = {
        "step": progress.total,
        "total": progress.total,
        "loss": progress.loss,
        "seconds": info["seconds"],
    }
    last = {"status": "done", "message": info.get("message", ""), **reached}
    with suppress(OSError), queue_lock():  # nobody gives it up, or asks for it again, meanwhile
        try:
            progress.check()
        except Cancelled:
            store.default().discard(header)
            raise
        job.tell(**last)
        return None
    return last


def _faulty(job: Job, fault: str, said: str) -> dict[str, Any]:
    """The state of a job that a fault of the machine has ended. Where the GPU is lost it is left as
    by a worker that was killed: the next one goes on, and counts that as a death. Its checkpoint
    stays in both cases."""
    if fault == faults.GPU:
        message = f"the GPU was lost: {said}"
        return {
            **job.state(),
            "status": "running",
            "seconds_left": None,
            "message": message,
            "fault": message,
        }
    request = job.request() or {}
    config = from_stored(registry.experiment(request["experiment"]).config, request["config"])
    kept = plain_file(job.checkpoint)
    goes_on = (
        ". The last checkpoint is kept: the same run, asked for again, goes on from there"
        if kept
        else ""
    )
    return {
        "status": "failed",
        "message": faults.memory_message(config, said) + goes_on,
        "kept": kept,
    }


def postponed(job: Job, tries: int, problem: OSError) -> dict[str, Any]:
    """The state of a job whose run could not be kept. Its checkpoint stays; it is tried again,
    later and later."""
    pause = min(FIRST_PAUSE * 2.0 ** min(tries, 64), LONGEST_PAUSE)  # it may have waited for days
    later = {"tries": tries + 1, "retry_at": time.time() + pause}
    message = f"{write_problem(problem)}; the run will be kept once there is room"
    return {
        **job.state(),
        "status": "interrupted",
        "seconds_left": None,
        "message": message,
        **later,
    }


def _count_deaths(job: Job, progress: JobProgress) -> None:
    """A job that takes its worker down again and again (memory, most often) must not do so for
    ever."""
    told = job.state()
    progress.tries = told.get("tries", 0)
    if told["status"] == "running":
        further = progress.first_step > told.get("first_step", 0)
        progress.deaths = 1 if further else told.get("deaths", 0) + 1
    if progress.deaths >= DEATHS:
        why = told.get("fault") or "is the setting too large for this machine's memory?"
        raise BadSetting(
            f"the worker was killed {progress.deaths} times without getting beyond step "
            f"{progress.first_step}; {why}"
        )


def _measured(experiment: Experiment, run: Run) -> dict[str, Any]:
    """The metrics, for the run's file. If they fail the training is kept all the same, with a
    message instead, but where another process can compute them from the checkpoint."""
    try:
        return {"metrics": findings.measure(experiment, run)}
    except (
        Exception
    ) as problem:  # a fault of the experiment, which may be mended without training again
        if faults.fault_kind(problem) == faults.GPU:
            raise
        traceback.print_exc()
        return {
            "metrics": [],
            "message": f"the metrics failed: {type(problem).__name__}: {problem}",
        }


def _info(progress: JobProgress) -> dict[str, Any]:
    return {
        **{name: progress.identity[name] for name in ("version", "device", "precision")},
        "packages": {
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
        },
        "threads": progress.threads,
        "seconds": round(progress.seconds(), 3),
        **({"together": progress.together} if progress.together > 1 else {}),
        "pace": machine_pace(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }
