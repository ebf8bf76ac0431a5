"""What must hold after every fault, whatever it was."""

from collections.abc import Iterable
from typing import Any

from icl_core.jobs import queue
from icl_core.jobs.table import WAITING
from icl_core.runs import store
from pages.ui.controls import training
from tests.faults.bed import Bed, Wrong, key, submit, work
from tests.house import TOY

SURVIVED = "survived"
GIVEN_UP = "given up"
TRIES = 12  # workers until a job has ended
# of every key the digest and the metrics of a training that nobody touched
reference: dict[str, tuple[str, Any]] = {}


def look() -> set[str]:
    """The runs that can be seen, each read as a whole. Raises `Wrong` for half a run, other digits
    or a silent job."""
    runs = store.default()
    keys = set()
    for header in runs.headers(TOY):
        run = runs.load(header)
        if run is None:
            messages = runs.messages()
            if any("set aside" in text and header.key in text for text in messages):
                continue  # its tensors are read here first; whether it may be gone is open
            raise Wrong(f"the run {header.key} is seen but cannot be read: {messages}")
        if (run.digest, run.info["metrics"]) != reference[header.key]:
            raise Wrong(f"the run {header.key} has other digits than untouched")
        keys.add(header.key)
    for job in queue.states():
        queue.partial_curves(job.key)
        if not training.describe(job) or (job.status == "failed" and not job.message):
            raise Wrong(f"nothing is told of the job {job.key}, {job.status}")
    return keys


def statuses(seeds: Iterable[int]) -> dict[int, str]:
    """How the jobs are: their status, "kept" where the run is there, "" where nobody has asked."""
    by_seed = {}
    for seed in seeds:
        job = queue.state(key(seed))
        by_seed[seed] = job.status if job else ""
        if store.default().exact(TOY, key(seed)) and (job is None or job.ended):
            by_seed[seed] = "kept"
    return by_seed


def check(bed: Bed, finished: Iterable[int]) -> None:
    """Look, and raise `Wrong` if one of the finished runs is lost."""
    keys = bed.act(look)
    lost = [seed for seed in finished if key(seed) not in keys]
    if lost:
        raise Wrong(f"the finished runs of the seeds {lost} are lost")


def finish(bed: Bed, requested: Iterable[int], finished: Iterable[int] = ()) -> str:
    """Let workers go on until all requested seeds have runs, ask again for what was given up, and
    check it all.

    The outcome: `SURVIVED`, or `GIVEN_UP` where a job had ended as failed, with a message, and was
    trained when asked for again. Raises `Wrong`.
    """
    check(bed, finished)
    outcome = SURVIVED
    seeds = [*finished, *requested]
    for _ in range(TRIES):
        by_seed = bed.act(statuses, seeds)
        if all(status == "kept" for status in by_seed.values()):
            check(bed, seeds)
            return outcome
        for seed, status in by_seed.items():
            outcome = GIVEN_UP if status == "failed" else outcome
            if status not in ("kept", *WAITING):
                bed.act(submit, seed)
        bed.begin(work).result()
    raise Wrong(f"stuck after {TRIES} workers: {by_seed}")
