"""Workers that cannot come up, and workers with other environment variables than a request."""

import json
import os
import re
import subprocess
import sys
import time

import psutil
import pytest
from house import ask, house, wait_for

from icl_core.contract.knobs import BadSetting
from icl_core.jobs import folder, queue, spawn, starts, table, worker
from icl_core.jobs.folder import Job, hold_lock, jobs_folder
from icl_core.machine import device


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    for name in ("ICL_DEVICE", "ICL_CACHE_LIMIT", *table.COMPUTING):
        monkeypatch.delenv(name, raising=False)
    with house(tmp_path, monkeypatch) as store:
        device.current_device.cache_clear()
        yield store
        device.current_device.cache_clear()


@pytest.fixture
def pids(monkeypatch):
    """The processes that are started in place of workers: this one at first, which never comes
    up; a test puts others here."""
    pids = [os.getpid()]
    monkeypatch.setattr(spawn, "_start_worker", lambda count, variables, *options: pids[-1])
    return pids


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.fixture
def at_once(monkeypatch):
    """No pause after a worker that did not come up."""
    monkeypatch.setattr(starts, "PAUSES", (0.0, 0.0, 0.0))


def test_a_worker_that_is_coming_up_is_waited_for_and_one_that_hangs_is_not(pids, monkeypatch):
    ask()
    assert [spawn.ensure_workers(1) for _ in range(4)] == [1, 0, 0, 0]
    assert (starts.look().failures, starts.look().coming) == (0, 1)
    now = time.time()
    monkeypatch.setattr(starts.time, "time", lambda: now + starts.LONGEST)
    assert (starts.look().failures, starts.look().coming) == (1, 0)  # it lives and hangs
    assert spawn.ensure_workers(1) == 1
    starts.note_up()
    assert (starts.look().failures, starts.look().coming) == (0, 0)


def test_while_one_worker_imports_another_is_started_for_another_job(pids):
    ask()
    assert spawn.ensure_workers(2) == 1
    ask(seed=1)
    assert spawn.ensure_workers(2) == 1  # beside the one that comes
    assert spawn.ensure_workers(2) == 0 and starts.look().coming == 2


def test_of_two_that_come_up_together_both_are_known_to_be_up(monkeypatch):
    children = [subprocess.Popen([sys.executable, "-c", "input()"], stdin=-1) for _ in range(2)]
    jobs_folder().mkdir(parents=True)
    starts.note_start([child.pid for child in children])
    for child in children:
        with monkeypatch.context() as patch:
            patch.setattr(starts.os, "getpid", lambda child=child: child.pid)
            starts.note_up()
    assert starts.look().processes == ()
    for child in children:
        child.communicate(b"\n")


def test_after_a_failure_the_next_start_waits_longer_each_time(pids, monkeypatch):
    key = ask()
    pids.append(dead_process())
    now = time.time()
    monkeypatch.setattr(starts.time, "time", lambda: now)
    start_seconds = []
    for second in range(30):
        now = now + 1
        if spawn.ensure_workers(1):
            start_seconds.append(second)
    assert start_seconds == [0, 4, 20] and queue.state(key).status == "failed"


def test_the_job_fails_with_the_end_of_the_log_where_no_worker_comes_up(pids, at_once, monkeypatch):
    key = ask()
    with_checkpoint = ask(seed=1)
    Job(with_checkpoint).checkpoint.write_bytes(b"what was trained")
    monkeypatch.setenv("ICL_PRECISION", "highest")
    other = ask(seed=2)
    pids.append(dead_process())
    for _ in range(starts.MOST_FAILURES):
        assert spawn.ensure_workers(1) == 1 and queue.state(key).status == "queued"
        with starts.log_path().open("ab") as log:
            log.write(b"Traceback\n  File\nImportError: no module \x1b[1mtorch\n\n")
    assert spawn.ensure_workers(1) == 0
    state = queue.state(key)
    assert state.status == "failed" and "3 ended before they could train" in state.message
    assert state.message.endswith("ImportError: no module \\u001b[1mtorch")
    assert queue.state(with_checkpoint).kept and Job(with_checkpoint).checkpoint.exists()
    assert queue.state(other).status == "queued"  # a worker with its variables was not tried
    monkeypatch.delenv("ICL_PRECISION")
    queue.cancel(other)
    ask()  # asked for again, it is tried again
    assert spawn.ensure_workers(1) == 1


