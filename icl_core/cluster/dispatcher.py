"""Hands what waits to the workers of a Dask cluster, in place of workers here: one process, `python
-m icl_core work` where `ICL_SCHEDULER` names a scheduler.

The folder of jobs stays what all pages and command lines read. A job is given to a worker that is
free, and no sooner: so its place in the queue is true, and one that is asked for meanwhile goes
before the runs of a sweep. This process holds its lock, and writes its state, its curves and its
checkpoints as they come. When the worker is lost, or this process, the job goes on from the last of
these.
"""

import asyncio
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from icl_core.jobs import scheduler_address, worker
from icl_core.jobs.folder import hold_lock, jobs_folder
from icl_core.jobs.scheduler_address import ClusterStatus
from icl_core.runs.disk import private_folder

CONNECT = 10.0  # seconds in which a scheduler must answer
PATIENCE = 60.0  # seconds after which one that is not there is given up
PAUSE = 1.0  # seconds until it is tried again
NICE = 5
AUTOGROUP = Path("/proc/self/autogroup")
_WHERE = re.compile(r"in <[^>]*>: ")  # Dask's words for the connection change with each try


def work(once: bool = False, slots: int | None = None, server: int | None = None) -> None:
    """Train what waits, or hand it to a cluster if there is one: `python -m icl_core work`. See
    `worker.work`."""
    _step_back()
    if scheduler_address.scheduler():
        dispatch(server)
    else:
        worker.work(once, slots, server)


def _step_back() -> None:
    """Let the dashboard answer first, also while all cores train. Where Linux shares the processor
    among sessions, a niceness counts within its session only, and the session, here one of our own,
    has another."""
    with suppress(OSError, AttributeError):
        os.nice(NICE)
        if os.getsid(0) == os.getpid():
            AUTOGROUP.write_text(str(NICE))


def dispatch(server: int | None = None) -> None:
    """Hand out what waits until nothing has for some seconds and `server`, a process, has ended.
    SIGTERM and Ctrl-C stop every job at a checkpoint. Does nothing where another process does this.
    """
    private_folder(jobs_folder())
    with hold_lock(scheduler_address.lock_path()) as mine:
        if mine:
            asyncio.run(_connected(_signals(), lambda: _lives(server)))


async def _connected(stopped: Callable[[], bool], waited_for: Callable[[], bool]) -> None:
    """Find the scheduler, again where it is lost, and hand out; where there is none, say so."""
    address, found = scheduler_address.scheduler(), time.monotonic()
    while not stopped() and (waited_for() or time.monotonic() - found < PATIENCE):
        try:
            from distributed import Client

            from icl_core.cluster.pool import WorkerPool

            async with Client(address, asynchronous=True, timeout=CONNECT, name="icl") as client:
                if await WorkerPool(client, stopped, waited_for).work():
                    return
            found = time.monotonic()
        except ImportError as problem:
            return _say(
                "ICL_SCHEDULER needs Dask: pip install -r "
                f"icl_core/cluster/requirements-dask.txt ({problem})"
            )
        except (
            OSError,
            ValueError,
            TypeError,
            RuntimeError,
        ) as problem:  # of addresses and TLS, too
            _say(f"expected a Dask scheduler at {address}, got: {_WHERE.sub('', str(problem))}")
        await asyncio.sleep(PAUSE)


def _say(message: str) -> None:
    if scheduler_address.read_status().message != message:
        print(message, file=sys.stderr)
    scheduler_address.write_status(ClusterStatus(message=message))


def _signals() -> Callable[[], bool]:
    """Tells whether SIGTERM or Ctrl-C came."""
    came = []
    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(ValueError):  # a thread hears no signals
            signal.signal(number, lambda *_: came.append(True))
    return lambda: bool(came)


def _lives(process: int | None) -> bool:
    with suppress(psutil.Error):
        return process is not None and psutil.Process(process).is_running()
    return False
