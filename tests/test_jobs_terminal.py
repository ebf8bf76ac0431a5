"""A terminal waits for a run, and says how its training ended."""

import os

import numpy as np
import pytest
from house import TOY, ask, config

from icl_core.jobs import (
    queue,
    spawn,
    terminal,
)
from icl_core.jobs.folder import Job
from icl_core.runs.header import key_of
from icl_core.runs.request import Request

pytestmark = pytest.mark.usefixtures("runs")


@pytest.fixture
def bar(monkeypatch):
    """What the bar in the terminal showed, look by look; a worker of this process trains in
    between."""
    updates = []

    class Bar:
        def __init__(self, **options):
            self.options = options
            self.n = 0
            self.total = None

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def set_postfix_str(self, text, refresh):
            updates.append([self.options["desc"], text, refresh])

        def update(self, more):
            self.n += more
            updates[-1] += [more, self.total]

        refresh = staticmethod(lambda: None)
        write = staticmethod(lambda *_, **__: None)

    monkeypatch.setattr(terminal, "tqdm", Bar)
    monkeypatch.setattr(terminal, "_PAUSE", 0.0)
    return updates


def test_a_terminal_waits_for_a_run_and_shows_how_far_it_is(bar, monkeypatch):
    states = [
        queue.JobState("k", TOY, {}, "queued"),
        queue.JobState("k", TOY, {}, "running", step=30, total=120, loss=0.123456),
        queue.JobState("k", TOY, {}, "interrupted", step=20, total=120, loss=0.5),
        queue.JobState("k", TOY, {}, "done"),
    ]
    watches = []
    worker_starts = []
    monkeypatch.setattr(queue, "state", lambda key: states.pop(0))
    monkeypatch.setattr(queue, "watch", lambda *of: watches.append(of))
    monkeypatch.setattr(spawn, "ensure_workers", lambda *of: worker_starts.append(of))
    terminal._watch("k", TOY)
    assert bar == [
        [TOY, "queued", False, 0, None],
        [TOY, "loss 0.1235", False, 30, 120],
        [TOY, "loss 0.5", False, 0, 120],
    ]
    assert watches == [("k", f"terminal-{os.getpid()}")] * 3 and worker_starts == [()] * 3


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"status": "cancelled", "message": ""}, "the training was cancelled"),
        ({"status": "cancelled", "left": True}, "the training was cancelled"),
        ({"status": "failed", "message": "it diverged"}, "the training failed: it diverged"),
    ],
    ids=[
        "told0-the training was cancelled",
        "told1-the training was cancelled",
        "told2-the training failed: it diverged",
    ],
)
def test_a_terminal_says_how_a_training_ended(bar, monkeypatch, fields, message):
    monkeypatch.setattr(queue, "state", lambda key: queue.JobState(key, TOY, {}, **fields))
    with pytest.raises(terminal.Failed, match=f"^{message}$"):
        terminal._watch("k", TOY)


def test_a_run_that_is_there_is_not_asked_for_and_one_that_is_not_is_trained(
    runs, bar, monkeypatch
):
    def train(*of):
        runs.save(TOY, config(), {"x": np.ones(1)}, {})
        Job(key_of(TOY, config())).write_state(status="done")

    monkeypatch.setattr(spawn, "ensure_workers", train)
    header = terminal.train_or_load(Request(TOY, config()))
    assert header == runs.find(Request(TOY, config())) and bar
    bar.clear()
    assert terminal.train_or_load(Request(TOY, config())) == header and not bar
    monkeypatch.setattr(runs, "find", lambda *of: None)
    with pytest.raises(terminal.Failed, match="the run was made but is no longer in the cache"):
        terminal.train_or_load(Request(TOY, config()))


def test_a_terminal_that_is_interrupted_gives_its_run_up_unless_others_want_it(bar, monkeypatch):
    def interrupt(*of):
        raise KeyboardInterrupt

    monkeypatch.setattr(spawn, "ensure_workers", interrupt)
    ends = (("", "cancelled", "^cancelled; "), ("a", "queued", "goes on for others who asked"))
    for visitor, status, message in ends:
        if visitor:
            key = ask(visitor=visitor)
        with pytest.raises(KeyboardInterrupt, match=message):
            terminal.train_or_load(Request(TOY, config()))
        key = key_of(TOY, config())
        assert queue.state(key).status == status
