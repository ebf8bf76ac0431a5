"""Trainings on a Dask cluster: a scheduler and workers started with Dask's own commands, on
loopback.

One worker is killed in mid-run; the run that comes of it is the one that is trained here, bit for
bit.
"""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import distributed
import numpy as np
import pytest
from house import EXTRA, ROOT, TOY, config, house
from house import wait_for as wait

from icl_core.cluster import dispatcher, transfer
from icl_core.command.cli import main
from icl_core.contract.experiment import Run
from icl_core.jobs import folder, queue, spawn, worker
from icl_core.jobs.folder import Job
from icl_core.jobs.train import code_difference, code_digests
from icl_core.runs import store
from icl_core.runs.file import Damaged, read, read_record
from icl_core.runs.request import Request
from pages.ui.controls import training

SOON = (
    "from icl_core.jobs import job_progress\njob_progress.FIRST_CHECKPOINT = "
    "job_progress.CHECKPOINT = 0.0\n"
)
TIMING = ("seconds", "waited", "date")
# five processes begin here, and other tests may go on beside them
wait_for = partial(wait, seconds=300)


class Machines:
    """A scheduler, and workers by name, each with a folder of its own."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self._stack = stack
        self.workers = {}
        (folder / "soon.py").write_text(SOON)
        path = folder / "scheduler.json"
        where = "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(path)
        self._start("scheduler", *where)
        wait_for(lambda: path.exists() and path.read_text().endswith("}"), "the scheduler")
        self.address = json.loads(path.read_text())["address"]

    def add(self, name: str, source: Path = ROOT) -> None:
        more = "--no-nanny", "--nthreads", "1", "--preload", str(self.folder / "soon.py")
        where = "--local-directory", str(self.folder / name)
        self.workers[name] = self._start(
            "worker", self.address, *more, *where, PYTHONPATH=str(source)
        )

    def has(self, name: str, key: str) -> bool:
        """Whether the worker has the job in hand."""
        return any((self.folder / name).glob(f"*/*/icl/jobs/{key}"))

    def _start(self, *what: str, **env: str) -> subprocess.Popen:
        # as `dask scheduler` and `dask worker` do
        log = self._stack.enter_context(
            (self.folder / f"{what[0]}-{len(self.workers)}.log").open("w")
        )
        command = [sys.executable, "-m", "dask", *what, "--no-dashboard"]
        env = {**os.environ, "ICL_PAPERS": str(EXTRA), "PYTHONPATH": str(ROOT), **env}
        process = subprocess.Popen(command, cwd=self.folder, env=env, stdout=log, stderr=log)
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process


@pytest.fixture(scope="module")
def machines(tmp_path_factory):
    """The cluster, a store of its own for these tests, and the process that hands its jobs out,
    once it is started."""
    folder = tmp_path_factory.mktemp("cluster")
    with pytest.MonkeyPatch.context() as patch, house(folder / "home", patch), ExitStack() as stack:
        cluster = Machines(folder, stack)
        patch.setenv("ICL_SCHEDULER", cluster.address)
        yield cluster
        end_dispatcher()


def end_dispatcher() -> None:
    for job in queue.states():
        if job.status == "running":
            os.kill(job.pid, signal.SIGTERM)
    for job in queue.states():
        queue.cancel(job.key)
    wait_for(lambda: not spawn._is_taken(0), "the dispatcher to end")


def done(key: str) -> bool:
    spawn.ensure_workers()  # as every look at a job does
    return queue.state(key).status == "done"


def curves(key: str) -> Run | None:
    """The curves so far. The process that hands jobs out ends where it has none: one that was about
    to, as this was asked for, has to be started again."""
    spawn.ensure_workers()
    return queue.partial_curves(key)


def test_a_scheduler_that_is_not_there_is_named_and_the_job_waits(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ICL_SCHEDULER", "tcp://127.0.0.1:9")
    monkeypatch.setattr(dispatcher, "CONNECT", 0.2)
    monkeypatch.setattr(dispatcher, "PATIENCE", 0.1)
    monkeypatch.setattr(dispatcher, "_signals", lambda: lambda: False)
    with house(tmp_path, monkeypatch):
        key = queue.submit(Request(TOY, config()))
        # a browser of other tests may have this thread's event loop
        with ThreadPoolExecutor() as beside:
            beside.submit(dispatcher.dispatch).result()
        job = queue.state(key)
        assert (job.status, job.position) == ("queued", 1)
        assert job.message.startswith(
            "expected a Dask scheduler at tcp://127.0.0.1:9, got: Timed out"
        )
        assert training.describe(job) == f"Waiting: {job.message}"
        assert job.message in capsys.readouterr().err
        monkeypatch.delenv("ICL_SCHEDULER")
        assert queue.state(key).message == "" and worker.work(once=True, slots=1) == 1


def test_a_scheduler_that_hangs_up_is_named_once(tmp_path, monkeypatch, capsys):
    """One that wants TLS, say. Dask's message holds a port that is another each time."""
    tries = itertools.count(40_000)

    async def fails(*_, **__):
        raise OSError(
            f"in <TCP (closed) local=tcp://127.0.0.1:{next(tries)}>: ConnectionResetError: reset "
            "by peer"
        )

    monkeypatch.setattr(distributed.Client, "_start", fails)
    monkeypatch.setenv("ICL_SCHEDULER", "tcp://127.0.0.1:9")
    monkeypatch.setattr(dispatcher, "PAUSE", 0.01)
    monkeypatch.setattr(dispatcher, "PATIENCE", 60.0)
    monkeypatch.setattr(dispatcher, "_signals", lambda: lambda: next(tries) > 40_010)
    with house(tmp_path, monkeypatch), ThreadPoolExecutor() as beside:
        beside.submit(dispatcher.dispatch).result()
    assert capsys.readouterr().err == (
        "expected a Dask scheduler at tcp://127.0.0.1:9, got: ConnectionResetError: reset by peer\n"
    )


