"""What all workers use together fits the machine: a job waits for room, and memory is given back
after a run."""

from contextlib import ExitStack

import psutil
import pytest
from house import ask, house

from icl_core.jobs import queue, spawn, worker
from icl_core.jobs.folder import Job, hold_lock
from icl_core.machine import device
from pages.ui.controls import training

GiB = 2**30


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    """A machine of ten GiB, on which every run is said to need six."""
    monkeypatch.setattr(spawn, "ensure_workers", lambda count=None: 0)
    monkeypatch.setattr(device, "memory", lambda: 10 * GiB)
    monkeypatch.setattr(device, "estimated", lambda make: 6 * GiB)
    with house(tmp_path, monkeypatch) as own_store:
        yield own_store


def in_hand(stack: ExitStack, key: str, **state) -> None:
    """As if another worker had it."""
    stack.enter_context(hold_lock(Job(key).folder / "lock"))
    if state:
        Job(key).write_state(**state)


@pytest.mark.parametrize("state", [{}, {"status": "running"}], ids=["just taken", "told"])
def test_a_job_waits_until_it_fits_beside_what_others_have_in_hand(state):
    big = ask(seed=1)
    next_one = ask(seed=2)
    with ExitStack() as other:
        in_hand(other, big, **state)
        assert worker.work(once=True, slots=2) == 0 and queue.state(next_one).status == "queued"
        assert not queue.fits_memory(next_one)
        assert training.describe(queue.state(next_one)) == f"Waiting: {queue.WAITS}"
    assert worker.work(once=True, slots=2) == 1  # one that is alone is trained: it fits the machine
    assert worker.work(once=True, slots=2) == 1 and not queue.state(next_one).message


def test_nobody_overtakes_the_one_that_waits(monkeypatch):
    first = ask(seed=1)
    second = ask(seed=2)
    small = ask(seed=3)
    monkeypatch.setattr(queue, "estimated_memory", lambda job: GiB if job.key == small else 6 * GiB)
    with ExitStack() as other:
        in_hand(other, first, status="running")
        assert queue.fits_memory(small) and not queue.fits_memory(second)
        assert worker.work(once=True, slots=2) == 0 and queue.state(small).status == "queued"


def test_who_helps_at_a_run_counts_too(monkeypatch):
    key = ask(seed=1)
    monkeypatch.setattr(device, "estimated", lambda make: 3 * GiB)
    with ExitStack() as others:
        in_hand(others, key, status="running", spare=5)
        Job(key).phases.mkdir()
        for name in ("a", "b"):
            assert queue.fits_memory(key)
            others.enter_context(hold_lock(Job(key).phases / f"{name}.lock"))
        (Job(key).phases / "c.lock").touch()  # nobody's
        others.enter_context(hold_lock(Job(key).phases / "d.lock"))
        assert not queue.fits_memory(key)  # three of three GiB are in hand


def test_on_gpus_each_worker_has_its_own(monkeypatch):
    key = ask(seed=1)
    other = ask(seed=2)
    with ExitStack() as stack:
        in_hand(stack, other, status="running")
        assert not queue.fits_memory(key)
        monkeypatch.setattr(device, "current_device", lambda: __import__("torch").device("cuda"))
        assert queue.fits_memory(key)


def test_memory_is_given_back_after_every_run(monkeypatch):
    releases = []
    monkeypatch.setattr(device, "release", lambda: releases.append(True))
    ask(seed=1)
    worker.work(once=True, slots=1)
    assert releases


def test_workers_keep_few_compiled_products(monkeypatch):
    """With oneDNN's own 1,024 a worker of birth.dimension grew to 20 GB, as every batch has another
    number of rows."""
    environments = []
    monkeypatch.setattr(
        spawn.subprocess,
        "Popen",
        lambda command, env, **more: environments.append(env) or psutil.Process(),
    )
    spawn.jobs_folder().mkdir(parents=True)
    spawn._start_worker(1, {})
    assert (
        environments[0]["ONEDNN_PRIMITIVE_CACHE_CAPACITY"]
        == environments[0]["LRU_CACHE_CAPACITY"]
        == "64"
    )
