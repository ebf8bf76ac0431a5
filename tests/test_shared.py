"""Several workers at one run: each training is done once, by one of them, and the run is the same
as by one alone."""

import shutil
import threading

import numpy as np
import pytest
from house import TOY, house, wait_for

from icl_core import registry
from icl_core.contract.experiment import Cancelled
from icl_core.jobs import job_progress, queue, table, worker
from icl_core.jobs.folder import Job, hold_lock
from icl_core.jobs.job_progress import JobProgress
from icl_core.jobs.phase_helper import (
    HelperProgress,
    NothingLeft,
    SharedTrainings,
    Stopped,
    assist,
    identity_of,
)
from icl_core.runs import store
from icl_core.runs.request import Request
from icl_core.training import phases
from icl_core.training.loop import State
from icl_core.training.phases import Phase
from tests.recorder import Recorder

NAMES = ("a", "b", "c", "a and c")


@pytest.fixture(autouse=True)
def job(tmp_path, monkeypatch):
    with house(tmp_path, monkeypatch):
        key = queue.submit(Request(TOY, registry.experiment(TOY).config(steps=20)))
        yield Job(key)


def never() -> bool:
    return False


@pytest.fixture
def clock(monkeypatch):
    """What the clock says, alone in a list: for a test to move on."""
    clock = [job_progress.time.monotonic()]
    monkeypatch.setattr(job_progress.time, "monotonic", lambda: clock[0])
    return clock


def shared(job) -> SharedTrainings:
    return SharedTrainings(job, identity_of(job.request()))


def own(job, stopped=never) -> JobProgress:
    return JobProgress(job, identity_of(job.request()), 1, stopped, lambda: True)


def helper(job, stopped=never, wanted=never) -> HelperProgress:
    return HelperProgress(job, shared(job), stopped, wanted)


def plan(
    log: list[tuple[str, str]], who: str, hold: dict[str, threading.Event] | None = None
) -> list[Phase]:
    """Three trainings and one that needs two of them; `log` notes who did which, `hold` what each
    waits for."""

    def train(name, *arguments):
        *earlier, resumed, report = arguments
        if name in (hold or {}):
            assert hold[name].wait(20)
        log.append((who, name))
        start = int(resumed["step"][0]) if "step" in resumed else 0
        for step in range(start, 4):
            report(State(step=step), lambda step=step: {"step": np.array([step])})
        report(State(step=4), dict)
        total = sum(float(training["final/w"][0]) for training in earlier)
        return {"final/w": np.array([total or ord(name[0])], float), "start": np.array([start])}

    def phase(name, *earlier):
        return Phase(name, 4, lambda *arguments: train(name, *arguments), given=earlier)

    return [phase("a"), phase("b"), phase("c"), phase("a and c", "a", "c")]


def weights(trainings: phases.Made) -> dict[str, float]:
    return {name: float(tensors["final/w"][0]) for name, tensors in trainings.items()}


def run(log, who: str, progress, hold=None) -> phases.Made:
    return phases.run(plan(log, who, hold), progress, lambda trainings: {})


def alone() -> dict[str, float]:
    return weights(run([], "alone", Recorder()))


def test_two_workers_do_every_training_once_and_the_run_is_the_same(job):
    log: list[tuple[str, str]] = []
    go = threading.Event()
    trainings: phases.Made = {}

    def first():
        trainings.update(run(log, "own", own(job), {"a": go}))

    thread = threading.Thread(target=first)
    thread.start()
    wait_for(
        lambda: SharedTrainings(job, {}).not_begun(NAMES) == ["b", "c", "a and c"],
        "the run has its first training in hand",
    )
    with pytest.raises(NothingLeft):  # "a" is in hand, and without it the last one cannot begin
        run(log, "helper", helper(job))
    assert log == [("helper", "b"), ("helper", "c")]
    go.set()
    thread.join(20)
    assert log[2:] == [("own", "a"), ("own", "a and c")]
    assert list(trainings) == list(NAMES) and weights(trainings) == alone()


def test_what_a_helper_left_is_taken_up_from_its_checkpoint(job):
    log: list[tuple[str, str]] = []
    stopping = iter([False, False, True])
    with pytest.raises(Stopped):
        run(log, "helper", helper(job, stopped=lambda: next(stopping, True)))
    SharedTrainings(job, {}).release()
    trainings = run(log, "own", own(job))
    assert log[0] == ("helper", "a") and ("own", "a") in log
    assert trainings["a"]["start"][0] > 0 and weights(trainings) == alone()


