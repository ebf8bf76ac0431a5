"""Workers are started as jobs wait for them."""

import os
import subprocess
import sys

import psutil
import pytest
from house import TOY, ask

from icl_core.jobs import (
    queue,
    spawn,
    starts,
)
from icl_core.jobs.folder import hold_lock, jobs_folder
from icl_core.machine import device, folders

pytestmark = pytest.mark.usefixtures("runs")


@pytest.fixture
def commands(monkeypatch):
    """The commands of the workers that would have been started."""
    commands = []
    monkeypatch.setattr(
        spawn.subprocess,
        "Popen",
        lambda command, **options: commands.append((command, options)) or psutil.Process(),
    )
    return commands


def test_a_worker_is_started_apart_from_the_page_and_with_a_log_that_begins_anew_when_it_is_long(
    commands, monkeypatch
):
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    monkeypatch.setattr(spawn, "_LONGEST_LOG", 10)
    ask()
    log = jobs_folder() / "workers.log"
    for content, left in ((None, b""), (b"x" * 10, b"x" * 10), (b"x" * 11, b"")):
        if content:
            log.write_bytes(content)
        spawn._start_worker(3, {}, "--server", "7")
        assert log.read_bytes() == left
    command, options = commands[0]
    expected = [sys.executable, "-P", "-m", "icl_core", "work", "--slots", "3", "--server", "7"]
    assert command == expected
    assert options["start_new_session"] and options["stdin"] == subprocess.DEVNULL
    assert options["env"]["PYTHONPATH"] == os.pathsep.join([str(folders.LIBRARY), "elsewhere"])
    assert options["env"]["MALLOC_MMAP_MAX_"] == "0"
    assert options["env"]["HOME"] == os.environ["HOME"]


@pytest.mark.long
def test_a_process_that_leaves_a_worker_behind_has_no_warning(tmp_path):
    """The worker, which looks for a job at its start, is still there when its starter ends."""
    code = (
        "import gc, psutil\n"
        "from icl_core.jobs import spawn\n"
        "spawn.jobs_folder().mkdir(parents=True)\n"
        "pid = spawn._start_worker(1, {}, '--once')\n"
        "gc.collect()\n"
        "assert psutil.pid_exists(pid)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "ICL_CACHE_DIR": str(tmp_path), "PYTHONWARNINGS": ""},
        cwd=folders.LIBRARY,
        capture_output=True,
        text=True,
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_so_many_workers_are_started_as_jobs_wait_and_slots_are_free_and_not_twice(
    commands, monkeypatch
):
    assert spawn.ensure_workers(4) == 0  # nothing waits
    for seed in range(3):
        ask(seed=seed)
    with hold_lock(spawn.slot_lock(0)):
        # a free worker, which trains nothing, will see one job by itself
        assert spawn.ensure_workers(4) == 2 == len(commands)
        assert spawn.ensure_workers(4) == 0  # these have not taken their slots yet
    starts.note_up()
    assert spawn.ensure_workers(2) == 2
    assert spawn.trainings(7) == 7
    assert spawn.where() == "on this machine"


def test_no_more_workers_are_started_than_slots_are_free(commands):
    for seed in range(4):
        ask(seed=seed)
    with hold_lock(spawn.slot_lock(0)), hold_lock(spawn.slot_lock(1)):
        assert spawn.ensure_workers(3) == 1 == len(commands)


def test_a_worker_is_kept_warm_unless_one_is_there(commands, monkeypatch):
    ask()
    monkeypatch.setattr(device, "workers", lambda: 2)
    with hold_lock(spawn.slot_lock(1)):
        spawn.warm()
    assert commands == []
    spawn.warm()
    assert commands[0][0][-4:] == ["--slots", "2", "--server", str(os.getpid())]


@pytest.mark.parametrize(
    ("state", "spare"),
    [
        ({"seconds_left": 5.1}, 2),
        ({"seconds_left": 5.0}, 0),
        ({"seconds_left": None}, 0),
        ({"seconds_left": 60.0, "status": "queued"}, 0),
    ],
    ids=str,
)
def test_a_run_that_ends_soon_needs_no_other_worker(state, spare):
    job_state = queue.JobState("k", TOY, {}, **{"status": "running", "spare": 2, **state})
    assert spawn._spare_trainings(job_state) == spare
