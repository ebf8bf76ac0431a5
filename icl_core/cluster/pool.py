"""The workers of a Dask cluster that train as this machine would, and the jobs that they have in
hand."""

import asyncio
import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any

from distributed import Client, KilledWorker

from icl_core.cluster import remote_worker
from icl_core.cluster.remote_job import RemoteJob, Worker, WorkerLost
from icl_core.jobs import queue, scheduler_address
from icl_core.jobs.code_version import code, differs, source_mtimes
from icl_core.jobs.folder import Job, has_room, hold_lock, request_counter
from icl_core.jobs.scheduler_address import ClusterStatus
from icl_core.jobs.worker import IDLE, forget_old

TICK = 1.0  # seconds between looks at the cluster
AGAIN = 60.0  # seconds after which a worker that was refused is asked again
ENDING = 30.0  # seconds in which jobs must have stopped
GONE = (WorkerLost, remote_worker.Moved, KilledWorker, CancelledError, asyncio.CancelledError)


class WorkerPool:
    """One connection's workers. `stopped` tells whether to end at checkpoints, `waited_for` whether
    to stay when there is nothing to do."""

    def __init__(
        self, client: Client, stopped: Callable[[], bool], waited_for: Callable[[], bool]
    ) -> None:
        self._client, self._stopped, self._waited_for, self._code = (
            client,
            stopped,
            waited_for,
            code(),
        )
        self._source = source_mtimes()
        self._there: dict[str, str] = {}  # by address, the process that has it
        self._able: set[str] = set()  # the addresses of those that take something up
        self._refused: dict[str, tuple[float, str]] = {}  # by address, until when, and why
        self._meeting: dict[str, asyncio.Task[None]] = {}
        self._trips: dict[str, asyncio.Task[None]] = {}  # by the address of the worker
        self._said: set[str] = set()
        self._woken = asyncio.Event()

    async def work(self) -> bool:
        """Hand out jobs until there is nothing to do. False if the scheduler was lost; what was in
        hand waits then. Raises `OSError` for a scheduler that hands nothing of this project on."""
        await self._check_scheduler()
        busy_at = time.monotonic()
        try:
            while self._client.status == "running":
                over = (
                    self._stopped() or source_mtimes() != self._source
                )  # the next process reads it anew
                heard, ready = request_counter(), [] if over else _ready()
                idle = time.monotonic() - busy_at
                if (
                    over and (not self._trips or (self._stopped() and idle > ENDING))
                ) or self._done(idle):
                    return True
                if ready or (self._trips and not self._stopped()):
                    busy_at = time.monotonic()
                await self._meet()
                await self._hand_out(ready)
                await self._sleep(heard)
            return False
        finally:
            for task in (*self._trips.values(), *self._meeting.values()):
                task.cancel()
            await asyncio.gather(
                *self._trips.values(), *self._meeting.values(), return_exceptions=True
            )

    async def _check_scheduler(self) -> None:
        try:
            await self._client.run_on_scheduler(remote_worker.introduce)
        except ImportError as problem:
            raise OSError(
                f"one that lacks this project ({problem}); start it there with PYTHONPATH=."
            ) from problem

    def _done(self, idle: float) -> bool:
        return not self._trips and idle > IDLE and not self._waited_for()

    async def _meet(self) -> None:
        """Look who is there, ask those who have come, and say how many there are."""
        scheduler: Any = self._client.scheduler
        known = await scheduler.identity(n_workers=-1)
        present = known["workers"].keys()
        self._able = {
            address for address, each in known["workers"].items() if each["status"] == "running"
        }
        self._there = {address: me for address, me in self._there.items() if address in present}
        now = time.monotonic()
        self._refused = {
            at: told for at, told in self._refused.items() if at in present and told[0] > now
        }
        for address in (
            self._able - self._there.keys() - self._refused.keys() - self._meeting.keys()
        ):
            self._meeting[address] = asyncio.create_task(self._introduced(address))
        self._say()

    async def _introduced(self, address: str) -> None:
        try:
            told = json.loads(
                (await self._client.run(remote_worker.introduce, workers=[address]))[address]
            )
            if problem := differs(self._code, told["code"]):
                self._refuse(address, problem)
            else:
                self._there[address] = told["me"]
        except Exception as problem:  # it has another icl_core, or none, or is gone
            self._refuse(address, f"{type(problem).__name__}: {problem}")
        finally:
            del self._meeting[address]
            self._woken.set()

    def _refuse(self, address: str, problem: str) -> None:
        message = f"the worker {address} is refused: {problem.splitlines()[0]}"
        if message not in self._said:
            print(message, file=sys.stderr, flush=True)
        self._said.add(message)
        self._there.pop(address, None)
        self._refused[address] = time.monotonic() + AGAIN, message

    def _say(self) -> None:
        refused, message = [told for _, told in self._refused.values()], ""
        if not self._there and not self._meeting:
            message = (
                refused[0]
                if refused
                else f"the scheduler {scheduler_address.scheduler()} has no workers yet"
            )
        scheduler_address.write_status(ClusterStatus(len(self._there), message, refused))

    async def _hand_out(self, ready: list[Job]) -> None:
        """Give the first jobs to the workers that have nothing to do, for us or for others."""
        if not ready or not self._there or not has_room():
            return
        busy = await self._client.processing()
        able = self._able & self._there.keys() - self._trips.keys()
        free = [address for address in self._there if address in able and not busy.get(address)]
        for job, address in zip(ready, free, strict=False):
            self._trips[address] = asyncio.create_task(
                self._trip(job, Worker(address, self._there[address]))
            )

    async def _trip(self, job: Job, worker: Worker) -> None:
        there = lambda: self._there.get(worker.address) == worker.me  # noqa: E731
        try:
            with hold_lock(job.folder / "lock") as mine:
                if mine and job.due():
                    await RemoteJob(self._client, job, worker, mine, there).make(
                        self._code, self._stopped
                    )
        except GONE:
            self._there.pop(worker.address, None)  # it is asked again if it is still there
        except (
            Exception
        ) as problem:  # a fault of that machine: those of experiments are told as the job's
            if self._client.status == "running":  # else it is the scheduler that is lost
                self._refuse(worker.address, f"{type(problem).__name__}: {problem}")
        finally:
            forget_old()
            self._trips.pop(worker.address, None)
            self._woken.set()

    async def _sleep(self, heard: int) -> None:
        """Until a worker is free or somebody asks for a run; a while at most, for what comes
        without asking."""
        end = time.monotonic() + TICK
        while time.monotonic() < end and request_counter() == heard and not self._woken.is_set():
            await asyncio.sleep(0.05)
        self._woken.clear()


def _ready() -> list[Job]:
    """What waits and is in nobody's hand, in the order of the queue."""
    return [
        Job(known.key)
        for known in queue.states()
        if queue.is_ready(known) and not Job(known.key).locked()
    ]