def test_a_training_in_hand_is_nobody_elses_and_a_foreign_file_is_none(job):
    one, other = (shared(job) for _ in range(2))
    assert one.begin("a") and not other.begin("a")
    one.write_step("a", 3)
    assert other.steps_elsewhere() == 3 and one.steps_elsewhere() == 0
    one.save_result("a", {"w": np.ones(2)}, 1.5)
    assert not other.begin("a")
    assert other.load_result("a")["w"].tolist() == [1, 1] and other.seconds == 1.5
    other.load_result("a")
    assert other.seconds == 1.5 and other.steps_elsewhere() == 0  # counted once
    assert SharedTrainings(job, {**one.identity, "version": 99}).load_result("a") is None


@pytest.mark.parametrize("damage", [b"", b"no run", b'{"a":' * 1000])
def test_what_a_training_made_is_made_again_if_its_file_is_damaged(job, damage):
    """Else all would wait for ever for what nobody makes."""
    here, there = (shared(job) for _ in range(2))
    assert here.begin("a")
    here.save_result("a", {"w": np.ones(1)}, 0.0)
    assert there.load_result("a") and not there.begin("a")
    there._path("a", "made.safetensors").write_bytes(damage)
    assert there.load_result("a") is None and there.begin("a")
    there.save_result("a", {"w": np.ones(1)}, 0.0)
    assert here.load_result("a") and not here.begin("a")


def test_a_helper_that_is_wanted_elsewhere_begins_nothing(job):
    log: list[tuple[str, str]] = []
    with pytest.raises(NothingLeft):
        run(log, "helper", helper(job, wanted=lambda: True))
    assert log == []


def test_a_helper_ends_with_a_job_that_is_cancelled(job):
    with hold_lock(job.folder / "lock"):
        job.write_state(status="running")
        queue.cancel(job.key)
        with pytest.raises(Cancelled):
            helper(job).take(["a"])
        assert assist(job, never, never) == 0


@pytest.mark.parametrize("what", ["give", "end", "report"])
def test_a_helper_writes_nothing_for_a_job_that_is_forgotten(job, what):
    helping = helper(job)
    assert helping.take(["a"])
    helping._checkpoint_at = 0.0
    shutil.rmtree(job.folder)
    table.delete(job.key)
    with pytest.raises(Cancelled):
        if what == "give":
            helping.give("a", {})
        elif what == "end":
            helping.end("a", dict)
        else:
            helping.report(1, 20, 0.0, dict, dict)
    assert not job.folder.exists()


def test_an_idle_worker_helps_at_a_run_that_another_has_in_hand_and_goes_when_a_job_waits(
    job, monkeypatch
):
    calls = []
    monkeypatch.setattr(
        worker, "assist", lambda job, stopped, wanted: calls.append((job.key, wanted())) or 1
    )
    with hold_lock(job.folder / "lock"):
        job.write_state(status="running", spare=2)
        assert worker._assist_one(never) and calls == [(job.key, False)]
        queue.submit(Request(TOY, registry.experiment(TOY).config(steps=30)))
        assert worker._assist_one(never) and calls[1] == (job.key, True)
        job.write_state(status="running", spare=0)
        assert not worker._assist_one(never)


def test_a_helped_run_is_kept_as_any_other(job):
    assert assist(job, never, never) == 1  # the only training of the throw-away paper's run
    assert worker.work(once=True, slots=9) == 1
    run = store.default().find(Request(TOY, registry.experiment(TOY).config(steps=20)))
    assert run is not None and queue.state(job.key).status == "done" and not job.phases.exists()


def test_what_is_shown_is_in_the_order_of_the_plan(job):
    """A run that has lost its worker, of which a helper has the first training in hand."""
    orders: list[list[str]] = []
    other = shared(job)
    assert other.begin("a")
    progress = own(job)
    steps = plan([], "own")
    for live in (True, False):
        if not live:
            other.save_result("a", {"final/w": np.ones(1)}, 0.0)
        training = progress.take([phase.name for phase in steps[:3]])
        assert training.name == ("b" if live else "a")
    trainings = {"b": {"final/w": np.ones(1)}}

    def show(results):
        orders.append(list(results))
        return {}

    reports = phases._Reports(
        steps, [steps[2]], {}, Showing(), trainings, show, "", phases.no_preview
    )
    reports.report(steps[2], State(step=1, curve={"step": [0]}), dict)
    trainings["a"] = {"final/w": np.ones(1)}
    reports.report(steps[2], State(step=2, curve={"step": [0]}), dict)
    assert orders == [["a", "b", "c"]]  # nothing of "b" before "a"


