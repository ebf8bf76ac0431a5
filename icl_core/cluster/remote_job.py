"""The way of one job through Dask: handed to one worker, followed while it trains, its run checked
and kept here."""

import asyncio
import json
import os
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from distributed import Client, Future, Queue

from icl_core.cluster import remote_worker, transfer
from icl_core.contract.knobs import BadSetting
from icl_core.jobs import warm_start
from icl_core.jobs.folder import Job, queue_lock
from icl_core.jobs.reading import CANCELLED, is_state
from icl_core.jobs.train import postponed, tell_cancelled
from icl_core.runs import store
from icl_core.runs.disk import write_whole
from icl_core.runs.file import IDENTITY, Damaged, unpack
from icl_core.runs.header import info_of, key_of_record

LOOK = 0.2  # seconds between looks whether somebody cancelled
NEWS = 2  # parcels that may lie in a queue: a worker whose news are not fetched waits with the next


class WorkerLost(Exception):
    """The worker is gone, with what it had in hand since its last news."""


@dataclass(frozen=True)
class Worker:
    """A worker of Dask: its address, and the process that has it."""

    address: str
    me: str


class RemoteJob:
    """A job on its way. `mine` tells whether we still have its lock, `there` whether the worker is
    still that one."""

    def __init__(
        self,
        client: Client,
        job: Job,
        worker: Worker,
        mine: Callable[[], bool],
        there: Callable[[], bool],
    ) -> None:
        self.job, self.worker, self._client, self._mine, self._there = (
            job,
            worker,
            client,
            mine,
            there,
        )
        self._request = job.request() or {}
        self._ticket = f"{self._request['experiment']}-{job.key}-{uuid.uuid4().hex[:8]}"
        self._told = ""

    async def make(self, code: dict[str, str], stopped: Callable[[], bool]) -> None:
        """Have the job done, and keep what has come of it. Raises `Lost`, and what went wrong on
        the worker."""
        queue = await Queue(self._ticket, client=self._client, maxsize=NEWS)
        what = {"key": self.job.key, "request": self._request, "me": self.worker.me, "code": code}
        future = self._client.submit(
            remote_worker.carry_out,
            self._ticket,
            json.dumps(what),
            transfer.pack(transfer.outward(self.job)),
            key=self._ticket,
            workers=[self.worker.address],
            pure=False,
        )
        try:
            self._keep(transfer.unpack(await self._followed(future, queue, stopped)))
        finally:
            with suppress(Exception):  # the scheduler may be gone, too
                await self._client.cancel([future])
            for _ in range(3):  # ours counts twice, the worker's once, which may be dead
                queue.close()

    async def _followed(self, future: Future, queue: Queue, stopped: Callable[[], bool]) -> bytes:
        """What the worker gives back in the end; until then its news are told here, and to it what
        is asked."""
        news, end = asyncio.ensure_future(queue.get()), asyncio.ensure_future(future.result())
        try:
            while True:
                await asyncio.wait((news, end), timeout=LOOK, return_when=asyncio.FIRST_COMPLETED)
                if end.done():
                    return end.result()
                if news.done():
                    self._relay(transfer.unpack(news.result()))
                    news = asyncio.ensure_future(queue.get())
                if not self._there():
                    raise WorkerLost
                await self._ask(
                    remote_worker.STOP if stopped() or not self._mine() else self.job.cancelled()
                )
        finally:
            news.cancel()
            end.cancel()

    async def _ask(self, what: str) -> None:
        """Tell the worker to stop or to give up, once."""
        if what and what != self._told:
            self._told = what
            await self._client.run(
                remote_worker.tell,
                self._ticket,
                what,
                workers=[self.worker.address],
                on_error="ignore",
            )

    def _relay(self, news: transfer.Files) -> None:
        """Keep the files as if the job were done here. What cannot be written comes again."""
        with suppress(OSError):
            self._write(transfer.CHECKPOINT, self.job.checkpoint, news)
            told = self._state(news[transfer.STATE]) if transfer.STATE in news else {}
            if (
                told.get("status") == "running" and self._mine()
            ):  # of the end we tell once we have all of it
                self.job.tell(**told)
            self._write(
                transfer.LIVE, self.job.live, news
            )  # a job that has curves is no longer told to be waiting

    def _write(self, name: str, path: Path, news: transfer.Files) -> None:
        if name in news and self._mine() and self._is_ours(news[name]):
            write_whole(path, news[name])

    def _is_ours(self, content: bytes) -> bool:
        """Whether the bytes are a whole file of this job."""
        with suppress(Damaged):
            record, _ = unpack(content)
            return all(record[name] == self._request.get(name, record[name]) for name in IDENTITY)
        return False

    def _state(self, content: bytes) -> dict[str, Any]:
        """The state that the worker tells. This process stands for its own, and nobody here can
        help it."""
        told = json.loads(content)
        if not is_state(told):
            raise Damaged("expected the state of a job")
        here = (
            {"pid": os.getpid(), "born": psutil.Process().create_time()}
            if told["status"] == "running"
            else {}
        )
        return {**told, **here, "spare": 0}

    def _keep(self, outcome: transfer.Files) -> None:
        """Keep what has come of the job, and tell how it has ended."""
        if not self._mine():
            return
        last: dict[str, Any] | None = self._state(outcome.pop(transfer.STATE))
        if last["status"] == "done":
            last = self._kept(last, outcome)
        elif last["status"] not in CANCELLED:
            self._relay(outcome)
        if last is None:
            return
        if last["status"] in CANCELLED:
            return tell_cancelled(self.job, self._mine)
        with suppress(OSError):
            self.job.tell(**last)

    def _kept(self, last: dict[str, Any], outcome: transfer.Files) -> dict[str, Any] | None:
        """Keep a run, and tell that it is done, `last`; the state that could not be told, or is
        another. Raises `Damaged` for another run."""
        if status := self.job.cancelled():
            return {"status": status}
        record, tensors = unpack(outcome.pop(transfer.RUN, b""))
        if key_of_record(record) != self.job.key:
            raise Damaged(f"expected the run {self.job.key}, got {key_of_record(record)}")
        try:
            header = store.default().save(
                record["experiment"], self._request["config"], tensors, info_of(record)
            )
        except BadSetting as problem:
            return {**last, "status": "failed", "message": str(problem)}
        except OSError as problem:
            return {**last, **postponed(self.job, self.job.state().get("tries", 0), problem)}
        for name, content in outcome.items():
            if name.startswith("ends/") and self._is_ours(content):
                warm_start.write_end(self.job.ends / os.path.basename(name), content)
        with suppress(OSError), queue_lock():  # nobody gives it up, or asks for it again, meanwhile
            if status := self.job.cancelled():
                store.default().discard(header)
                return {"status": status}
            if self._mine():
                self.job.tell(**last)
            return None
        return last
