"""Jobs on a full disk, with odd files, removed locks, other versions: nothing is lost, and nobody
waits for ever."""

import errno
import os
import shutil
from types import SimpleNamespace
from unittest.mock import MagicMock

import psutil
import pytest
from house import TOY, ask, change, config, others_may_change

from icl_core import registry
from icl_core.jobs import folder, job_progress, queue, spawn, table, terminal, train, worker
from icl_core.jobs.folder import Job, hold_lock
from icl_core.jobs.terminal import watch_all
from icl_core.runs import code, database
from icl_core.runs.file import pack, read_record
from icl_core.runs.header import key_of_record
from icl_core.runs.request import Request
from pages.ui.controls import training

pytestmark = pytest.mark.usefixtures("runs")


def train_all() -> int:
    return worker.work(once=True, slots=1)


def no_room(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def often(monkeypatch):
    """Every report writes a checkpoint, then the state."""
    for name in ("FIRST_CHECKPOINT", "CHECKPOINT", "WRITE"):
        monkeypatch.setattr(job_progress, name, 0.0)
    report = job_progress.JobProgress.report
    monkeypatch.setattr(
        job_progress.JobProgress,
        "report",
        lambda self, *of: (report(self, *of), self.write_state()),
    )


@pytest.fixture
def fill(monkeypatch, often):
    """From the call on, the disk takes no file whose name begins so, no "state" or no "request";
    gives back what the states said since then."""
    write = folder.write_whole
    refused = []
    messages = []

    def writes(path, content):
        if any(path.name.startswith(name) for name in refused):
            no_room()
        write(path, content)

    def writes_state(key, state, is_end):
        if "state" in refused:
            no_room()
        write_state(key, state, is_end)
        if refused:
            messages.append(state.get("message", ""))

    def inserts(*row):
        if "request" in refused:
            no_room()
        insert(*row)

    write_state = table.write_state
    insert = table.insert
    monkeypatch.setattr(table, "write_state", writes_state)
    monkeypatch.setattr(table, "insert", inserts)
    monkeypatch.setattr(folder, "write_whole", writes)
    monkeypatch.setattr(job_progress, "write_whole", writes)

    def fills(*names: str) -> list[str]:
        refused[:] = names
        return messages

    return fills


def during_training(monkeypatch, act, step: int = 10) -> None:
    """Have `act` happen once the training has come to `step`."""
    report = job_progress.JobProgress.report
    results = []

    def reports(self, done, *rest):
        if done >= step and not results:
            results.append(act())
        report(self, done, *rest)

    monkeypatch.setattr(job_progress.JobProgress, "report", reports)


def test_a_checkpoint_that_cannot_be_written_ends_no_training(fill, monkeypatch):
    key = ask()
    steps = []
    messages = fill("nothing")
    during_training(monkeypatch, lambda: fill("checkpoint", "live"))
    measure = train._measure_run

    def note_step(*run):
        steps.append(read_record(Job(key).checkpoint)["step"])
        return measure(*run)

    monkeypatch.setattr(train, "_measure_run", note_step)
    train_all()
    assert queue.state(key).status == "done" and steps == [9]  # the last that could be written
    assert not any(messages[:9])
    assert messages[-3].startswith("the disk is full; the training goes on")


def test_a_checkpoint_is_written_again_when_there_is_room(fill, monkeypatch):
    key = ask()
    counts = []
    messages = fill("checkpoint")
    during_training(monkeypatch, lambda: (counts.append(len(messages)), fill("nothing")))
    train_all()
    assert queue.state(key).status == "done"
    assert "the disk is full" in messages[counts[0] - 1] and not any(messages[counts[0] + 1 : -2])


def test_a_state_that_cannot_be_written_ends_no_training(fill, monkeypatch, runs):
    key = ask()
    during_training(monkeypatch, lambda: fill("state", "live", "checkpoint"))
    train_all()
    assert runs.find(Request(TOY, config())).key == key
    fill("nothing")
    assert queue.state(key).status == "interrupted"
    assert train_all() == 1
    assert queue.state(key).status == "done"


def test_the_curves_and_a_reserve_make_room_for_the_state(monkeypatch):
    key = ask()
    Job(key).live.write_bytes(b"curves")
    assert folder.has_room()
    files = (Job(key).live, folder.jobs_folder() / "reserve")
    write = table.write_state
    assert all(path.exists() for path in files)
    full = lambda: any(path.exists() for path in files)  # noqa: E731
    monkeypatch.setattr(table, "write_state", lambda *of: no_room() if full() else write(*of))
    Job(key).write_state(status="running", message="the disk is full")
    assert Job(key).state()["message"] == "the disk is full"


def test_a_run_that_finds_no_room_waits_with_its_checkpoint_and_is_tried_later_and_later(
    runs, monkeypatch, often
):
    key = ask()
    workers = []
    now = [1e9]
    monkeypatch.setattr(spawn, "_start_worker", lambda *of: workers.append(of) or os.getpid())
    for module in (folder, train):
        monkeypatch.setattr(module.time, "time", lambda: now[0])
    with monkeypatch.context() as patch:
        patch.setattr(runs, "save", no_room)
        pauses = []
        for _ in range(6):
            assert train_all() == 1
            state = queue.state(key)
            assert state.status == "interrupted"
            assert state.message.startswith("the disk is full; the run will be kept")
            assert "the disk is full" in training.describe(state)
            assert read_record(Job(key).checkpoint)["step"] == 20
            assert train_all() == 0 and spawn.ensure_workers(1) == 0 and not workers
            pauses.append(state.retry_at - now[0])
            now[0] = state.retry_at
    assert pauses == [15, 30, 60, 120, 240, 240]
    assert spawn.ensure_workers(1) == 1
    assert train_all() == 1
    assert queue.state(key).status == "done"
    assert runs.find(Request(TOY, config())).key == key


@pytest.mark.parametrize(
    ("free", "message"),
    [(0, "the disk is full"), (2**30, "nothing can be written: disk I/O error")],
)
def test_a_database_that_fails_on_a_full_disk_is_told_as_that(monkeypatch, free, message):
    monkeypatch.setattr(folder.shutil, "disk_usage", lambda path: SimpleNamespace(free=free))
    assert folder.write_problem(OSError("disk I/O error")) == message


def test_no_worker_starts_where_no_file_can_be_written(fill, monkeypatch):
    key = ask()
    workers = []
    monkeypatch.setattr(spawn, "_start_worker", lambda *of: workers.append(of) or os.getpid())
    fill("reserve", "state", "checkpoint", "live")
    assert spawn.ensure_workers(1) == 0 and train_all() == 0 and not workers
    fill("nothing")
    assert spawn.ensure_workers(1) == 1 and len(workers) == 1
    assert train_all() == 1 and queue.state(key).status == "done"


def test_nothing_counts_as_asked_before_it_is_on_the_disk(fill):
    fill("request")
    with pytest.raises(OSError, match="No space left"):
        ask()
    assert queue.states() == []
    fill("nothing")
    key = ask()
    queue.cancel(key)
    fill("request")
    with pytest.raises(OSError, match="No space left"):
        ask()
    assert queue.state(key).status == "cancelled"  # not queued by half


def test_an_open_page_starts_the_next_worker_itself(monkeypatch):
    request = Request(TOY, config())
    looks = []
    key = queue.submit(request)
    Job(key).write_state(status="running", step=3)  # as a killed worker leaves it
    monkeypatch.setattr(spawn, "ensure_workers", lambda: looks.append(queue.state(key).status))
    for name in ("progress", "button", "container"):
        monkeypatch.setattr(training.st, name, MagicMock())
    training._progress(training.Pending(request, ""))
    assert looks == ["interrupted"]


NESTED = "[" * 100_000


@pytest.mark.parametrize(
    ("column", "old", "new"),
    [
        ("experiment", "toy.walk", "toy.galk"),
        ("config", '"seed": 1', '"seed": 3'),
        ("version", 1, 9),
        ("config", None, NESTED),
        ("config", None, "[]"),
        ("config", None, '{"d": {"d": {}}}'),
    ],
)
def test_a_request_for_another_run_than_its_key_is_none_and_the_rest_goes_on(column, old, new):
    """One bit, and a job would wait for ever for an experiment that is to come, or give another
    run."""
    key = ask()
    damaged = ask(seed=1)
    value = f"replace({column}, ?2, ?1)" if old is not None else "?1"
    change(f"UPDATE jobs SET {column} = {value} WHERE key = ?3 OR ?2 = 0", new, old, damaged)
    assert [state.key for state in queue.states()] == [key] and queue.state(damaged) is None
    assert train_all() == 1 and queue.state(key).status == "done"
    assert ask(seed=1) == damaged
    assert train_all() == 1 and queue.state(damaged).status == "done"


@pytest.mark.parametrize(
    ("status", "progress"),
    [("running", NESTED), ("running", '{"step": 3'), ("runnimg", "{}"), ("failed", "[]")],
)
def test_a_job_whose_state_cannot_be_read_is_queued(status, progress):
    key = ask()
    change("UPDATE jobs SET status = ?, progress = ?", status, progress)
    assert queue.state(key).status == "queued" and training.describe(queue.state(key)) == "Starting"
    assert train_all() == 1 and queue.state(key).status == "done"


def test_where_no_lock_of_a_training_can_be_written_it_is_trained_all_the_same():
    key = ask()
    Job(key).phases.write_bytes(b"in the way")  # as on a disk that has become read-only
    assert train_all() == 1 and queue.state(key).status == "done"


def test_the_file_of_a_run_is_neither_curves_nor_a_checkpoint(runs):
    ask()
    train_all()
    header = runs.find(Request(TOY, config()))
    key = ask(seed=1)
    record = {**read_record(header.path), "config": Job(key).request()["config"]}
    for path in (Job(key).live, Job(key).checkpoint):
        path.write_bytes(
            pack({}, {name: value for name, value in record.items() if name != "digest"})
        )
    assert queue.partial_curves(key) is None
    assert train_all() == 1 and queue.state(key).status == "done"


@pytest.mark.parametrize("place", ["_run_info", "_measure_run", "save"])
def test_cancel_is_heeded_until_the_run_is_kept(runs, monkeypatch, place):
    key = ask()
    saves = []
    save = runs.save
    monkeypatch.setattr(runs, "save", lambda *of: saves.append(key) or save(*of))
    owner = runs if place == "save" else train
    act = getattr(owner, place)

    def act_and_cancel(*arguments):
        result = act(*arguments)
        queue.cancel(key)
        return result

    monkeypatch.setattr(owner, place, act_and_cancel)
    train_all()
    assert queue.state(key).status == "cancelled" and runs.headers() == []
    assert len(saves) == (place == "save")


def test_cancel_after_the_last_step_computes_no_metrics(monkeypatch):
    key = ask()
    measured_runs = []
    report = job_progress.JobProgress.report

    def reports(self, done, *rest):
        report(self, done, *rest)
        if done == 20:
            queue.cancel(key)

    monkeypatch.setattr(job_progress.JobProgress, "report", reports)
    monkeypatch.setattr(train, "_measure_run", lambda *run: measured_runs.append(run) or {})
    train_all()
    assert queue.state(key).status == "cancelled" and not measured_runs


@pytest.mark.parametrize("born", ["mine", 12345.0])
def test_interrupt_signals_the_worker_and_no_process_that_took_over_its_number(monkeypatch, born):
    key = ask()
    terminated = []
    monkeypatch.setattr(psutil.Process, "terminate", lambda self: terminated.append(self.pid))
    birth = psutil.Process().create_time() if born == "mine" else born
    with hold_lock(Job(key).folder / "lock"):
        Job(key).write_state(status="running", pid=os.getpid(), born=birth)
        queue.interrupt(key)
    assert terminated == ([os.getpid()] if born == "mine" else [])


@pytest.mark.parametrize("fails", [False, True])
def test_a_worker_that_lost_its_lock_stops_without_writing(runs, often, monkeypatch, fails):
    key = ask()
    looks = []

    def look() -> tuple[dict[str, bytes], dict]:
        paths = [path for path in Job(key).folder.iterdir() if path.is_file()]
        return {path.name: path.read_bytes() for path in paths}, Job(key).state()

    def take_over():
        (Job(key).folder / "lock").unlink()
        (Job(key).folder / "lock").touch()  # by the worker that has it now
        looks.append(look())
        if fails:
            raise ValueError("and then its training fails")

    during_training(monkeypatch, take_over)
    train_all()
    assert look() == looks[0] and runs.headers() == []


def test_a_lock_whose_file_was_replaced_is_nobodys(tmp_path):
    with hold_lock(tmp_path / "lock") as mine:
        assert mine and mine()
        (tmp_path / "lock").unlink()
        assert not mine()
        (tmp_path / "lock").touch()
        assert not mine()


@pytest.fixture
def keep_one(monkeypatch):
    monkeypatch.setattr(queue, "MAX_ENDED", 1)


def test_what_failed_is_remembered_longer_for_nothing_else_tells_of_it(keep_one):
    keys = [ask(seed=seed, rate=10.0, steps=200) for seed in range(2)]
    for _ in keys:
        train_all()
    assert [(state.key, state.status) for state in queue.states()] == [
        (key, "failed") for key in keys
    ]


def test_old_jobs_are_forgotten_while_nobody_can_ask(keep_one, monkeypatch):
    keys = [ask(seed=seed) for seed in range(2)]
    deleted = []
    delete = shutil.rmtree

    def watch_delete(path, **options):
        if path.name in keys:
            assert not others_may_change()
            deleted.append(path.name)
        delete(path, **options)

    monkeypatch.setattr(shutil, "rmtree", watch_delete)
    for _ in keys:
        train_all()
    assert deleted == keys[:1] and [state.key for state in queue.states()] == keys[1:]


def test_a_job_asked_anew_before_the_old_are_forgotten_stays(keep_one, monkeypatch):
    keys = [ask(seed=seed) for seed in range(2)]
    for key in keys:
        queue.cancel(key)

    def ask_just_before():
        ask(seed=0)
        return database.transaction()

    monkeypatch.setattr(worker, "database", SimpleNamespace(transaction=ask_just_before))
    worker.forget_old()
    assert queue.state(keys[0]).status == "queued"


@pytest.mark.parametrize("experiment", [TOY, "toy.yet_to_come"])
def test_a_job_of_a_newer_version_waits_for_its_own_worker(monkeypatch, experiment):
    workers = []
    monkeypatch.setattr(spawn, "_start_worker", lambda *of: workers.append(of) or os.getpid())
    request = {"experiment": experiment, "version": 9, "config": {}, "asked": 1}
    newer = key_of_record(request)
    place = {"visitor": "", "turn": 0, "later": False}
    Job(newer).enqueue({**request, "environment": {}, **place})
    key = ask()
    assert train_all() == 1 and train_all() == 0
    assert queue.state(newer).status == "queued" and queue.state(key).status == "done"
    assert spawn.ensure_workers(1) == 0 and not workers


def test_a_request_names_the_version_it_was_asked_for():
    key = ask()
    assert Job(key).request()["version"] == registry.version(TOY)


def test_a_worker_whose_code_has_changed_on_disk_takes_no_job_and_ends(monkeypatch):
    key = ask()
    mtimes = iter([{"file": 1}, {"file": 2}])
    monkeypatch.setattr(train, "source_mtimes", lambda: next(mtimes))
    monkeypatch.setattr(train, "LOOK", 0.0)
    assert worker.work(slots=1) == 0 and queue.state(key).status == "queued"


def test_the_files_of_the_source_are_looked_at_once_a_second(monkeypatch):
    now = [100.0]
    looks = []
    monkeypatch.setattr(train.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(
        train, "source_mtimes", lambda: looks.append(now[0]) or {"file": now[0] > 101.5}
    )
    source = train.SourceWatch()
    for now[0] in (100.1, 100.9, 101.0, 101.9):
        assert not source.changed()
    assert looks == [100.0, 101.0]
    now[0] = 102.0
    assert source.changed()
    now[0] = 200.0
    assert source.changed() and len(looks) == 3  # what has changed once stays so


def test_the_code_is_told_by_the_times_of_its_files(tmp_path, monkeypatch):
    monkeypatch.setattr(code.papers, "__path__", [str(tmp_path)])
    before = train.source_mtimes()
    (tmp_path / "settings.py").write_text("")
    assert train.source_mtimes() != before and before == {
        path: time for path, time in train.source_mtimes().items() if path.parent != tmp_path
    }


def test_the_terminal_says_once_why_a_job_waits(monkeypatch, capsys):
    key = ask()
    looks = []

    def end_at_the_third_look(count=None):
        looks.append(count)
        status = "cancelled" if len(looks) == 3 else "interrupted"
        Job(key).write_state(status=status, message="the disk is full")

    monkeypatch.setattr(spawn, "ensure_workers", end_at_the_third_look)
    monkeypatch.setattr(terminal, "_PAUSE", 0.0)
    watch_all([key], None)
    assert len(looks) == 3 and capsys.readouterr().err.count("the disk is full") == 1


@pytest.mark.parametrize("count", [-1, 0])
def test_fewer_workers_than_one_are_refused(count):
    ask()
    for start in (spawn.ensure_workers, lambda n: worker.work(slots=n), lambda n: watch_all([], n)):
        with pytest.raises(ValueError, match=f"at least 1, got {count}"):
            start(count)
