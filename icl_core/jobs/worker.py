"""A worker: takes the oldest job that waits, trains it, keeps the run. `python -m icl_core work`.

SIGTERM and Ctrl-C leave a checkpoint; so does SIGKILL, of some seconds before. The next worker goes on from it.
"""

import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil

from icl_core import limits, papers, registry
from icl_core.jobs import queue, start
from icl_core.jobs.assist import assist
from icl_core.jobs.estimate import measure_pace
from icl_core.jobs.folder import Job, asked, has_room, held, queue_lock
from icl_core.jobs.train import train

IDLE = 5.0  # seconds without a job after which a worker ends
KEPT, KEPT_FAILED = 100, 400  # ended jobs that stay listed; of those that failed nothing else tells


def work(once: bool = False, slots: int | None = None, server: int | None = None) -> int:
    """Train what waits until nothing has for some seconds; `once`: one job at most, and no waiting; `server`: a process
    for which it waits with everything imported, and with which it ends.

    Does nothing if all `slots` have their worker already, and ends when the code on disk is no longer what it runs: the
    next worker reads it anew. The number of jobs taken. Raises `BadSetting` for less than one slot.
    """
    start.check_count(slots)
    if limits.read_only():
        return 0
    taken, code = 0, _code()
    if slots is None:
        from icl_core import device  # imports torch

        slots = device.workers()
    with ExitStack() as stack:
        if not _take_slot(stack, slots):
            return 0
        stopped = stack.enter_context(_signals())
        waited_for = _served(server)
        idle_since = time.monotonic()
        while not stopped() and _code() == code:
            heard = asked()
            if _work_one(stopped, slots):
                taken += 1
                idle_since = time.monotonic()
            elif not once and _assist_one(stopped):
                idle_since = time.monotonic()
            elif not once:
                _sleep(heard, stopped)
            if once or (time.monotonic() - idle_since > IDLE and not waited_for()):
                break
    return taken


def _served(server: int | None) -> Callable[[], bool]:
    """Whether the process `server` is there. Everything is imported now, so that its pages need not wait for that."""
    from icl_core import device  # imports torch

    device.prepare()
    measure_pace()
    if server is None:
        return lambda: False
    for name in registry.experiment_ids():
        registry.experiment(name)
    with suppress(psutil.Error):
        return psutil.Process(server).is_running
    return lambda: False


def _sleep(heard: int, stopped: Callable[[], bool]) -> None:
    """Until somebody asks for a run; a second at most, for what comes without asking."""
    end = time.monotonic() + 1.0
    while time.monotonic() < end and asked() == heard and not stopped():
        time.sleep(0.05)


def _code() -> dict[Path, int]:
    """When each file of the source was changed."""
    registry.papers()  # now their folders are known
    found = {}
    for folder in (start.ROOT / "icl_core", *papers.__path__):
        for path in Path(folder).rglob("*.py"):
            with suppress(FileNotFoundError):  # being written
                found[path] = path.stat().st_mtime_ns
    return found


def _take_slot(stack: ExitStack, slots: int) -> bool:
    for slot in range(slots):
        if stack.enter_context(held(start.slot_lock(slot))):
            if slots > 1:
                from icl_core import device

                device.choose(slot)
            return True
    return False


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
    for known in filter(start.ready, queue.states()):
        job = Job(known.key)
        with held(job.folder / "lock") as mine:
            # Between the look and the lock another worker may have done it.
            if mine and job.due() and has_room():
                with suppress(OSError):
                    start.ensure_workers(slots)  # there may be more than we can do alone
                train(job, stopped, mine)
                _forget_old()
                return True
    return False


def _assist_one(stopped: Callable[[], bool]) -> bool:
    """Help at a run that another worker has in hand, until a job waits; whether there was anything to do."""
    wanted = lambda: any(map(start.ready, queue.states()))  # noqa: E731
    busy = [known for known in queue.states() if known.status == "running" and known.spare]
    return any(assist(Job(known.key), stopped, wanted) for known in busy)


def _forget_old() -> None:
    """Drop all but the newest ended jobs. Nobody asks for one meanwhile."""
    with suppress(OSError), queue_lock():
        ended = [known for known in queue.states() if known.ended]
        failed = [known for known in ended if known.status == "failed"]
        others = [known for known in ended if known.status != "failed"]
        for known in (*others[:-KEPT], *failed[:-KEPT_FAILED]):
            shutil.rmtree(Job(known.key).folder, ignore_errors=True)
