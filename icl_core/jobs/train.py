"""One job, from its request to its end: trained, measured, kept."""

import platform
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from icl_core import findings, registry
from icl_core.experiment import Cancelled, Diverged, Experiment, Run
from icl_core.forms import from_kept
from icl_core.jobs.code import PACKAGES
from icl_core.jobs.estimate import pace
from icl_core.jobs.folder import LONGEST_PAUSE, Job, trouble
from icl_core.jobs.progress import THREADS, JobProgress, Lost, Stopped, identity_of
from icl_core.knobs import BadSetting
from icl_core.runs import store

DEATHS = 3  # workers that a job may take down at one place before it counts as failed
FIRST_PAUSE = 15.0  # seconds until a run for which there is no room is tried again; doubled every time


def train(job: Job, stopped: Callable[[], bool], mine: Callable[[], bool]) -> None:
    """One job from request to its end, whatever that is. A worker that has lost the job's lock writes nothing."""
    try:
        last = _run(job, stopped, mine)
    except Lost:
        return
    except Stopped:
        last = {**job.state(), "status": "interrupted", "seconds_left": None, "deaths": 0}
    except Cancelled:
        last = {"status": job.cancelled() or "queued"}  # it was asked for again meanwhile
    except (Diverged, BadSetting) as problem:
        traceback.print_exc()
        last = {"status": "failed", "message": str(problem)}
    except Exception as problem:  # whatever an experiment does wrong is the job's failure, not the worker's
        traceback.print_exc()
        last = {"status": "failed", "message": f"{type(problem).__name__}: {problem}"}
    if mine():
        with suppress(OSError):  # untold, it counts as interrupted, and goes on when there is room
            job.tell(**last)


def _run(job: Job, stopped: Callable[[], bool], mine: Callable[[], bool]) -> dict[str, Any]:
    """Train the job and keep its run; the state that is to be told then."""
    request = job.request() or {}
    experiment_id = request["experiment"]
    experiment = registry.experiment(experiment_id)
    config = from_kept(experiment.config, request["config"])
    if store.key_of(experiment_id, config) != job.key:
        raise BadSetting(f"{experiment_id} has changed since this run was asked for; ask for it again")
    if store.default().exact(experiment_id, job.key):
        return {"status": "done"}

    from icl_core import device

    progress = JobProgress(job, identity_of(request), THREADS, stopped, mine)
    _count_deaths(job, progress)
    progress.tell()
    device.set_threads(progress.threads)
    tensors = experiment.run(config, progress)
    progress.enter("computing the metrics")
    measured = _measured(experiment, Run(config, tensors, _info(progress)))
    info = _info(progress) | measured
    progress.check()
    try:
        header = store.default().save(experiment_id, request["config"], tensors, info)
    except OSError as problem:
        return put_off(job, progress.tries, problem)
    if job.cancelled():
        store.default().delete(header)
        raise Cancelled
    reached = {"step": progress.total, "total": progress.total, "loss": progress.loss, "seconds": info["seconds"]}
    return {"status": "done", "message": info.get("message", ""), **reached}


def put_off(job: Job, tries: int, problem: OSError) -> dict[str, Any]:
    """The state of a job whose run could not be kept. Its checkpoint stays; it is tried again, later and later."""
    pause = min(FIRST_PAUSE * 2**tries, LONGEST_PAUSE)
    later = {"tries": tries + 1, "retry_at": time.time() + pause}
    message = f"{trouble(problem)}; the run will be kept once there is room"
    return {**job.state(), "status": "interrupted", "seconds_left": None, "message": message, **later}


def _count_deaths(job: Job, progress: JobProgress) -> None:
    """A job that takes its worker down again and again (memory, most often) must not do so for ever."""
    told = job.state()
    progress.tries = told.get("tries", 0)
    if told["status"] == "running":
        further = progress.first_step > told.get("first_step", 0)
        progress.deaths = 1 if further else told.get("deaths", 0) + 1
    if progress.deaths >= DEATHS:
        raise BadSetting(
            f"the worker was killed {progress.deaths} times without getting beyond step {progress.first_step}; "
            "is the setting too large for this machine's memory?"
        )


def _measured(experiment: Experiment, run: Run) -> dict[str, Any]:
    """The metrics, for the run's file. If they fail the training is kept all the same, with a message instead."""
    try:
        return {"metrics": findings.measure(experiment, run)}
    except Exception as problem:  # a fault of the experiment, which may be mended without training again
        traceback.print_exc()
        return {"metrics": [], "message": f"the metrics failed: {type(problem).__name__}: {problem}"}


def _info(progress: JobProgress) -> dict[str, Any]:
    return {
        **{name: progress.identity[name] for name in ("version", "device", "precision")},
        "packages": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
        "threads": progress.threads,
        "seconds": round(progress.seconds(), 3),
        "pace": pace(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }
