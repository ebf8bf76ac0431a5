"""What stays of jobs that have ended, whose they are, and who takes them: also where many ask and
nobody waits."""

import json
import os
import time
from types import SimpleNamespace

import pytest
import streamlit as st
from house import TOY, ask, change, config, house, others_may_change
from test_links import open_page
from test_store import INFO, TENSORS

from icl_core import registry
from icl_core.cluster import remote_job
from icl_core.jobs import folder, queue, spawn, train, worker
from icl_core.jobs.folder import Job, hold_lock
from icl_core.machine import device
from icl_core.papers.birth.shared.text_counts import count
from icl_core.runs import database, documents, owners
from icl_core.runs.file import pack
from icl_core.runs.header import key_of
from pages.ui.controls import training
from pages.ui.look import menu


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    with house(tmp_path, monkeypatch) as own_store:
        monkeypatch.setattr(spawn, "warm", lambda: None)
        monkeypatch.setattr("pages.ui.controls.training.ensure_workers", lambda: None)
        # its links need the files of pages
        monkeypatch.setattr(menu, "frame", lambda *of, **more: st.container())
        yield own_store


@pytest.fixture
def keep_one(monkeypatch):
    monkeypatch.setattr(queue, "MAX_ENDED", 1)


def ended(key: str, at: float, status: str = "done", left: bool = False) -> str:
    Job(key).write_state(**({"status": "cancelled", "left": True} if left else {"status": status}))
    change("UPDATE jobs SET changed = ? WHERE key = ?", at, key)
    return key


def count_noted() -> int:
    """Of how many items the owners are noted."""
    return database.rows("SELECT count(DISTINCT item) FROM owners")[0][0]


def job_keys() -> list[str]:
    return [state.key for state in queue.states()]


def test_what_nobody_waited_for_is_forgotten_as_others_ask_though_no_worker_ends_anything(keep_one):
    for seed in range(9):
        queue.watch(key := key_of(TOY, config(seed=seed)), "page")
        ask(seed=seed, visitor="a")
        queue.unwatch(key, "page", "a")
    assert len(job_keys()) == 2 and job_keys()[-1] == key


def test_the_latest_to_end_stays_and_those_that_nobody_waited_for_go_first(keep_one):
    many = [ended(ask(seed=seed, later=True), 100.0 + seed) for seed in range(3)]
    left = ended(ask(seed=8), 500.0, left=True)
    single = ended(ask(seed=9), 400.0)
    worker.forget_old()
    assert job_keys() == [single] and not any(Job(key).folder.exists() for key in (*many, left))


def test_asking_forgets_neither_what_is_asked_for_nor_what_was_trained(keep_one):
    trained = [ended(ask(seed=seed), 100.0 + seed) for seed in range(2)]
    again, other = (ended(ask(seed=seed), 50.0 + seed, "cancelled") for seed in (2, 3))
    ask(seed=2)
    assert {state.key: state.status for state in queue.states()} == {
        again: "queued", other: "cancelled", **dict.fromkeys(trained, "done"),
    }  # fmt: skip


def test_a_folder_in_which_nothing_was_asked_for_goes_after_a_while(runs):
    old, fresh = (key_of(TOY, config(seed=seed)) for seed in range(2))
    requested = ask(seed=2)
    for key in (old, fresh):
        Job(key).folder.mkdir()
    notes, helped = (folder.jobs_folder() / name for name in ("notes", "helped"))
    notes.mkdir()
    (notes / "mine").touch()
    (helped / "phases").mkdir(parents=True)
    (helped / "ends").mkdir()
    for path in (Job(old).folder, Job(requested).folder, notes, helped):
        os.utime(path, (1e9, 1e9))
    worker.forget_old()
    assert not Job(old).folder.exists() and not helped.exists()
    assert all(path.exists() for path in (Job(fresh).folder, Job(requested).folder, notes))


def test_owners_of_what_is_there_are_never_forgotten(runs, monkeypatch):
    monkeypatch.setattr(owners, "MOST", 10)
    job = ask(visitor="a")
    run = runs.save(TOY, config(seed=1), TENSORS, INFO).key
    owners.add(run, "a")
    text = documents.keep("text", count("to be or not"), "a")
    change("UPDATE owners SET added = 1e9")
    for number in range(30):
        owners.add(f"{number:02}", "b")
        change("UPDATE owners SET added = ? WHERE item = ?", 2e9 + number, f"{number:02}")
    assert all(owners.owners_of(what) == {"a"} for what in (job, run, text))
    assert owners.owners_of("29") == {"b"} and count_noted() <= 10