def test_the_job_fails_with_the_reason_where_no_process_can_be_started(at_once, monkeypatch):
    key = ask()

    def refuse(*arguments, **options):
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr(spawn.subprocess, "Popen", refuse)
    for _ in range(starts.MOST_FAILURES + 1):
        spawn.ensure_workers(1)
    message = "no worker can be started: Resource temporarily unavailable"
    assert (queue.state(key).status, queue.state(key).message) == ("failed", message)


def test_a_real_worker_that_dies_at_its_imports_fails_the_job(tmp_path, at_once, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text("raise SystemExit('nothing works here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    key = ask()
    wait_for(lambda: spawn.ensure_workers(1) or queue.state(key).ended, "the job to fail")
    wait_for(lambda: not spawn.ensure_workers(1) and queue.state(key).ended, "the job to fail")
    assert "nothing works here" in queue.state(key).message


@pytest.mark.parametrize(
    "content", [b"", b"{}", b'{"tries": "3"}', json.dumps(None).encode(), b"[[[["]
)
def test_a_damaged_note_of_starts_counts_as_none(content):
    jobs_folder().mkdir(parents=True)
    (jobs_folder() / "started.json").write_bytes(content)
    assert starts.look() == starts.Starts()


def test_another_process_with_the_pid_of_a_worker_is_not_taken_for_it():
    jobs_folder().mkdir(parents=True)
    starts.note_start([os.getpid()])
    path = jobs_folder() / "started.json"
    record = json.loads(path.read_bytes())
    assert starts.look().coming == 1
    record["processes"][0]["born"] -= 100
    path.write_text(json.dumps(record))
    assert starts.look().coming == 0


def test_a_request_carries_the_variables_of_who_made_it(monkeypatch):
    monkeypatch.setenv("ICL_PRECISION", "highest")
    monkeypatch.setenv("ICL_COMPILE", "")
    key = ask()
    monkeypatch.delenv("ICL_PRECISION")
    names = {name: queue.state(key).environment.get(name) for name in table.COMPUTING}
    assert names == {"ICL_PRECISION": "highest", "ICL_COMPILE": None, "ICL_FAST": None}


def test_what_is_no_variable_of_a_request_starts_no_process_with_it():
    assert table.environment_of_request({"LD_PRELOAD": "/x.so", "ICL_DEVICE": 3}) == {}
    assert table.environment_of_request(["ICL_DEVICE"]) == {}
    assert table.environment_of_request({"ICL_DEVICE": "cpu"}) == {"ICL_DEVICE": "cpu"}


@pytest.mark.parametrize("name", ["ICL_DEVICE", "ICL_PRECISION"])
def test_a_request_for_what_there_is_not_is_refused_to_its_requester(monkeypatch, name):
    monkeypatch.setenv(name, "best")
    device.current_device.cache_clear()
    with pytest.raises(BadSetting, match=f"{name} must .*, got 'best'"):
        ask()
    assert queue.states() == []


@pytest.mark.parametrize(
    "address",
    ["foo", "tcp://", "tcp://host", "http://host:80", "host:port", "a b:1", "[::1:3", ":3"],
)
def test_what_can_never_be_a_scheduler_is_refused_before_anything_waits_for_it(
    address, monkeypatch
):
    refusal = re.escape(f"an address like tcp://HOST:8786, got {address!r}")
    with pytest.raises(BadSetting, match=refusal):
        folder.choose_scheduler(address)
    monkeypatch.setenv("ICL_SCHEDULER", address)
    with pytest.raises(BadSetting, match=refusal):
        ask()
    assert queue.states() == []


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "here:8786", "tls://[::1]:1", "ws://a:2"])
def test_what_may_be_a_scheduler_is_not(address):
    folder.check_scheduler(address)


