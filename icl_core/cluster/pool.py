"""The workers of a Dask cluster that run the same code as this machine, and the jobs that they
train. Called by `dispatcher`."""

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
from icl_core.contract.message import printable_lines
from icl_core.figures.character_labels import shown_name
from icl_core.jobs import folder, queue, table
from icl_core.jobs.folder import ClusterStatus, Job, has_room, hold_lock
from icl_core.jobs.train import SourceWatch, code_difference, code_digests
from icl_core.jobs.worker import IDLE, forget_old

TICK = 1.0  # seconds between looks at the cluster
AGAIN = 60.0  # seconds after which a worker that was refused is asked again
ENDING = 30.0  # seconds in which jobs must have stopped
LONGEST = 500  # characters of a worker's reason
LOST = (WorkerLost, remote_worker.Moved, KilledWorker, CancelledError, asyncio.CancelledError)


class WorkerPool:
    """The workers of one connection. `stopped` returns whether to end at checkpoints,
    `server_lives` whether to stay when there is nothing to do."""

    def __init__(
        self, client: Client, stopped: Callable[[], bool], server_lives: Callable[[], bool]
    ) -> None:
        self._client = client
        self._stopped = stopped
        self._server_lives = server_lives
        self._code = code_digests()
        self._source = SourceWatch()
        # All by the address of a worker:
        self._processes: dict[str, str] = {}  # the process there, of those with the same code
        self._running: set[str] = set()  # those that accept work
        self._refused: dict[str, tuple[float, str]] = {}  # until when, and why
        self._introductions: dict[str, asyncio.Task[None]] = {}
        self._jobs: dict[str, asyncio.Task[None]] = {}
        self._printed: set[str] = set()  # messages
        self._woken = asyncio.Event()

    async def work(self) -> bool:
        """Hand out jobs until there is nothing to do. Return False if the scheduler was lost; its
        jobs wait then. Raises `OSError` for a scheduler that does not have this project."""
        await self._check_scheduler()
        busy_at = time.monotonic()
        try:
            while self._client.status == "running":
                # when the code changes, the next process imports the new one
                requests = table.request_count()
                ending = self._stopped() or self._source.changed(requests)
                ready = [] if ending else _ready_jobs()
                idle = time.monotonic() - busy_at
                if ending and (not self._jobs or (self._stopped() and idle > ENDING)):
                    return True
                if not self._jobs and idle > IDLE and not self._server_lives():
                    return True
                if ready or (self._jobs and not self._stopped()):
                    busy_at = time.monotonic()
                await self._update_workers()
                await self._hand_out(ready)
                await self._wait(requests)
            return False
        finally:
            tasks = (*self._jobs.values(), *self._introductions.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _check_scheduler(self) -> None:
        try:
            await self._client.run_on_scheduler(remote_worker.introduce)
        except ImportError as problem:
            raise OSError(
                f"one that lacks this project ({problem}); start it there with PYTHONPATH=."
            ) from problem

    async def _update_workers(self) -> None:
        """Note which workers are there, ask the new ones for their code, and write the status."""
        scheduler: Any = self._client.scheduler
        workers = (await scheduler.identity(n_workers=-1))["workers"]
        self._running = {
            address for address, worker in workers.items() if worker["status"] == "running"
        }
        self._processes = {
            address: process for address, process in self._processes.items() if address in workers
        }
        now = time.monotonic()
        self._refused = {
            address: (until, message)
            for address, (until, message) in self._refused.items()
            if address in workers and until > now
        }
        known = self._processes.keys() | self._refused.keys() | self._introductions.keys()
        for address in self._running - known:
            self._introductions[address] = asyncio.create_task(self._introduce(address))
        self._write_status()

    async def _introduce(self, address: str) -> None:
        """Ask a worker for its process and its code; refuse it if its code is another."""
        try:
            answers = await self._client.run(remote_worker.introduce, workers=[address])
            introduction = json.loads(answers[address])
            if problem := code_difference(self._code, introduction["code"]):
                self._refuse(address, problem)
            else:
                self._processes[address] = introduction["process"]
        except Exception as problem:  # it has another icl_core, or none, or is gone
            self._refuse(address, f"{type(problem).__name__}: {problem}")
        finally:
            del self._introductions[address]
            self._woken.set()

    def _refuse(self, address: str, problem: str) -> None:
        message = f"the worker {address} is refused: {shown_name(problem.splitlines()[0], LONGEST)}"
        if message not in self._printed:
            print(printable_lines(message), file=sys.stderr, flush=True)
        self._printed.add(message)
        self._processes.pop(address, None)
        self._refused[address] = time.monotonic() + AGAIN, message

    def _write_status(self) -> None:
        refused = [message for _, message in self._refused.values()]
        message = ""
        if not self._processes and not self._introductions:
            address = folder.scheduler()
            message = refused[0] if refused else f"the scheduler {address} has no workers yet"
        folder.write_cluster_status(ClusterStatus(len(self._processes), message, refused))

    async def _hand_out(self, ready: list[Job]) -> None:
        """Give the first jobs to the workers that have nothing to do, from us or from others."""
        if not ready or not self._processes or not has_room():
            return
        busy = await self._client.processing()
        accepting = self._running - self._jobs.keys()
        free = [
            address for address in self._processes if address in accepting and not busy.get(address)
        ]
        for job, address in zip(ready, free, strict=False):
            worker = Worker(address, self._processes[address])
            self._jobs[address] = asyncio.create_task(self._train(job, worker))

    async def _train(self, job: Job, worker: Worker) -> None:
        """Have a worker train a job, if nobody else has it by now."""

        def is_there() -> bool:
            return self._processes.get(worker.address) == worker.process

        try:
            with hold_lock(job.folder / "lock") as has_lease:
                if has_lease and job.is_due():
                    remote_job = RemoteJob(self._client, job, worker, has_lease, is_there)
                    await remote_job.train(self._code, self._stopped)
        except LOST:
            self._processes.pop(worker.address, None)  # it is asked again if it is still there
        except Exception as problem:  # of that machine: an experiment's is the state of its job
            if self._client.status == "running":  # else it is the scheduler that is lost
                self._refuse(worker.address, f"{type(problem).__name__}: {problem}")
        finally:
            forget_old()
            self._jobs.pop(worker.address, None)
            self._woken.set()

    async def _wait(self, requests: int) -> None:
        """Wait until a worker is free or the counter of requests is no longer `requests`, for TICK
        at most: a job can become ready without a request."""
        end = time.monotonic() + TICK
        while (
            time.monotonic() < end
            and table.request_count() == requests
            and not self._woken.is_set()
        ):
            await asyncio.sleep(0.05)
        self._woken.clear()


def _ready_jobs() -> list[Job]:
    """Return the jobs that no worker has and that may be taken now, in the order of the queue."""
    jobs = [Job(state.key) for state in queue.states() if queue.is_ready(state)]
    return [job for job in jobs if not job.is_locked()]
