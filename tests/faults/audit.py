"""What must hold after every fault, whatever it was."""

from collections.abc import Iterable
from typing import Any

from icl_core.jobs import queue
from icl_core.jobs.table import WAITING
from icl_core.runs import store
from pages.ui.controls import training
from tests.faults.bed import Bed, Wrong, key, submit
from tests.faults.bed import work as worker
from tests.house import TOY

SURVIVED, GIVEN_UP = "survived", "given up"
TRIES = 12  # workers until a job has ended
known: dict[
    str, tuple[str, Any]
] = {}  # of every key the digest and the metrics of a training that nobody touched


def look() -> set[str]:
    """The runs that can be seen, each read as a whole. Raises `Wrong` for half a run, other digits
    or a silent job."""
    runs, found = store.default(), set()
    for header in runs.headers(TOY):
        run = runs.load(header)
        if run is None and any(
            "set aside" in said and header.key in said for said in runs.messages()
        ):
            continue  # its tensors are read here first; whether it may be gone is not asked here
        if run is None:
            raise Wrong(f"the run {header.key} is seen but cannot be read: {runs.messages()}")
        if (run.digest, run.info["metrics"]) != known[header.key]:
            raise Wrong(f"the run {header.key} has other digits than untouched")
        found.add(header.key)
    for job in queue.states():
        queue.partial_curves(job.key)
        if not training.describe(job) or (job.status == "failed" and not job.message):
            raise Wrong(f"nothing is told of the job {job.key}, {job.status}")
    return found


def statuses(seeds: Iterable[int]) -> dict[int, str]:
    """How the jobs are: their status, "kept" where the run is there, "" where nobody has asked."""
    told = {}
    for seed in seeds:
        job = queue.state(key(seed))
        told[seed] = job.status if job else ""
        if store.default().exact(TOY, key(seed)):
            told[seed] = "kept" if job is None or job.ended else job.status
    return told


def check(bed: Bed, finished: Iterable[int]) -> None:
    """Look, and raise `Wrong` if one of the finished runs is lost."""
    found = bed.act(look)
    lost = [seed for seed in finished if key(seed) not in found]
    if lost:
        raise Wrong(f"the finished runs of the seeds {lost} are lost")


def finish(bed: Bed, asked: Iterable[int], finished: Iterable[int] = ()) -> str:
    """Let workers go on until what was asked for is there, ask again for what was given up, and
    check it all.

    The outcome: `SURVIVED`, or `GIVEN_UP` where a job had ended as failed, with a message, and was
    trained when asked for again. Raises `Wrong`.
    """
    check(bed, finished)
    outcome, wanted = SURVIVED, [*finished, *asked]
    for _ in range(TRIES):
        told = bed.act(statuses, wanted)
        if all(status == "kept" for status in told.values()):
            check(bed, wanted)
            return outcome
        for seed, status in told.items():
            outcome = GIVEN_UP if status == "failed" else outcome
            if status not in ("kept", *WAITING):
                bed.act(submit, seed)
        bed.begin(worker).result()
    raise Wrong(f"stuck after {TRIES} workers: {told}")
