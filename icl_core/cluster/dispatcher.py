"""Hand the jobs that wait to the workers of a Dask cluster, in place of workers on this machine:
one process, `python -m icl_core work` with the scheduler's address in `ICL_SCHEDULER`.

Pages and command lines read the same folder of jobs as ever. A job is handed to a worker that is
free, and no sooner: so its position in the queue is true, and one that is requested meanwhile goes
before the runs of a sweep. This process holds the job's lock, and writes its state, curves and
checkpoints as they come. If the worker is lost, or this process, the job continues from the last of
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

from icl_core.contract.message import printable_lines
from icl_core.jobs import folder, starts, worker
from icl_core.jobs.folder import ClusterStatus, hold_lock, jobs_folder
from icl_core.runs.disk import private_folder

CONNECT = 10.0  # seconds in which a scheduler must answer
PATIENCE = 60.0  # seconds without a scheduler after which this process ends
PAUSE = 1.0  # seconds between two tries to connect
NICE = 5
AUTOGROUP = Path("/proc/self/autogroup")
_CONNECTION = re.compile(r"in <[^>]*>: ")  # Dask names the connection: another port at each try


def work(once: bool = False, slots: int | None = None, server: int | None = None) -> None:
    """Train the jobs that wait, or hand them to a cluster if there is one; see `worker.work`.
    Called by `python -m icl_core work`."""
    _lower_priority()
    if folder.scheduler():
        dispatch(server)
    else:
        worker.work(once, slots, server)


def _lower_priority() -> None:
    """Let the dashboard answer first, also while all cores train. Where Linux shares the processor
    among sessions, a niceness counts within its session only; if this process has one of its own,
    the session's niceness is set, too."""
    with suppress(OSError, AttributeError):  # not Linux, or not allowed: then as all processes
        os.nice(NICE)
        if os.getsid(0) == os.getpid():
            AUTOGROUP.write_text(str(NICE))


def dispatch(server: int | None = None) -> None:
    """Hand out the jobs that wait until there have been none for some seconds and the process with
    the pid `server` has ended. SIGTERM and Ctrl-C stop every job at a checkpoint. Does nothing if
    another process does this already."""
    private_folder(jobs_folder())
    starts.note_up()
    with hold_lock(folder.scheduler_lock()) as has_lease:
        if has_lease:
            asyncio.run(_serve(_signals(), lambda: _lives(server)))


async def _serve(stopped: Callable[[], bool], server_lives: Callable[[], bool]) -> None:
    """Connect to the scheduler, again if it is lost, and hand out jobs; write why if it cannot be
    reached."""
    address = folder.scheduler()
    connected_at = time.monotonic()
    while not stopped() and (server_lives() or time.monotonic() - connected_at < PATIENCE):
        try:
            from distributed import Client

            from icl_core.cluster.pool import WorkerPool

            async with Client(address, asynchronous=True, timeout=CONNECT, name="icl") as client:
                if await WorkerPool(client, stopped, server_lives).work():
                    return
            connected_at = time.monotonic()
        except ImportError as problem:
            return _write_obstacle(
                "ICL_SCHEDULER needs Dask: pip install -r icl_core/cluster/requirements-dask.txt "
                f"({problem})"
            )
        except (OSError, ValueError, TypeError, RuntimeError) as problem:  # of addresses and TLS
            reason = _CONNECTION.sub("", str(problem))
            _write_obstacle(f"expected a Dask scheduler at {address}, got: {reason}")
        await asyncio.sleep(PAUSE)


def _write_obstacle(message: str) -> None:
    """Write into the status why nothing can be trained; print it if it is new."""
    if folder.read_cluster_status().message != message:
        print(printable_lines(message), file=sys.stderr)
    folder.write_cluster_status(ClusterStatus(message=message))


def _signals() -> Callable[[], bool]:
    """Return a function that returns whether SIGTERM or Ctrl-C came."""
    signals: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(ValueError):  # signals come to the main thread only
            signal.signal(number, lambda came, _: signals.append(came))
    return lambda: bool(signals)


def _lives(pid: int | None) -> bool:
    with suppress(psutil.Error):  # it has ended
        return pid is not None and psutil.Process(pid).is_running()
    return False
