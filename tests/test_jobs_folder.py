"""A job's folder: what stands in it, when the job is due, and how long it is put off."""

import errno
import math
from types import SimpleNamespace

import pytest
from house import ask

from icl_core.cluster import remote_job
from icl_core.jobs import (
    folder,
    queue,
    table,
    train,
)
from icl_core.jobs.folder import LONGEST_PAUSE, Job, hold_lock, is_put_off, jobs_folder
from icl_core.jobs.table import CANCELLED, ENDED, LEFT
from icl_core.jobs.train import code_difference
from icl_core.runs.disk import write_whole

pytestmark = pytest.mark.usefixtures("runs")

NOW = 1_000_000.0


@pytest.fixture
def now(monkeypatch):
    """The clock, which goes only when it is set."""
    clock = SimpleNamespace(time=NOW)
    for module in (folder, train):
        monkeypatch.setattr(module.time, "time", lambda: clock.time)
    return clock


@pytest.mark.parametrize(
    ("state", "fits"),
    [
        *(
            ({"status": status}, True)
            for status in ("queued", "interrupted", "running", "done", "failed", "cancelled")
        ),
        ({"status": "cancelled", "loss": math.nan, "seconds_left": math.inf}, True),
        ({"status": "running", "seconds_left": None, "message": "", "phase": "a"}, True),
        ({"status": "running", "seconds_left": "soon"}, False),
        ({"status": "running", "loss": None}, False),
        ({"status": "running", "message": None}, False),
        ({"status": "running", "phase": 1}, False),
        ({"status": "cancelling"}, False),
        ({}, False),
        ([], False),
    ],
    ids=str,
)
def test_a_state_says_how_far_a_job_is(state, fits):
    assert remote_job._is_state(state) == fits


def test_a_file_that_does_not_fit_is_set_aside(runs, tmp_path):
    def is_ours(value):
        return isinstance(value, dict)

    path = tmp_path / "key" / "state.json"
    assert folder.read_json(path, is_ours, "a state") is None and runs.messages() == []
    write_whole(path, b'{"status": "queued"}')
    assert folder.read_json(path, is_ours, "a state") == {"status": "queued"} and path.exists()
    path.write_bytes(b"{")
    assert folder.read_json(path, is_ours, "a state") is None and not path.exists()
    (file,) = (runs.local / "aside").iterdir()
    assert file.name.startswith("state-") and file.suffix == ".json" and file.read_bytes() == b"{"
    assert runs.messages() == [
        f"{path} was set aside in {file.parent}: expected a state, got something else."
    ]


@pytest.mark.parametrize(
    ("seconds", "later"),
    [(-1.0, False), (0.0, False), (0.5, True), (LONGEST_PAUSE, True), (LONGEST_PAUSE + 1, False)],
)
def test_a_job_is_put_off_until_its_time_but_no_longer_than_any_pause(now, seconds, later):
    """A time beyond that was told by a clock that has been set back."""
    assert is_put_off(NOW + seconds) == later and not is_put_off(0.0)
    key = ask()
    Job(key).write_state(status="interrupted", retry_at=NOW + seconds)
    assert Job(key).is_due() != later and queue.is_ready(queue.state(key)) != later


def test_a_job_is_due_when_it_was_asked_for_and_has_not_ended():
    key = ask()
    assert Job(key).is_due() and not Job("0" * 20).is_due()
    for status in ENDED:
        Job(key).write_state(status=status)
        assert not Job(key).is_due()


@pytest.mark.parametrize(
    ("tries", "pause"),
    [
        (0, 15.0),
        (1, 30.0),
        (3, 120.0),
        (4, 240.0),
        (9, LONGEST_PAUSE),
        (1024, LONGEST_PAUSE),
        (10**19, LONGEST_PAUSE),
    ],
)
def test_a_run_without_room_is_tried_again_later_and_later_but_never_too_late(now, tries, pause):
    job = Job(ask())
    state = train.postponed_state(job, tries, OSError(errno.ENOSPC, "No space left on device"))
    assert (state["tries"], state["retry_at"], state["status"]) == (
        tries + 1,
        NOW + pause,
        "interrupted",
    )
    assert state["seconds_left"] is None
    assert "the disk is full; the run will be kept" in state["message"]


@pytest.mark.parametrize(
    ("number", "free", "full"),
    [
        (errno.ENOSPC, 2**30, True),
        (errno.EDQUOT, 2**30, True),
        (errno.EIO, 2**20 - 1, True),
        (errno.EIO, 2**20, False),
    ],
)
def test_why_nothing_could_be_written_is_said_in_words(monkeypatch, number, free, full):
    monkeypatch.setattr(folder.shutil, "disk_usage", lambda path: SimpleNamespace(free=free))
    message = folder.write_problem(OSError(number, "what it says"))
    assert message == (
        "the disk is full" if full else f"nothing can be written: [Errno {number}] what it says"
    )


def test_who_is_asked_to_end_is_told_as_what():
    key = ask()
    assert table.cancel_request(key) == ""
    for status in (CANCELLED, LEFT):
        table.write_cancel(key, status)
        assert table.cancel_request(key) == status


def test_a_lock_is_held_by_one_and_told_to_all():
    job = Job(ask())
    assert not job.is_locked()
    with hold_lock(job.folder / "lock") as mine:
        assert mine and mine() and job.is_locked()
        (job.folder / "lock").unlink()
        assert not mine()
    assert not job.is_locked()


def test_asking_changes_a_number_and_a_reserve_shows_that_there_is_room():
    assert table.request_count() == 0
    ask()
    first = table.request_count()
    ask(seed=1)
    assert 0 < first < table.request_count()
    assert folder.has_room() and (jobs_folder() / "reserve").stat().st_size == 2**16


def test_what_differs_is_said_in_order_and_what_is_missing_as_nothing():
    wanted = {"torch": "2.13.0", "numpy": "2.0", "icl_core": "0123456789abcdef"}
    assert code_difference(wanted, wanted) == ""
    assert code_difference(wanted, {"torch": "2.12.1", "icl_core": "f" * 16}) == (
        "torch 2.13.0 was expected, 2.12.1 came; numpy 2.0 was expected, nothing came; icl_core "
        "0123456789ab was expected, ffffffffffff came"
    )
