"""Several workers, and several who ask, look, cancel and delete, on one cache at the same time."""

import time
from random import Random

from icl_core.jobs import queue, spawn
from icl_core.runs import store
from tests.faults.audit import finish, look
from tests.faults.bed import ASKED, FINISHED, TOY, Bed, Wrong, key, submit, work


def _shared(bed: Bed) -> str:
    pages = [bed.begin(_page, Random(bed.chance.random())) for _ in range(2)]
    time.sleep(bed.sleep(0.05))
    workers = [bed.begin(work, 3) for _ in range(3)]
    if bed.chance.random() < 0.3:
        bed.chance.choice(workers).kill()
    for worker in workers:
        worker.exit()
    for page in pages:
        page.result()
    outcome = finish(bed, ASKED, FINISHED)
    for seed in (*FINISHED, *ASKED):
        files = list((bed.cache / "runs").glob(f"{key(seed)}-*"))
        if len(files) != 1:
            raise Wrong(f"the run of seed {seed} lies there {len(files)} times")
    return outcome


def _page(chance: Random) -> None:
    """A server with a visitor who does whatever comes to mind."""
    for _ in range(12):
        seed = chance.choice(ASKED)
        chance.choice([submit, _looks, _cancels, _deletes])(seed)
        time.sleep(0.01 * chance.random())


def _looks(seed: int) -> None:
    look()
    spawn.ensure_workers(3)


def _cancels(seed: int) -> None:
    queue.cancel(key(seed))


def _deletes(seed: int) -> None:
    header = store.default().exact(TOY, key(seed))
    if header:
        store.default().delete(header)


FAULTS = {"two servers and three workers on one cache": _shared}
