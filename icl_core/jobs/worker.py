"""A worker: takes the oldest job that waits, trains it, keeps the run. `python -m icl_core work`.

SIGTERM and Ctrl-C leave a checkpoint; so does SIGKILL, of some seconds before. The next worker goes on from it.
"""

import math
import platform
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from icl_core import findings, registry
from icl_core.experiment import Cancelled, Diverged, Experiment, Run
from icl_core.jobs import queue
from icl_core.jobs.folder import ENDED, WAITING, Job, held
from icl_core.jobs.progress import JobProgress, Stopped
from icl_core.knobs import BadSetting, from_kept
from icl_core.runs import store

IDLE = 5.0  # seconds without a job after which a worker ends
THREADS = 1  # tiny models want one; two on busy cores are several times slower
DEATHS = 3  # workers that a job may take down at one place before it counts as failed
KEPT = 100  # ended jobs that stay listed
PACKAGES = ("torch", "numpy", "safetensors")


def work(once: bool = False, slots: int | None = None) -> int:
    """Train what waits until nothing has for some seconds; `once`: one job at most, and no waiting.

    Does nothing if all `slots` have their worker already. The number of jobs taken.
    """
    taken = 0
    with ExitStack() as stack:
        slots = slots or _slots()
        if _take_slot(stack, slots) is None:
            return 0
        stopped = stack.enter_context(_signals())
        idle_since = time.monotonic()
        while not stopped():
            if _work_one(stopped, slots):
                taken += 1
                idle_since = time.monotonic()
            elif once or time.monotonic() - idle_since > IDLE:
                break
            else:
                time.sleep(0.2)
            if once:
                break
    return taken


def _slots() -> int:
    from icl_core import device

    return device.workers()


def _take_slot(stack: ExitStack, slots: int) -> int | None:
    for slot in range(slots):
        if stack.enter_context(held(queue.slot_lock(slot))):
            if slots > 1:
                from icl_core import device

                device.choose(slot)
            return slot
    return None


@contextmanager
def _signals() -> Iterator[Callable[[], bool]]:
    """Tells whether SIGTERM or Ctrl-C came. They are looked for between steps: torch is never interrupted."""
    came = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield came.is_set
        return
    before = {number: signal.signal(number, lambda *_: came.set()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield came.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _work_one(stopped: Callable[[], bool], slots: int) -> bool:
    for known in queue.states():
        if known.status in WAITING:
            job = Job(known.key)
            with held(job.folder / "lock") as mine:
                # Between the look and the lock another worker may have done it.
                if mine and job.request() and job.state()["status"] not in ENDED:
                    with suppress(OSError):
                        queue.ensure_workers(slots)  # there may be more than we can do alone
                    _train(job, stopped)
                    _forget_old()
                    return True
    return False


def _train(job: Job, stopped: Callable[[], bool]) -> None:
    """One job from request to its end, whatever that is."""
    try:
        _run(job, stopped)
    except Stopped:
        told = job.state()
        job.tell(**{**told, "status": "interrupted", "seconds_left": None, "deaths": 0})
    except Cancelled:
        job.end("cancelled")
    except (Diverged, BadSetting) as problem:
        traceback.print_exc()
        job.end("failed", str(problem))
    except Exception as problem:  # whatever an experiment does wrong is the job's failure, not the worker's
        traceback.print_exc()
        job.end("failed", f"{type(problem).__name__}: {problem}")


def _run(job: Job, stopped: Callable[[], bool]) -> None:
    request = job.request() or {}
    experiment_id = request["experiment"]
    experiment = registry.experiment(experiment_id)
    config = from_kept(experiment.config, request["config"])
    if store.key_of(experiment_id, config) != job.key:
        raise BadSetting(f"{experiment_id} has changed since this run was asked for; ask for it again")
    if store.default().exact(experiment_id, job.key):
        return job.end("done")

    from icl_core import device

    identity = {
        "experiment": experiment_id,
        "version": registry.version(experiment_id),
        "config": request["config"],
        "device": device.describe(),
        "precision": device.precision(),
    }
    progress = JobProgress(job, identity, THREADS, stopped)
    _count_deaths(job, progress)
    progress.tell()
    device.set_threads(progress.threads)
    tensors = experiment.run(config, progress)
    seconds = progress.seconds()
    progress.tell("computing the metrics")
    info = _info(progress, seconds)
    info |= _measured(experiment, Run(config, tensors, info))
    store.default().save(experiment_id, request["config"], tensors, info)
    job.end(
        "done", info.get("message", ""), step=progress.total, total=progress.total, loss=progress.loss, seconds=seconds
    )


def _count_deaths(job: Job, progress: JobProgress) -> None:
    """A job that takes its worker down again and again (memory, most often) must not do so for ever."""
    told = job.state()
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


def _info(progress: JobProgress, seconds: float) -> dict[str, Any]:
    return {
        "version": progress.identity["version"],
        "packages": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
        "device": progress.identity["device"],
        "precision": progress.identity["precision"],
        "threads": progress.threads,
        "seconds": round(seconds, 3),
        "loss": progress.loss if math.isfinite(progress.loss) else None,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _forget_old() -> None:
    """Drop all but the newest ended jobs."""
    ended = [known.key for known in queue.states() if known.ended]
    for key in ended[:-KEPT]:
        job = Job(key)
        with held(job.folder / "lock") as mine:
            if mine:
                for path in job.folder.iterdir():
                    path.unlink(missing_ok=True)
        with suppress(OSError):
            job.folder.rmdir()
