"""One job a config, whoever asks; it can be watched, cancelled, killed and resumed, and the result
is the same."""

import dataclasses
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from house import EXTRA, ROOT, SOON, TOY, ask, change, config, house, wait_for

from icl_core import registry
from icl_core.contract.experiment import Cancelled, Diverged
from icl_core.jobs import queue, spawn, table, train, worker
from icl_core.jobs.folder import Job, hold_lock
from icl_core.jobs.job_progress import JobProgress
from icl_core.jobs.phase_helper import Stopped
from icl_core.runs import database
from icl_core.runs.file import pack, read, read_record
from icl_core.runs.header import stored_settings
from icl_core.runs.request import Request
from tests.recorder import Recorder

TIMING = ("seconds", "waited", "date")


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    with house(tmp_path, monkeypatch) as own_store:
        yield own_store
        for state in queue.states():  # leave no worker behind
            if state.status == "running" and state.pid != os.getpid():
                os.kill(state.pid, signal.SIGKILL)


def always() -> bool:
    return True


def never() -> bool:
    return False


def start_worker(*arguments: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "icl_core", "work", "--slots", "9", "--once", *arguments]
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, "ICL_PAPERS": str(EXTRA)})


def content(path):
    record, tensors = read(path)
    return pack(
        tensors, {name: value for name, value in record.items() if name not in (*TIMING, "digest")}
    )


def test_a_job_is_trained_and_its_metrics_are_kept(runs):
    key = ask()
    assert (queue.state(key).status, queue.state(key).position) == ("queued", 1)
    assert worker.work(once=True, slots=1) == 1
    state = queue.state(key)
    assert (state.status, state.step, state.total, state.position) == ("done", 20, 20, 0)
    header = runs.find(Request(TOY, config()))
    assert header.key == key and [record["claim"] for record in header.info["metrics"]] == [
        "toy.recovered",
        "toy.exact",
    ]
    assert header.info["threads"] == 1 and header.info["precision"] in ("medium", "high", "highest")
    assert header.info["version"] == 1 and "torch" in header.info["packages"]
    assert runs.load(header)["curve/loss"].shape == (1, 7)
    assert sorted(path.name for path in Job(key).folder.iterdir()) == [
        "ends",
        "lock",
    ]


def test_asking_again_makes_no_second_job(runs):
    key = ask()
    request = Job(key).request()
    assert queue.submit(Request(TOY, dataclasses.asdict(config()))) == key
    assert Job(key).request() == request
    worker.work(once=True, slots=1)
    ask()
    assert queue.state(key).status == "done" and worker.work(once=True, slots=1) == 0
    runs.delete(runs.find(Request(TOY, config())))
    ask()
    assert queue.state(key).status == "queued"


def test_two_processes_that_ask_for_one_config_share_one_job():
    settings = dataclasses.asdict(config())
    code = (
        "from icl_core.jobs import queue; from icl_core.runs.request import Request; "
        f"queue.submit(Request('{TOY}', {settings}))"
    )
    processes = [subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) for _ in range(2)]
    assert [process.wait(120) for process in processes] == [0, 0]
    assert [state.status for state in queue.states()] == ["queued"]


def test_settings_out_of_range_are_not_queued():
    with pytest.raises(ValueError, match="steps must be"):
        queue.submit(Request(TOY, {"steps": -1}))
    with pytest.raises(ValueError, match="there is no experiment"):
        queue.submit(Request("toy.none", {}))
    assert queue.states() == []
    assert queue.state("nobody") is None
    assert queue.partial_curves("nobody") is None
    queue.cancel("nobody")


def test_the_oldest_request_goes_first():
    keys = [ask(seed=seed) for seed in (3, 1, 2)]
    assert [state.key for state in queue.states()] == keys
    assert [state.position for state in queue.states()] == [1, 2, 3]
    worker.work(once=True, slots=1)
    assert [state.status for state in queue.states()] == ["done", "queued", "queued"]
    assert queue.state(keys[2]).position == 2


