"""One job on its way through Dask: handed to one worker, followed while it trains, its run checked
and saved on this machine. Called by `pool`."""

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
from icl_core.jobs import phase_helper, table
from icl_core.jobs.folder import Job
from icl_core.jobs.table import CANCELLED, STATUSES
from icl_core.jobs.train import State, postponed_state, write_cancelled
from icl_core.runs import database, store
from icl_core.runs.disk import write_whole
from icl_core.runs.file import IDENTITY, Damaged, unpack
from icl_core.runs.header import info_of, key_of_record

LOOK = 0.2  # seconds between two looks for a request to cancel
_NUMBERS = (  # fields of a state that are finite and not negative
    "step",
    "total",
    "phase_step",
    "phase_steps",
    "spare",
    "seconds",
    "first_step",
    "deaths",
    "tries",
    "retry_at",
    "together",
)
LONGEST_QUEUE = 2  # parcels in a queue: then its worker waits until one is read


class WorkerLost(Exception):
    """The worker is gone, with what it has done since its last report."""


@dataclass(frozen=True)
class Worker:
    """A worker of Dask: its address, and the process that has it."""

    address: str
    process: str


class RemoteJob:
    """A job that a worker of Dask trains. `has_lease` returns whether we still have the job's lock,
    `is_there` whether the worker is still the same process."""

    def __init__(
        self,
        client: Client,
        job: Job,
        worker: Worker,
        has_lease: Callable[[], bool],
        is_there: Callable[[], bool],
    ) -> None:
        self.job = job
        self.worker = worker
        self._client = client
        self._has_lease = has_lease
        self._is_there = is_there
        self._request = job.request() or {}
        # the name of this attempt at the job: another worker may have had it before
        self._job_id = f"{self._request['experiment']}-{job.key}-{uuid.uuid4().hex[:8]}"
        self._command = ""  # the last one sent

    async def train(self, code: dict[str, str], stopped: Callable[[], bool]) -> None:
        """Have the job trained, and save the outcome. Raises `WorkerLost`, and what went wrong on
        the worker."""
        queue = await Queue(self._job_id, client=self._client, maxsize=LONGEST_QUEUE)
        order = {
            "key": self.job.key,
            "request": self._request,
            "state": self.job.state(),
            "process": self.worker.process,
            "code": code,
        }
        future = self._client.submit(
            remote_worker.train,
            self._job_id,
            json.dumps(order),
            transfer.pack(transfer.collect(self.job)),
            key=self._job_id,
            workers=[self.worker.address],
            pure=False,
        )
        try:
            outcome = await self._follow(future, queue, stopped)
            self._save(transfer.unpack(outcome))
        finally:
            with suppress(Exception):  # the scheduler may be gone, too
                await self._client.cancel([future])
            for _ in range(3):  # ours counts twice, the worker's once, which may be dead
                queue.close()

    async def _follow(self, future: Future, queue: Queue, stopped: Callable[[], bool]) -> bytes:
        """Return what the worker returns in the end; until then write its reports into the job's
        folder, and send it the commands."""
        report = asyncio.ensure_future(queue.get())
        end = asyncio.ensure_future(future.result())
        try:
            while True:
                await asyncio.wait((report, end), timeout=LOOK, return_when=asyncio.FIRST_COMPLETED)
                if end.done():
                    return end.result()
                if report.done():
                    self._write_report(transfer.unpack(report.result()))
                    report = asyncio.ensure_future(queue.get())
                if not self._is_there():
                    raise WorkerLost
                if stopped() or not self._has_lease():
                    await self._send_command(remote_worker.STOP)
                else:
                    await self._send_command(table.cancel_request(self.job.key))
        finally:
            report.cancel()
            end.cancel()

    async def _send_command(self, command: str) -> None:
        """Tell the worker to stop or to cancel, once."""
        if command and command != self._command:
            self._command = command
            await self._client.run(
                remote_worker.command,
                self._job_id,
                command,
                workers=[self.worker.address],
                on_error="ignore",
            )

    def _write_report(self, files: transfer.Files) -> None:
        """Write the files as if the job were trained here."""
        with suppress(OSError):  # they come again with the next report
            self._write(transfer.CHECKPOINT, self.job.checkpoint, files)
            state = self._read_state(files[transfer.STATE]) if transfer.STATE in files else {}
            # the last state is written once we have all of the outcome
            if state.get("status") == "running" and self._has_lease():
                self.job.write_state(**state)
            # after the state: a job that has curves must not be shown as waiting
            self._write(transfer.LIVE, self.job.live, files)
            self._write(transfer.PREVIEW, self.job.preview, files)

    def _write(self, name: str, path: Path, files: transfer.Files) -> None:
        if name in files and self._has_lease() and self._belongs_to_job(files[name]):
            write_whole(path, files[name])

    def _belongs_to_job(self, content: bytes) -> bool:
        """Return whether the bytes are an undamaged file of this job."""
        try:
            record, _ = unpack(content)
        except Damaged:
            return False
        return all(record[name] == self._request.get(name, record[name]) for name in IDENTITY)

    def _read_state(self, content: bytes) -> State:
        """Return the state that the worker sent, with this process in place of its own, and without
        trainings for helpers, of which there are none here."""
        state = json.loads(content)
        if not _is_state(state):
            raise Damaged("expected the state of a job")
        state["spare"] = 0
        if state["status"] == "running":
            state["pid"] = os.getpid()
            state["born"] = psutil.Process().create_time()
        return state

    def _save(self, outcome: transfer.Files) -> None:
        """Save what has come of the job, and write its last state."""
        if not self._has_lease():
            return
        last: State | None = self._read_state(outcome.pop(transfer.STATE))
        if last["status"] == "done":
            last = self._save_run(last, outcome)
        else:
            self._write_report(outcome)
        if last is None:
            return
        if last["status"] == CANCELLED:
            return write_cancelled(self.job, self._has_lease)
        with suppress(OSError):  # the job counts as interrupted, and continues when there is room
            self.job.write_state(**last)

    def _save_run(self, last: State, outcome: transfer.Files) -> State | None:
        """Save a run, and write the state `last`, that it is done. Return the last state if it
        could not be written or is another one, else None. Raises `Damaged` for another run."""
        if table.cancel_request(self.job.key):
            return {"status": CANCELLED}
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
            tries = self.job.state().get("tries", 0)
            return {**last, **postponed_state(self.job, tries, problem)}
        for name, content in outcome.items():
            if name.startswith("ends/") and self._belongs_to_job(content):
                phase_helper.write_end_state(self.job.ends / os.path.basename(name), content)
        # One transaction: meanwhile nobody cancels the job or requests it again.
        with suppress(OSError), database.transaction():  # the caller tries to write the state again
            if table.cancel_request(self.job.key):
                store.default().discard(header)
                return {"status": CANCELLED}
            if self._has_lease():
                self.job.write_state(**last)
            return None
        return last


def _is_state(value: Any) -> bool:
    """Return whether `value`, from another machine, is the state of a job."""
    if not isinstance(value, dict) or value.get("status") not in STATUSES:
        return False
    numbers = [value.get(name, 0) for name in _NUMBERS]
    return (
        all(isinstance(value.get(name, ""), str) for name in ("message", "phase"))
        and all(type(number) in (int, float) and 0 <= number < 2**63 for number in numbers)
        and isinstance(value.get("kept", False), bool)
        and type(value.get("loss", 0.0)) in (int, float)
        and type(value.get("seconds_left") or 0.0) in (int, float)
    )
