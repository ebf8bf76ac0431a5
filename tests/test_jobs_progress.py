"""Trainings that several workers share, what a page is told of them, and the states that a longer
run goes on from."""

import os
import time

import numpy as np
import pytest
from house import TOY, ask, config

from icl_core import registry
from icl_core.cluster import transfer
from icl_core.jobs import (
    job_progress,
    phase_helper,
)
from icl_core.jobs.folder import Job, jobs_folder
from icl_core.jobs.phase_helper import SharedTrainings
from icl_core.jobs.train import _run_info

pytestmark = pytest.mark.usefixtures("runs")


def test_a_training_is_begun_by_one_and_its_steps_are_counted_by_the_others():
    shared_job = Job(ask())
    identity = {"experiment": TOY, "version": 1, "config": {}}
    mine = SharedTrainings(shared_job, identity)
    other = SharedTrainings(shared_job, identity)
    assert mine.not_begun(["a", "b"]) == ["a", "b"] and mine.begin("a") and not other.begin("a")
    mine.write_step("a", 7)
    assert other.not_begun(["a", "b"]) == ["b"]
    assert mine.steps_elsewhere() == 0 and other.steps_elsewhere() == 7
    mine.save_checkpoint("a", {"x": np.ones(2)})
    assert other.load_checkpoint("a")["x"].sum() == 2
    assert other.load_result("a") is None
    assert other.load_checkpoint("b") == {}
    mine.save_result("a", {"x": np.ones(3)}, 2.5)
    assert other.load_checkpoint("a") == {} and not other.begin("a")
    for _ in range(2):  # its seconds count once
        assert other.load_result("a")["x"].sum() == 3 and other.seconds == 2.5
    assert other.steps_elsewhere() == 0
    assert SharedTrainings(shared_job, {**identity, "version": 2}).load_result("a") is None


def test_what_a_page_is_told_while_a_run_goes_on(monkeypatch):
    own_job = Job(ask())
    clock = iter(range(100, 1000, 10))
    monkeypatch.setattr(job_progress.time, "monotonic", lambda: next(clock))
    identity = phase_helper.identity_of(own_job.request())
    # at 100
    progress = job_progress.JobProgress(own_job, identity, 1, lambda: False, lambda: True)
    progress._step = 30
    progress.total = 120
    progress.loss = 0.5
    progress.enter("walking", 20, 5)  # at 110
    state = own_job.state()
    assert (state["step"], state["total"]) == (30, 120)
    assert (state["loss"], state["status"]) == (0.5, "running")
    assert state["seconds_left"] == pytest.approx(10 * 90 / 30)
    assert (state["phase"], state["phase_step"], state["phase_steps"]) == ("walking", 5, 5)
    progress._step = 10
    progress.write_state()
    assert own_job.state()["phase_step"] == 0 and own_job.state()["pid"] == os.getpid()
    progress._step = 500
    progress.write_state()
    assert (own_job.state()["step"], own_job.state()["seconds_left"]) == (120, 0)
    progress._step = 0
    progress.write_state()
    assert own_job.state()["seconds_left"] is None


def test_what_a_training_took_is_told_with_what_it_made():
    own_job = Job(ask())
    identity = phase_helper.identity_of(own_job.request())
    progress = job_progress.JobProgress(own_job, identity, 1, lambda: False, lambda: True)
    other = SharedTrainings(own_job, identity)
    clock = iter((100.0, 103.5))
    progress._clock = lambda: next(clock)
    assert progress.take(["a"]).made is None
    progress.give("a", {"x": np.ones(1)})
    assert other.load_result("a") and other.seconds == 3.5


@pytest.mark.parametrize(
    ("clock", "computed", "waited"),
    [
        (6.0, 10.0, 6.0),  # two cores
        (30.0, 10.0, 10.0),  # one core, and others have held it up
    ],
)
def test_the_time_that_one_waits_is_by_the_clock_unless_others_hold_it_up(
    monkeypatch, clock, computed, waited
):
    own_job = Job(ask())
    identity = phase_helper.identity_of(own_job.request())
    progress = job_progress.JobProgress(own_job, identity, 1, lambda: False, lambda: True)
    progress.start = time.monotonic() - clock
    monkeypatch.setattr(progress, "_clock", lambda: progress._clock_start + computed)
    for before in (0.0, 5.0):  # by an earlier worker, whose checkpoint tells no more
        progress.seconds_before = before
        info = _run_info(progress)
        assert info["seconds"] == pytest.approx(before + computed)
        assert info["waited"] == pytest.approx(before + waited, abs=0.1)


def test_a_longer_run_is_known_by_its_steps(monkeypatch):
    toy = registry.experiment(TOY)
    for steps, expected in ((30, [60, 150, 300]), (200_000, [400_000, 1_000_000])):
        assert [longer.steps for longer in toy.longer(config(steps=steps))] == expected
    # of 30 steps a fifth and a tenth are below the range
    for steps, expected in ((100, [50, 20, 10]), (30, [15]), (155, [31])):
        assert [shorter.steps for shorter in toy.shorter(config(steps=steps))] == expected


def test_the_ends_of_the_oldest_runs_go_first_and_the_newest_stay(monkeypatch):
    monkeypatch.setattr(phase_helper, "LARGEST_ENDS", 25)
    for number in range(4):
        path = jobs_folder() / f"job{number}" / "ends" / "a.safetensors"
        phase_helper.write_end_state(path, bytes(10))
        if path.exists():
            os.utime(path.parent, (number, number))
    ends = jobs_folder().glob("*/ends/*.safetensors")
    assert sorted(path.parts[-3] for path in ends) == ["job2", "job3"]
    phase_helper.write_end_state(jobs_folder() / "job4" / "ends" / "a.safetensors", bytes(26))
    assert not (jobs_folder() / "job4").exists()
    phase_helper.write_end_state(jobs_folder() / "job0" / "ends" / "a.safetensors", bytes(25))
    assert [path.parts[-3] for path in jobs_folder().glob("*/ends/*.safetensors")] == ["job0"]


def test_a_run_goes_on_from_the_ends_of_one_that_differs_in_its_steps_alone():
    of = {"experiment": TOY, "config": {"d": 1, "steps": 100}}
    ten = {"d": 1, "steps": 10}
    three = {"d": 1, "steps": 3}
    assert transfer._continues(of, {**of, "config": ten})
    assert transfer._continues(of, {**of, "config": {"d": 1, "steps": 50}})
    for other in (
        {**of, "config": three},
        of,
        {**of, "config": {**ten, "d": 2}},
        {"experiment": "x.y", "config": ten},
    ):
        assert not transfer._continues(of, other)