def test_a_training_that_diverges_fails_with_its_message_and_can_be_asked_for_again():
    key = ask(rate=10.0, steps=200)
    worker.work(once=True, slots=1)
    assert queue.state(key).status == "failed" and "diverged at step" in queue.state(key).message
    assert not Job(key).checkpoint.exists()
    ask(rate=10.0, steps=200)
    assert queue.state(key).status == "queued"


def unlucky(*_):
    raise RuntimeError("out of luck")


@pytest.fixture
def broken(monkeypatch):
    """Breaks a part of the experiment."""

    def breaks(part):
        module = sys.modules[f"icl_core.papers.{TOY}"]
        registry.experiment.cache_clear()
        experiment = dataclasses.replace(module.EXPERIMENT, **{part: unlucky})
        patch.setattr(module, "EXPERIMENT", experiment)

    with monkeypatch.context() as patch:
        yield breaks
    registry.experiment.cache_clear()


def test_a_fault_of_an_experiment_is_the_jobs_failure_not_the_workers(broken):
    broken("run")
    key = ask()
    worker.work(once=True, slots=1)
    assert queue.state(key).message == "RuntimeError: out of luck"


def test_a_finished_training_is_kept_even_if_its_metrics_fail(broken, runs):
    broken("metrics")
    key = ask()
    worker.work(once=True, slots=1)
    info = runs.find(Request(TOY, config())).info
    assert info["metrics"] == []
    assert info["message"] == "the metrics failed: RuntimeError: out of luck"
    assert queue.state(key).status == "done" and queue.state(key).message == info["message"]


def test_a_worker_starts_no_more_than_its_slots(monkeypatch):
    counts = []
    monkeypatch.setattr(spawn, "ensure_workers", lambda count=None: counts.append(count))
    ask()
    worker.work(once=True, slots=1)
    assert counts == [1]


def test_a_queued_job_can_be_cancelled_and_asked_for_again():
    key = ask()
    queue.cancel(key)
    assert queue.state(key).status == "cancelled" and worker.work(once=True, slots=1) == 0
    ask()
    assert worker.work(once=True, slots=1) == 1 and queue.state(key).status == "done"


def test_a_running_job_is_seen_live_and_can_be_cancelled(runs):
    key = ask(steps=1_000_000)
    process = start_worker()
    wait_for(
        lambda: (run := queue.partial_curves(key)) is not None and "curve/loss" in run.tensors,
        "the first curves",
    )
    run = queue.partial_curves(key)
    state = queue.state(key)
    assert not run.finished
    assert run.config == config(steps=1_000_000)
    assert run["curve/loss"].shape[0] == 1
    assert state.status == "running" and state.total == 1_000_000 and state.pid == process.pid
    experiment = registry.experiment(TOY)
    panels = [
        drawing.draw(run, experiment.view()) for drawing in experiment.drawings if drawing.live
    ]
    assert panels[0].figure.plotly().data
    queue.cancel(key)
    wait_for(lambda: queue.state(key).status == "cancelled", "the job to stop")
    assert process.wait(90) == 0
    assert Job(key).checkpoint.exists() and queue.state(key).kept  # the next request goes on
    assert runs.headers() == []


