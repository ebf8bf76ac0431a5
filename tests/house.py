"""A store of its own in a folder of its own, and the throw-away paper: for tests and the processes
they start."""

import gc
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
EXTRA = Path(__file__).parent / "papers_extra"
os.environ.setdefault("ICL_PAPERS", str(EXTRA))
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from icl_core import registry  # noqa: E402
from icl_core.jobs import estimate, queue, spawn, worker  # noqa: E402
from icl_core.machine import pace  # noqa: E402
from icl_core.runs import database, store  # noqa: E402
from icl_core.runs.request import Request  # noqa: E402

_pace = cache(pace.measure_pace)  # of this machine, measured once and not in every store
TOY = "toy.walk"
# A worker whose checkpoints come long before the end of a short training.
SOON = (
    "from icl_core.jobs import job_progress as p, worker; p.FIRST_CHECKPOINT = p.CHECKPOINT = "
    "0.3; worker.work(once=True, slots=9)"
)


def config(**values: Any) -> Any:
    """A setting of the throw-away experiment, of twenty steps unless told otherwise."""
    return registry.experiment(TOY).config(**{"steps": 20, **values})


def ask(visitor: str = "", later: bool = False, **values: Any) -> str:
    """Ask for a run of these settings; the key of its job."""
    return queue.submit(Request(TOY, config(**values)), visitor=visitor, later=later)


@contextmanager
def house(folder: Path, monkeypatch) -> Iterator[store.Store]:
    """The default store of this process and its children, empty, under `folder`; the pace is not
    measured for it."""
    monkeypatch.setattr(estimate, "measure_pace", _pace)
    monkeypatch.setenv("ICL_ARTIFACTS", str(folder / "artifacts"))
    monkeypatch.setenv("ICL_CACHE_DIR", str(folder / "cache"))
    store.default.cache_clear()
    gc.collect()
    # a worker looks for garbage after each run: not in what other tests have imported and left
    gc.freeze()
    try:
        yield store.default()
    finally:
        store.default().close()
        store.default.cache_clear()


@contextmanager
def house_that_trains(folder: Path, monkeypatch) -> Iterator[store.Store]:
    """The same, where this process trains one job at every look: no second process, no waiting."""

    def train_here(count: int | None = None) -> int:
        return worker.work(once=True, slots=1)

    with house(folder, monkeypatch) as own_store:
        monkeypatch.setattr(spawn, "ensure_workers", train_here)
        yield own_store


def change(statement: str, *values: object) -> None:
    """Change the database of the queue by hand."""
    with database.transaction() as connection:
        connection.execute(statement, values)


def others_may_change() -> bool:
    """Whether another process could change the queue now: it cannot within a transaction."""
    with closing(sqlite3.connect(database.path(), timeout=0, isolation_level=None)) as other:
        try:
            other.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        return True


def wait_for(condition: Callable[[], object], what: str, seconds: float = 180) -> None:
    """Poll until `condition`; fail after a deadline that only a fault can reach."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(0.05)
