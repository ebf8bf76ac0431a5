"""The table of jobs: whose turn it is, and what has ended."""

import sys
from types import SimpleNamespace

import pytest
from house import TOY, ask

from icl_core import registry
from icl_core.jobs import (
    folder,
    queue,
    table,
    terminal,
)
from icl_core.jobs.folder import Job
from icl_core.jobs.table import ENDED

pytestmark = pytest.mark.usefixtures("runs")


def test_what_has_ended_stays_as_it_ended_and_what_nobody_asked_for_stays_unknown():
    key = ask()
    for status in ENDED:
        Job(key).write_state(status=status)
        assert queue.cancel(key) and queue.state(key).status == status
    assert queue.cancel("0" * 20) and queue.state("0" * 20) is None
    assert [state.key for state in queue.states()] == [key]


def job(visitor="", turn=1, later=False, status="queued"):
    return SimpleNamespace(
        visitor=visitor, turn=turn, later=later, status=status, ended=status in ENDED
    )


@pytest.mark.parametrize(
    ("jobs", "turn"),
    [
        ([], 1),
        ([job("a", 3)], 4),
        ([job("b", 3)], 3),
        ([job("b", 3), job("b", 5)], 3),
        ([job("b", 3, status="running"), job("b", 5, status="cancelling"), job("c", 2)], 5),
        ([job("a", 9, status="done"), job("b", 7, later=True)], 1),
        ([job("a", 2), job("a", 6), job("b", 3, status="running")], 7),
        ([job("b", 0)], 1),
    ],
    ids=str,
)
def test_a_turn_is_one_after_the_visitors_last_and_never_before_that_being_served(jobs, turn):
    assert table.next_turn("a", False, jobs) == turn


def test_a_visitors_runs_are_counted_until_they_have_ended():
    mine = [job("a"), job("a", later=True), job("a", status="running"), job("a", status="failed")]
    jobs = [*mine, job("b")]
    assert [table.count_jobs(visitor, jobs) for visitor in "abc"] == [3, 1, 0]


def test_a_job_of_what_is_not_here_or_not_yet_waits():
    state = queue.JobState("k", TOY, {}, "queued", version=registry.version(TOY))
    ready = [{}, {"status": "interrupted"}, {"version": 0}]
    waits = [
        {"status": "running"},
        {"status": "done"},
        {"version": 2},
        {"experiment": "no.such", "version": 1},
    ]
    assert all(queue.is_ready(queue.replace(state, **change)) for change in ready)
    assert not any(queue.is_ready(queue.replace(state, **change)) for change in waits)


def test_what_keeps_jobs_waiting_is_said_once_and_in_order(monkeypatch):
    lines = []
    monkeypatch.setattr(
        terminal.tqdm, "write", lambda message, file: lines.append((message, file is sys.stderr))
    )
    status = folder.ClusterStatus(refused=["one was refused"])
    monkeypatch.setattr(folder, "read_cluster_status", lambda: status)
    states = [
        queue.JobState("a", TOY, {}, "queued", message="z is full"),
        queue.JobState("b", TOY, {}, "interrupted", message="a is full"),
        queue.JobState("c", TOY, {}, "done", message="its metrics failed"),
        queue.JobState("d", TOY, {}, "queued"),
    ]
    printed = set()
    terminal.print_obstacle(states, printed)
    terminal.print_obstacle(states, printed)
    assert lines == [("a is full", True), ("one was refused", True), ("z is full", True)]