@pytest.mark.long
def test_killed_workers_are_resumed_and_the_file_is_the_same(runs, tmp_path, monkeypatch):
    settings = config(steps=12_000, d=7, seeds=2)  # a second or more
    key = queue.submit(Request(TOY, settings))
    checkpoint = Job(key).checkpoint
    killed = subprocess.Popen([sys.executable, "-c", SOON], cwd=ROOT)
    # the first is of step 0 where the worker was slow to begin
    wait_for(lambda: checkpoint.exists() and read_record(checkpoint)["step"] > 0, "a checkpoint")
    killed.kill()
    killed.wait(90)
    assert queue.state(key).status == "interrupted" and queue.state(key).position == 1
    first_step = read_record(checkpoint)["step"]
    step_before = queue.state(key).step
    assert 0 < first_step < 12_000
    terminated = subprocess.Popen([sys.executable, "-c", SOON], cwd=ROOT)
    wait_for(lambda: queue.state(key).step > step_before + 20, "the next steps")
    terminated.terminate()
    terminated.wait(90)
    assert queue.state(key).status == "interrupted" and queue.state(key).position == 1
    last_step = read_record(checkpoint)["step"]
    assert first_step < last_step < 12_000

    starts = []  # where a training begins, and whether it got tensors to go on from
    resume = JobProgress.resume

    def note_start(self):
        tensors = resume(self)
        starts.append((self.first_step, bool(tensors)))
        return tensors

    monkeypatch.setattr(JobProgress, "resume", note_start)
    assert worker.work(once=True, slots=9) == 1
    assert queue.state(key).status == "done" and starts == [(last_step, True)]
    resumed = content(runs.find(Request(TOY, settings)).path)

    with house(tmp_path / "other", monkeypatch) as other:
        queue.submit(Request(TOY, settings))
        assert worker.work(once=True, slots=9) == 1
        assert starts == [(last_step, True), (0, False)]
        assert content(other.find(Request(TOY, settings)).path) == resumed


def test_ensure_workers_starts_one_for_what_waits_and_the_dead_ones_job():
    assert spawn.ensure_workers(1) == 0
    key = ask()
    Job(key).write_state(status="running", step=3)  # as a killed worker leaves it
    assert queue.state(key).status == "interrupted"
    assert spawn.ensure_workers(1) == 1 and spawn.ensure_workers(1) == 0
    wait_for(lambda: queue.state(key).status == "done", "the worker")


@pytest.mark.long
def test_a_warm_worker_takes_what_is_asked_for_and_ends_with_its_server(runs, monkeypatch):
    """It is the only one, however often a server starts, and it does not end while the server
    lives."""
    popen = subprocess.Popen
    workers = []
    server = popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with monkeypatch.context() as patch:
        patch.setattr(spawn.os, "getpid", lambda: server.pid)

        def start(*arguments, **options):
            workers.append(popen(*arguments, **options))
            return workers[-1]

        patch.setattr(spawn.subprocess, "Popen", start)
        spawn.warm()
        wait_for(lambda: spawn._is_taken(0), "the worker to take its slot")
        spawn.warm()
    (worker_process,) = workers
    key = ask()
    wait_for(lambda: runs.exact(TOY, key), "the run")
    assert worker_process.poll() is None
    server.communicate(b"\n")
    assert worker_process.wait(timeout=90) == 0  # some seconds after its last job


def test_a_full_house_starts_no_worker():
    ask()
    with hold_lock(spawn.slot_lock(0)):
        assert worker.work(once=True, slots=1) == 0


def test_a_damaged_checkpoint_is_ignored():
    key = ask()
    Job(key).checkpoint.write_bytes(b"half a checkp")
    worker.work(once=True, slots=1)
    assert queue.state(key).status == "done"


def test_a_job_that_takes_its_worker_down_again_and_again_fails():
    key = ask()
    Job(key).write_state(status="running", first_step=0, deaths=train.DEATHS - 1)
    worker.work(once=True, slots=1)
    assert queue.state(key).status == "failed" and "killed 3 times" in queue.state(key).message


def test_the_thread_count_of_the_checkpoint_is_used_again():
    key = ask()
    identity = {"experiment": TOY, "version": 1, "config": stored_settings(config())}
    first = JobProgress(Job(key), identity, threads=2, stopped=lambda: True, has_lease=always)
    with pytest.raises(Stopped):
        first.report(5, 20, 0.1, dict, lambda: {"x": np.array(1.0)})
    again = JobProgress(Job(key), identity, threads=1, stopped=never, has_lease=always)
    assert again.threads == 2 and again.first_step == 5 and again.resume()["x"] == 1.0
    for difference in ({"version": 2}, {"device": "another"}):
        other = JobProgress(
            Job(key), {**identity, **difference}, 1, stopped=never, has_lease=always
        )
        assert other.resume() is None
    table.write_cancel(key, "cancelled")
    with pytest.raises(Cancelled):
        again.report(6, 20, 0.1, dict, dict)