class Showing(Recorder):
    """Shows at every report."""

    def report(self, done, total, loss, live, state, preview=dict):
        live()


def test_the_time_left_is_by_the_steps_that_are_made_here(job, clock):
    """Not by those that a shorter run had made before."""
    progress = own(job)
    progress.enter("", 0, 50_000)
    progress.report(25_000, 50_000, 1.0, dict, dict)
    clock[0] += 10.0
    progress.report(26_000, 50_000, 1.0, dict, dict)
    state = job.state()  # after a thousand steps in ten seconds
    assert state["step"] == 26_000 and 200 < state["seconds_left"] < 300


def test_a_result_of_an_earlier_form_counts_as_none(job):
    """Its tensors had their bare names, and it ended in `.safetensors` alone."""
    other = shared(job)
    assert other.begin("a")
    other.save_result("a", {"phase/a/x": np.ones(1)}, 1.0)
    (path,) = job.phases.glob("*.made.safetensors")
    path.rename(path.with_name(path.name.replace(".made", "")))
    other.release()
    assert own(job).take(["a"]).made is None


def test_the_time_left_is_by_the_last_five_seconds_and_later_by_more(job, clock):
    progress = own(job)
    progress.enter("walking", 0, 10_000)
    step = [0]

    def go_on(seconds: int, steps_a_second: int) -> float:
        """Return the time left after so many more seconds."""
        for _ in range(seconds):
            clock[0] += 1
            step[0] += steps_a_second
            progress.report(step[0], 10_000, 1.0, dict, dict)
            progress.write_state()
        return job.state()["seconds_left"]

    assert go_on(10, 10) == pytest.approx(990)
    assert go_on(10, 1) == pytest.approx(9890)  # of the last five seconds, or ten
    # of forty seconds the last twenty count: five at two steps a second, fifteen at ten
    assert go_on(5, 2) > 4000
    assert go_on(15, 10) == pytest.approx((10_000 - 270) / (160 / 20))
    # a pause of five seconds after ten minutes is one of the last minute's
    go_on(560, 10)
    left = go_on(5, 1)
    assert left == pytest.approx((10_000 - step[0]) / (555 / 60))


def test_what_a_checkpoint_holds_of_others_is_not_counted_twice(job):
    shared(job).write_step("a", 4)  # by a helper
    first = own(job, lambda: True)
    with pytest.raises(Stopped):
        first.report(6, 16, 1.0, dict, lambda: {"phase/a/x": np.ones(1), "now/b/step": np.ones(1)})
    again = own(job)
    again.write_state()
    assert job.state()["step"] == 6 and job.state()["seconds_left"] is None


def test_what_a_helper_ended_while_nobody_was_here_is_not_counted_twice(job):
    first = own(job, lambda: True)
    with pytest.raises(Stopped):  # a hundred of a, fifty of c
        first.report(150, 500, 1.0, dict, lambda: {"now/c/step": np.ones(1)})
    other = shared(job)
    assert other.begin("b")
    other.write_step("b", 100)
    other.save_result("b", {"x": np.ones(1)}, 1.0)
    again = own(job)
    assert again.take(["b"]).made is not None
    again.enter("c", 200, 100)
    again.report(250, 500, 1.0, dict, dict)
    again.write_state()
    # nothing has been made here yet
    assert job.state()["step"] == 250 and job.state()["seconds_left"] is None
    again.report(260, 500, 1.0, dict, dict)
    again.write_state()
    assert job.state()["seconds_left"] is not None


def test_what_a_helper_had_begun_does_not_change_the_pace(job, clock):
    shared(job).write_step("b", 100)  # of which its checkpoint holds 80
    progress = own(job)
    progress.enter("a", 0, 400)
    progress.report(1, 800, 1.0, dict, dict)
    clock[0] += 39.9
    progress.report(400, 800, 1.0, dict, dict)
    assert progress.take(["b"]).name == "b"
    progress.enter("b", 400, 400)
    progress.report(481, 800, 1.0, dict, dict)
    progress.write_state()
    assert job.state()["step"] == 481
    assert job.state()["seconds_left"] == pytest.approx(39.9 * 319 / 399)