@pytest.mark.long
def test_a_worker_of_another_version_is_refused_and_the_job_goes_elsewhere(machines):
    other = machines.folder / "other"
    shutil.copytree(
        ROOT / "icl_core", other / "icl_core", ignore=shutil.ignore_patterns("__pycache__")
    )
    with (other / "icl_core" / "device.py").open("a") as file:
        file.write("# of another day\n")
    machines.add("refused", other)
    key = queue.submit(Request(TOY, config()))
    spawn.ensure_workers()
    wait_for(lambda: "is refused" in queue.state(key).message, "the refusal")
    job = queue.state(key)
    assert f"icl_core {code_digests()['icl_core'][:12]} was expected" in job.message
    assert job.status == "queued"
    machines.add("first")
    machines.add("second")
    wait_for(lambda: done(key), "another worker")
    assert store.default().exact(TOY, key).info["metrics"]
    assert folder.read_cluster_status().workers >= 1
    assert not (machines.folder / "refused" / "icl").exists()


@pytest.mark.long
def test_the_job_of_a_killed_worker_goes_on_elsewhere_and_comes_out_the_same(
    machines, tmp_path, monkeypatch
):
    setting = config(steps=600, d=7, seeds=2)  # seconds, as every step writes a checkpoint
    key = queue.submit(Request(TOY, setting))
    checkpoint = Job(key).checkpoint

    def has_begun() -> bool:
        curves(key)
        return checkpoint.exists() and read_record(checkpoint)["step"] > 0

    wait_for(has_begun, "a checkpoint")
    (name,) = [name for name in ("first", "second") if machines.has(name, key)]
    machines.workers[name].kill()
    wait_for(lambda: Job(key).state().get("first_step", 0) > 0, "another worker to go on")
    wait_for(lambda: done(key), "the run")
    files = [
        path for path in (store.default().local / "runs").iterdir() if path.name.startswith(key)
    ]
    assert len(files) == 1
    record, tensors = read(files[0])
    with house(tmp_path, monkeypatch) as own_store, monkeypatch.context() as patch:
        patch.delenv("ICL_SCHEDULER")
        queue.submit(Request(TOY, setting))
        assert worker.work(once=True, slots=9) == 1
        own_record, own_tensors = read(own_store.find(Request(TOY, setting)).path)
    for name in (*TIMING, "seal"):
        record.pop(name, None)
        own_record.pop(name, None)
    assert record == own_record and tensors.keys() == own_tensors.keys()
    assert all(np.array_equal(tensors[name], own_tensors[name]) for name in own_tensors)


@pytest.mark.long
def test_a_run_is_seen_live_and_cancelled_and_its_worker_is_free_again(machines):
    key = queue.submit(Request(TOY, config(steps=1_000_000, seed=1)))
    next_key = queue.submit(Request(TOY, config(seed=1)))
    wait_for(
        lambda: (run := curves(key)) is not None and "curve/loss" in run.tensors, "the first curves"
    )
    job = queue.state(key)
    assert job.status == "running" and job.total == 1_000_000
    assert queue.state(next_key).position == 1
    queue.cancel(key)
    wait_for(lambda: queue.state(key).status == "cancelled", "the job to stop")
    wait_for(lambda: Job(key).checkpoint.exists(), "what was trained, which can be continued")
    assert store.default().exact(TOY, key) is None
    wait_for(lambda: done(next_key), "the next job")


@pytest.mark.long
def test_who_ends_the_process_here_finds_a_checkpoint_of_the_last_steps(machines):
    key = queue.submit(Request(TOY, config(steps=1_000_000, seed=2)))
    wait_for(lambda: curves(key) is not None and queue.state(key).step > 20, "the first steps")
    queue.interrupt(key)
    wait_for(lambda: queue.state(key).status == "interrupted", "the job to stop")
    assert read_record(Job(key).checkpoint)["step"] >= queue.state(key).step > 20
    queue.cancel(key)


@pytest.mark.long
def test_the_command_line_hands_its_runs_to_the_scheduler_that_it_names(monkeypatch):
    monkeypatch.setenv("ICL_SCHEDULER", "")
    schedulers = []
    monkeypatch.setattr(
        "icl_core.jobs.terminal.train_or_load",
        lambda *_: schedulers.append(folder.scheduler()),
    )
    monkeypatch.setattr("icl_core.evidence.measurements.of_run", lambda header: [])
    monkeypatch.setattr("icl_core.command.train._other_circumstances", lambda header: [])
    monkeypatch.setattr("icl_core.runs.code.note", lambda header: "")
    main(["run", TOY, "--scheduler", "tcp://somewhere:8786"])
    assert schedulers == ["tcp://somewhere:8786"]


def test_a_parcel_holds_files_and_leads_nowhere_else(tmp_path, monkeypatch):
    files = {"jobs/key/live.safetensors": b"{}", "nothing": b""}
    assert transfer.unpack(transfer.pack(files)) == files
    with pytest.raises(Damaged, match="expected a parcel"):
        transfer.unpack(b"no parcel")
    with (
        house(tmp_path, monkeypatch),
        pytest.raises(Damaged, match="within the folder of the parcel"),
    ):
        transfer.lay_out({"../elsewhere": b""})


def test_what_differs_between_two_machines_is_said_in_words():
    here = code_digests()
    torch = here["torch"]
    assert code_difference(here, here) == "" and torch[0].isdigit() and "+" not in torch
    difference = code_difference(here, {**here, "torch": "1.0"})
    assert difference == f"torch {torch} was expected, 1.0 came"


def test_dask_is_imported_only_where_a_scheduler_is_set():
    jobs = (ROOT / "icl_core").rglob("*.py")
    assert {path.stem for path in jobs if "\nfrom distributed" in path.read_text()} == {
        "pool",
        "remote_job",
        "remote_worker",
    }
    modules = (
        "icl_core.command.cli, icl_core.cluster.dispatcher, icl_core.jobs.worker, "
        "pages.ui.controls.training"
    )
    check = f"import sys, {modules}; sys.exit('distributed' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], cwd=ROOT).returncode == 0