def test_whose_name_was_just_noted_is_known_whatever_the_clock_says(runs, monkeypatch):
    monkeypatch.setattr(owners, "MOST", 3)
    for number in range(3):
        owners.add(f"{number:02}", "a")
    change("UPDATE owners SET added = 4e9")  # a clock that was set back since
    owners.add("03", "b")
    assert owners.owners_of("03") == {"b"}


def test_owners_of_what_somebody_asks_for_just_now_are_known_though_it_is_not_there_yet(
    monkeypatch,
):
    monkeypatch.setattr(owners, "MOST", 1)
    for number in range(3):
        owners.add(f"{number:02}", "a")
    assert all(owners.owners_of(f"{number:02}") == {"a"} for number in range(3))


def test_what_ended_before_a_clock_was_set_back_goes_before_what_ends_now(keep_one):
    ended(ask(seed=0), 4e9)
    now = ended(ask(seed=1), 1e9)
    worker.forget_old()
    assert job_keys() == [now]


def ask_just_before():
    ask(seed=0, visitor="b")
    return database.transaction()


@pytest.mark.parametrize("where", ["check", "save"])
def test_who_asks_for_a_run_while_it_is_given_up_gets_it_and_owns_it(runs, monkeypatch, where):
    key = ask(visitor="a")
    owner = runs if where == "save" else train.JobProgress
    act = getattr(owner, where)

    def act_and_cancel(*arguments):
        result = act(*arguments)
        queue.cancel(key, visitor="a")
        asking = SimpleNamespace(transaction=ask_just_before, Unusable=database.Unusable)
        monkeypatch.setattr(train, "database", asking)
        if where == "check":
            raise train.Cancelled
        return result

    with monkeypatch.context() as patch:
        patch.setattr(owner, where, act_and_cancel)
        worker.work(once=True, slots=1)
    assert owners.owners_of(key) == {"b"}
    assert queue.state(key).status == ("done" if where == "save" else "queued")
    assert bool(runs.exact(TOY, key)) == (where == "save")


def of_a_cluster(key: str) -> None:
    """Keep the run of a job as what a worker elsewhere gave back."""
    job = Job(key)
    content = pack(TENSORS, {**(job.request() or {}), **INFO})
    # pyright: ignore[reportArgumentType]
    home = remote_job.RemoteJob(None, job, remote_job.Worker("", ""), lambda: True, lambda: True)
    home._save({"state.json": json.dumps({"status": "done"}).encode(), "run.safetensors": content})


@pytest.mark.parametrize("make", [lambda key: worker.work(once=True, slots=1), of_a_cluster])
def test_nobody_gives_a_run_up_between_the_last_look_and_its_end(runs, monkeypatch, make):
    key = ask(visitor="a")
    write_state = Job.write_state
    run_exists = []

    def write_and_look(job, **state):
        if state["status"] == "done":
            assert not others_may_change()
            run_exists.append(bool(runs.exact(TOY, key)))
        write_state(job, **state)

    monkeypatch.setattr(Job, "write_state", write_and_look)
    make(key)
    assert run_exists == [True]
    assert queue.state(key).status == "done" and owners.owners_of(key) == {"a"}


def test_a_run_that_is_deleted_is_its_who_asks_for_it_next(runs, monkeypatch):
    header = runs.save(TOY, config(), TENSORS, INFO)
    delete = runs._made.delete
    owners.add(header.key, "a")
    monkeypatch.setattr(runs._made, "delete", lambda key: (delete(key), ask(visitor="b")))
    runs.delete(header, "a")
    assert owners.owners_of(header.key) == {"b"}


def test_company_is_taken_by_one_worker_at_a_time(monkeypatch):
    keys = [ask(seed=seed, later=True) for seed in range(3)]
    weighed = []

    def fits(key):
        assert not others_may_change()
        weighed.append(key)
        return True

    monkeypatch.setattr(queue, "fits_memory", fits)
    monkeypatch.setattr(worker, "_shape", lambda job: ("alike", 2))
    first = worker.take_job(keys[0])
    assert first
    with first.lock:
        (other,) = worker.batch_with(first, 1)
        other.lock.close()
    assert weighed == [other.job.key] == keys[1:2]