def test_cancel_counts_at_once_and_asking_again_takes_it_back():
    """Also while the worker evaluates, and looks for nothing."""
    key = ask()
    with hold_lock(Job(key).folder / "lock"):
        Job(key).write_state(status="running", step=20, total=20)
        queue.cancel(key)
        assert queue.state(key).status == "cancelling" and not queue.state(key).ended
        ask()
        assert queue.state(key).status == "running"


def test_a_job_that_was_asked_for_again_as_its_worker_gave_up_is_queued(monkeypatch):
    key = ask()

    def give_up(self):
        queue.cancel(key)
        ask()
        raise Cancelled

    with monkeypatch.context() as patch:
        patch.setattr(JobProgress, "check", give_up)
        worker.work(once=True, slots=1)
    assert queue.state(key).status == "queued"
    assert worker.work(once=True, slots=1) == 1 and queue.state(key).status == "done"


def test_a_job_is_given_up_when_the_last_that_watched_it_leaves(runs):
    key = ask()
    for who in ("a", "b"):
        queue.watch(key, who)
    queue.unwatch(key, "a")
    assert queue.state(key).status == "queued"
    queue.unwatch(key, "b")
    assert queue.state(key).left and worker.work(once=True, slots=1) == 0
    ask()
    queue.watch(key, "a")
    worker.work(once=True, slots=1)
    assert queue.state(key).status == "done" and database.rows("SELECT * FROM watchers") == []
    queue.unwatch(key, "a")
    assert queue.state(key).status == "done" and runs.find(Request(TOY, config()))


def test_a_look_of_long_ago_does_not_count():
    key = ask()
    for who in ("a", "b"):
        queue.watch(key, who)
    change("UPDATE watchers SET seen = 1e9 WHERE who = 'b'")  # a window that was closed
    queue.unwatch(key, "a")
    assert queue.state(key).left


def test_a_running_job_that_is_left_ends_as_that(monkeypatch):
    key = ask()
    report = JobProgress.report
    monkeypatch.setattr(
        JobProgress, "report", lambda self, *of: (queue.unwatch(key, "a"), report(self, *of))
    )
    worker.work(once=True, slots=1)
    assert queue.state(key).left


def test_a_run_tells_what_it_does(monkeypatch):
    key = ask()
    phases = []
    write_state = JobProgress.write_state

    def write_and_note(self):
        write_state(self)
        state = queue.state(key)
        phases.append((state.phase, state.phase_step, state.phase_steps))

    monkeypatch.setattr(JobProgress, "write_state", write_and_note)
    worker.work(once=True, slots=1)
    assert phases[1] == ("", 0, 20)  # its only training needs no name
    assert [phase for phase, *_ in phases[-2:]] == ["evaluating", "computing the metrics"]


def test_diverged_is_told_from_a_fault():
    with pytest.raises(Diverged, match="diverged at step"):
        registry.experiment(TOY).run(config(rate=10.0, steps=500), Recorder())


def test_a_look_at_many_jobs_reads_only_those_that_changed(monkeypatch):
    keys = [ask(seed=seed) for seed in range(12)]
    assert [state.position for state in queue.states()] == list(range(1, 13))
    keys_read = []
    row = table._row
    monkeypatch.setattr(table, "_row", lambda values: keys_read.append(values[0]) or row(values))
    assert [state.position for state in queue.states()] == list(range(1, 13)) and not keys_read
    queue.cancel(keys[3])
    assert [state.position for state in queue.states() if not state.ended] == list(range(1, 12))
    assert set(keys_read) == {keys[3]}
    table.delete(keys[0])
    assert [state.key for state in queue.states()] == keys[1:]
