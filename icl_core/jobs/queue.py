"""Training jobs as pages and the command line see them: ask, watch, cancel. One job a config, whoever asks.

A page writes a request and reads states; workers (`icl_core.jobs.worker`) train in processes of their own, so that
neither a rerun of the page nor a restart of the server ends a training. Call `ensure_workers()` whenever you look at a
job: it starts workers for what waits, also for what a killed worker has left behind.
"""

import math
import os
import signal
import statistics
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from icl_core import registry
from icl_core.experiment import Run
from icl_core.jobs.folder import ENDED, WAITING, Job, held, jobs_folder, queue_lock
from icl_core.knobs import from_kept
from icl_core.runs import store
from icl_core.runs.file import Damaged, read

ROOT = Path(__file__).resolve().parents[2]
_STARTING = 4.0  # seconds in which a worker that was started may not have taken its slot yet
_LONGEST_LOG = 2**20  # bytes


@dataclass(frozen=True)
class JobState:
    """How far a job is. `position` counts from 1 in the queue, 0 once it runs; seconds of training so far and left."""

    key: str
    experiment: str
    config: dict[str, Any] = field(hash=False)
    status: str  # queued, running, interrupted, done, failed or cancelled
    position: int = 0
    step: int = 0
    total: int = 0
    loss: float = math.nan
    seconds: float = 0.0
    seconds_left: float | None = None
    message: str = ""
    pid: int = 0  # of the worker, while it runs

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.status in ENDED


def submit(experiment_id: str, config: Any) -> str:
    """Ask for a run; the key. Does nothing if the store has it or somebody asked already.

    A job that failed or was cancelled is queued anew. Raises `BadSetting` for settings out of range.
    """
    values = store.plain(from_kept(registry.experiment(experiment_id).config, store.plain(config)))
    key = store.key_of(experiment_id, values)
    with queue_lock():
        if store.default().exact(experiment_id, key) is None:
            known = state(key)
            if known is None or known.ended:
                Job(key).ask({"experiment": experiment_id, "config": values, "asked": time.time_ns()})
    return key


def state(key: str) -> JobState | None:
    """The state of one job; None if nobody asked for it."""
    known = _state(key)
    if known is not None and known.status in WAITING:
        return next((queued for queued in states() if queued.key == key), known)
    return known


def states() -> list[JobState]:
    """All jobs, the oldest request first."""
    asked = {path.parent.name: Job(path.parent.name).request() for path in jobs_folder().glob("*/request.json")}
    keys = sorted((key for key, request in asked.items() if request), key=lambda key: (asked[key] or {})["asked"])
    found, waiting = [], 0
    for known in filter(None, map(_state, keys)):
        waiting += known.status in WAITING
        position = {"position": waiting} if known.status in WAITING else {}
        found.append(JobState(**{**vars(known), **position}))
    return found


def _state(key: str) -> JobState | None:
    job = Job(key)
    request = job.request()
    if request is None:
        return None
    told = job.state()
    if told["status"] == "running" and not job.locked():
        told = job.state()  # it may have ended between the two looks
        if told["status"] == "running":
            told |= {"status": "interrupted", "seconds_left": None}
    known = {name: told[name] for name in told.keys() & JobState.__dataclass_fields__.keys()}
    return JobState(**{**known, "key": key, "experiment": request["experiment"], "config": request["config"]})


def partial(key: str) -> Run | None:
    """The curves so far of a run that is still going, at most about a second old; None if there are none."""
    try:
        record, tensors = read(Job(key).live)
        config = from_kept(registry.experiment(record["experiment"]).config, record["config"])
    except (OSError, Damaged, ValueError, TypeError):
        return None
    info = {name: record[name] for name in ("version", "step", "total", "loss")}
    return Run(config, tensors, info, record["digest"], finished=False)


def cancel(key: str) -> None:
    """Give the job up and discard its checkpoint; a running one stops at its next report."""
    job = Job(key)
    with held(job.folder / "lock") as mine:
        if not mine:
            if job.folder.is_dir():
                job.cancel.touch()
        elif job.request() and job.state()["status"] not in ENDED:
            job.end("cancelled")


def interrupt(key: str) -> None:
    """Stop the job at a checkpoint; one that has not begun is given up. It goes on when asked for again."""
    known = state(key)
    if known is not None and known.status == "running" and known.pid:
        with suppress(ProcessLookupError):
            os.kill(known.pid, signal.SIGTERM)
    elif known is not None and known.status == "queued":
        cancel(key)


def estimate(experiment_id: str, config: Any) -> float | None:
    """Seconds that the run will take here: the cost of `config` at the median speed of known runs.

    Runs made on this device count first, then shipped ones of a device of the same name, then any shipped ones.
    None if no run is known.
    """
    from icl_core import device  # imports torch

    experiment = registry.experiment(experiment_id)
    known = [header for header in store.default().headers(experiment_id) if header.info.get("seconds")]
    local = [header for header in known if header.origin == "local"]
    shipped = [header for header in known if header.origin == "shipped"]
    here = device.describe()
    for headers in (_of(local, here), _of(shipped, here), shipped):
        speeds = [
            header.info["seconds"] / experiment.cost(from_kept(experiment.config, header.config)) for header in headers
        ]
        if speeds:
            return statistics.median(speeds) * experiment.cost(config)
    return None


def _of(headers: list[store.Header], device_name: str) -> list[store.Header]:
    return [header for header in headers if header.info.get("device") == device_name]


def ensure_workers(count: int | None = None) -> int:
    """Start workers for the jobs that wait, `count` at most at once (else as many as the device serves).

    The number started. Cheap enough to be called at every look at a job.
    """
    statuses = [known.status for known in states()]
    waiting, running = sum(status in WAITING for status in statuses), statuses.count("running")
    if not waiting:
        return 0
    from icl_core import device  # imports torch

    count = count or device.workers()
    with queue_lock():
        stamp = jobs_folder() / "started"
        if stamp.exists() and 0 <= time.time() - stamp.stat().st_mtime < _STARTING:
            return 0
        taken = sum(map(_taken, range(count)))
        idle = max(0, taken - running)  # these will see the job by themselves
        started = max(0, min(count - taken, waiting - idle))
        for _ in range(started):
            _start_worker(count)
        if started:
            stamp.touch()
    return started


def slot_lock(slot: int) -> Path:
    """The lock that a worker holds as long as it lives; slot n trains on the n-th GPU, if there are several."""
    return jobs_folder() / f"slot-{slot}.lock"


def _taken(slot: int) -> bool:
    with held(slot_lock(slot)) as mine:
        return not mine


def _start_worker(count: int) -> None:
    log = jobs_folder() / "workers.log"
    fresh = not log.exists() or log.stat().st_size > _LONGEST_LOG
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    with log.open("wb" if fresh else "ab") as output:
        subprocess.Popen(
            [sys.executable, "-m", "icl_core", "work", "--slots", str(count)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C at the server must not reach it
            env={**os.environ, "PYTHONPATH": path},
        )