def test_the_last_who_asks_for_a_job_that_waits_decides_its_variables(monkeypatch):
    key = ask()
    monkeypatch.setenv("ICL_PRECISION", "highest")
    ask()
    assert queue.state(key).environment["ICL_PRECISION"] == "highest"


def test_no_worker_is_started_with_folders_that_a_request_names(environments, monkeypatch):
    """They hold code; who asked starts the worker."""
    monkeypatch.setenv("ICL_PAPERS", "/elsewhere")
    variables = table.current_environment()
    monkeypatch.undo()
    key = ask()
    table.write_environment(key, variables)
    assert spawn.ensure_workers(1) == 0 and not environments


@pytest.fixture
def environments(monkeypatch):
    """The variables of each worker that was started, in whose place nothing runs."""
    environments = []
    monkeypatch.setattr(
        spawn,
        "_start_worker",
        lambda count, variables, *options: environments.append(variables) or os.getpid(),
    )
    return environments


def test_a_worker_ends_for_one_with_other_variables_if_no_slot_is_free(environments, monkeypatch):
    own = ask()
    monkeypatch.setenv("ICL_PRECISION", "highest")
    other = ask(seed=1)
    monkeypatch.delenv("ICL_PRECISION")
    assert worker.work(slots=1) == 1  # it ends at once, not after some idle seconds
    assert queue.state(own).status == "done" and queue.state(other).status == "queued"
    assert [variables.get("ICL_PRECISION") for variables in environments] == ["highest"]
    starts.note_up()
    # where a slot is free for another worker, it goes on with its own
    own = ask(seed=2)
    assert worker.work(slots=2, once=True) == 1
    assert queue.state(own).status == "done" and queue.state(other).status == "queued"


def test_an_idle_worker_serves_only_jobs_with_its_variables(environments, monkeypatch):
    monkeypatch.setenv("ICL_PRECISION", "highest")
    jobs_folder().mkdir(parents=True)
    starts.note_slot(0)  # as a worker does
    with hold_lock(spawn.slot_lock(0)):
        ask()
        assert spawn.ensure_workers(2) == 0
        monkeypatch.delenv("ICL_PRECISION")
        ask(seed=1)
        assert spawn.ensure_workers(2) == 1
    assert [variables.get("ICL_PRECISION") for variables in environments] == [None]


def test_runs_of_one_sweep_with_other_variables_are_not_trained_together(monkeypatch):
    keys = [ask(seed=0, later=True)]
    monkeypatch.setenv("ICL_PRECISION", "highest")
    keys.append(ask(seed=1, later=True))
    assert worker.work(slots=1, once=True) == 0  # the first is another worker's
    monkeypatch.delenv("ICL_PRECISION")
    assert worker.work(slots=2, once=True) == 1
    assert [queue.state(key).status for key in keys] == ["done", "queued"]


def test_a_worker_is_started_with_the_variables_of_the_request_and_not_with_its_starters(
    monkeypatch,
):
    monkeypatch.setenv("ICL_PRECISION", "highest")
    ask()
    for name, value in (("ICL_PRECISION", "medium"), ("ICL_COMPILE", "1"), ("OTHER", "stays")):
        monkeypatch.setenv(name, value)
    environments = []
    monkeypatch.setattr(
        spawn.subprocess,
        "Popen",
        lambda command, env, **options: environments.append(env) or psutil.Process(),
    )
    assert spawn.ensure_workers(1) == 1
    assert environments[0]["ICL_PRECISION"] == "highest" and "ICL_COMPILE" not in environments[0]
    assert environments[0]["OTHER"] == "stays"