@pytest.mark.parametrize(
    ("slots", "load", "taken"), [(1, 0.0, 5), (2, 0.2, 2), (2, 1.4, 5), (4, 7.0, 5), (4, 0.0, 1)]
)
def test_a_batch_is_shared_among_idle_cores_alone(monkeypatch, slots, load, taken):
    """Six jobs of one shape: on a busy machine the first worker takes all of them."""
    keys = [ask(seed=seed, later=True) for seed in range(6)]
    monkeypatch.setattr(worker, "_shape", lambda job: ("alike", 20))
    monkeypatch.setattr(device, "core_count", lambda: slots)
    monkeypatch.setattr(device.psutil, "getloadavg", lambda: (load, 0.0, 0.0))
    first = worker.take_job(keys[0])
    assert first
    with first.lock:
        others = worker.batch_with(first, slots)
        for other in others:
            other.lock.close()
    assert len(others) == taken


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("registered", [False, True])
def test_what_goes_with_nothing_goes_alone(monkeypatch, later, registered):
    keys = [ask(seed=seed, later=later) for seed in range(3)]
    first = worker.take_job(keys[0])
    assert first
    with monkeypatch.context() as patch, first.lock:
        if not registered:
            patch.setattr(registry, "experiment", {}.__getitem__)
        assert worker._shape(first.job) == (None, 1) and worker.batch_with(first, 1) == []


def test_a_lock_makes_its_folder_for_its_owner_alone(runs):
    with hold_lock(runs.local / "jobs" / "slot-0.lock") as mine:
        assert mine
    for path in (runs.local, runs.local / "jobs"):
        assert path.stat().st_mode & 0o777 == 0o700


def test_the_page_of_runs_shows_a_run_that_is_made_here_and_comes_with_the_project(runs):
    runs.save(TOY, config(), TENSORS, INFO)
    runs.ship(TOY, config(), TENSORS, INFO)
    app = open_page("runs", "")
    assert not app.exception
    assert sorted(app.dataframe[0].value["Origin"]) == ["included", "made here"]


def test_the_page_of_runs_shows_what_a_request_says_as_text(runs, monkeypatch):
    ask()
    # 0: the version of a request whose key is not checked
    change("UPDATE jobs SET version = 0, experiment = '![x](//outside/x.png)'")
    text = " ".join(markdown.value for markdown in open_page("runs", "").markdown)
    assert "**!\\[x\\](" in text and "![x]" not in text


def test_who_cannot_cancel_may_try_again(monkeypatch):
    key = ask(visitor="a")

    def full(job, **state):
        raise OSError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(Job, "write_state", full)
        with pytest.raises(OSError, match="no room"):
            queue.cancel(key, visitor="a")
    assert owners.owners_of(key) == {"a"} and queue.state(key).status == "queued"
    assert queue.cancel(key, visitor="a") and queue.state(key).status == "cancelled"


def test_an_interrupted_command_leaves_what_visitors_wait_for():
    theirs, both, mine = (key_of(TOY, config(seed=seed)) for seed in range(3))
    for seed in (0, 1):
        ask(seed=seed, visitor="a")
    for seed in (1, 2):
        ask(seed=seed)
    for key, status in ((theirs, "queued"), (both, "queued"), (mine, "cancelled")):
        queue.interrupt(key)
        assert queue.state(key).status == status
    assert owners.owners_of(both) == {"a"}


def test_what_was_cancelled_while_a_worker_looked_does_not_wait_for_memory():
    key = ask(visitor="a")
    state = queue.state(key)
    queue.cancel(key, visitor="a")
    queue.write_memory_wait(state)
    assert queue.state(key).status == "cancelled"


def test_a_full_disk_is_said_of_what_waits(monkeypatch):
    key = ask()
    assert training.describe(queue.state(key)) == "Starting"
    monkeypatch.setattr(folder.shutil, "disk_usage", lambda path: SimpleNamespace(free=2**16))
    assert training.describe(queue.state(key)) == "Waiting: the disk is full"


def test_what_no_worker_may_take_now_takes_no_place_in_the_queue():
    first, second = (ask(seed=seed) for seed in range(2))
    Job(first).write_state(status="interrupted", retry_at=time.time() + 100.0)
    assert queue.state(second).position == 1


def test_a_run_that_can_never_be_kept_fails_and_is_not_tried_again(runs, monkeypatch):
    key = ask()
    monkeypatch.setattr(runs._made._cache, "limit", 100)
    worker.work(once=True, slots=1)
    state = queue.state(key)
    assert state.status == "failed" and "the limit is 100 bytes (ICL_CACHE_LIMIT)" in state.message
