"""Sweeps: what can be asked for, that every run is made once, and what is told of them."""

import json
import math
import random

import pytest
from house import TOY, house

from icl_core import registry
from icl_core.command.cli import main
from icl_core.contract.knobs import BadSetting, knobs_of
from icl_core.jobs import queue, spawn, worker
from icl_core.machine import device
from icl_core.runs.header import key_of
from icl_core.runs.request import Request
from icl_core.sweeps import setting_grid, terminal
from icl_core.sweeps.sweep import DONE, FAILED, MISSING, QUEUED, Sweep

OVER = ["--over", "d=2,3", "rate=0.1,10", "--set", "steps=200"]


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Runs of one's own, trained in this process, one at every look; `trained` counts them."""

    def train_one(count=None):
        own_store.trained += worker.work(once=True, slots=1)

    with house(tmp_path, monkeypatch) as own_store:
        own_store.trained = 0
        monkeypatch.setattr(spawn, "ensure_workers", train_one)
        monkeypatch.setattr(terminal, "PAUSE", 0.0)
        yield own_store


def toy(*words, seeds=None, **fields):
    base = registry.experiment(TOY).config(**{"steps": 20, **fields})
    return setting_grid.parse(TOY, words, base, seeds)


def test_a_grid_has_every_combination_and_what_it_does_not_name_from_the_base():
    grid = toy("rate=0.5,0.1", "d=2,3,4", seeds=2)
    assert [axis.values for axis in grid.axes] == [(0.1, 0.5), (2, 3, 4)]
    points = [dict(cell.at) for cell in grid.cells]
    assert points == [{"rate": rate, "d": d} for rate in (0.1, 0.5) for d in (2, 3, 4)]
    assert all((cell.config.steps, cell.config.seeds) == (20, 2) for cell in grid.cells)
    assert [dict(cell.at) for cell in toy(*grid.text().split()).cells] == points


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "a sweep must be over 1 to 4 knobs, got 0"),
        (["d"], "must be written NAME=VALUE,VALUE, got 'd'"),
        (["z=1"], "there is no setting 'z'; those that can be swept are d, steps, rate"),
        (["seed=1,2"], "knobs other than seed and seeds, got seed"),
        (["seeds=1,2"], "knobs other than seed and seeds, got seeds"),
        (["d=1,65"], "d must be a whole number from 1 to 64, got 65"),
        (["d=1,x"], "d must be a whole number from 1 to 64, got 'x'"),
        (["rate=0.1,nan"], "rate must be a number from 0.001 to 10.0, got nan"),
        (["d="], "d must have 1 to 400 values, got 0"),
        (["d=2,2"], "d must have each value once, got 2 twice"),
        (["d=2", "d=3"], "a sweep must name each knob once, got d twice"),
        (
            [f"d={','.join(map(str, range(1, 65)))}", "steps=10,11,12,13,14,15,16"],
            "at most 400 cells, got 448",
        ),
    ],
    ids=lambda value: " ".join(value)[:30] if isinstance(value, list) else "",
)
def test_a_grid_that_cannot_be_is_refused_with_a_sentence(words, message):
    with pytest.raises(BadSetting, match=message.replace("(", r"\(")):
        toy(*words)


def test_texts_cannot_be_swept_and_seeds_only_counted_where_there_are_some():
    speed = registry.experiment("memformers.speed")
    corrections = registry.experiment("gdssm.corrections")
    sentence = "a swept knob must be a number, a choice, a switch, got rates, a text"
    with pytest.raises(BadSetting, match=sentence):
        setting_grid.parse("memformers.speed", ["rates=0.1,0.2"], speed.config())
    with pytest.raises(BadSetting, match="no seeds to count, got 3"):
        setting_grid.parse("gdssm.corrections", ["f=2,3"], corrections.config(), 3)


def typed(chance):
    """Something like a grid, with what people get wrong."""
    bad = ("65", "-1", "nan", "", "x", "inf", "2", "1e-3", "0.1")
    values = {
        "d": ("2", " 3", "64"),
        "rate": ("0.1", "1", "1e-3"),
        "steps": ("10", "20"),
        "seeds": ("2",),
        "": bad,
    }
    words = [
        (name, values[chance.choice((name, name, ""))])
        for name in chance.choices(list(values), (5, 5, 5, 1, 1), k=2)
    ]
    return [
        f"{name}={','.join(chance.choices(texts, k=chance.randint(1, 2)))}" for name, texts in words
    ]


@pytest.mark.parametrize("number", range(4))
def test_every_grid_that_is_accepted_has_only_settings_that_can_be(number):
    chance = random.Random(number)
    accepted = [check_or_refuse(typed(chance)) for _ in range(400)]
    assert 40 < sum(accepted) < 200


def check_or_refuse(words):
    try:
        grid = toy(*words)
    except BadSetting as problem:
        assert str(problem)
        return False
    cells = math.prod(len(axis.values) for axis in grid.axes)
    assert len(grid.cells) == cells <= setting_grid.MOST_CELLS
    for cell in grid.cells:
        for field, knob in knobs_of(type(cell.config)).items():
            knob.check(field, getattr(cell.config, field))
    return True


def test_a_sweep_may_have_as_many_cells_as_the_sentence_says():
    grid = toy("d=" + ",".join(map(str, range(1, 41))), "steps=10,11,12,13,14,15,16,17,18,19")
    assert len(grid.cells) == setting_grid.MOST_CELLS


def test_what_an_experiment_refuses_is_a_failed_cell_and_not_the_end(runs):
    base = registry.experiment("birth.laboratory").config()
    sweep = Sweep(setting_grid.parse("birth.laboratory", ["d=64,128", "N=64,128"], base))
    look = sweep.look()
    assert [outcome.status for outcome in look.outcomes] == [MISSING, FAILED, MISSING, MISSING]
    assert "N must be at most d = 64" in look.outcomes[1].message
    assert sweep.cost()[0] == 3


def test_every_run_is_made_once_and_nothing_is_repeated(runs, capsys):
    assert main(["sweep", TOY, *OVER, "--json"]) == 1  # two diverge
    rows = json.loads(capsys.readouterr().out)
    assert [row["status"] for row in rows] == ["done", "failed", "done", "failed"]
    assert rows[0]["settings"] == {"d": 2, "rate": 0.1}
    assert rows[0]["metrics"]["toy.recovered"]["value"] > 0.9
    assert "it diverged at step" in rows[1]["message"] and not rows[1]["metrics"]
    keys = {header.key for header in runs.headers(TOY)}
    assert runs.trained == 4 and {row["run"] for row in rows if row["run"]} == keys
    assert main(["sweep", TOY, *OVER]) == 1 and runs.trained == 4
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["d", "rate", "toy.recovered", "toy.exact"]
    assert "failed: it diverged" in lines[2] and len(lines) == 5


def test_it_goes_on_after_ctrl_c(runs, monkeypatch):
    train = spawn.ensure_workers

    def stop_after_two(count=None):
        if runs.trained == 2:
            raise KeyboardInterrupt
        train()

    monkeypatch.setattr(spawn, "ensure_workers", stop_after_two)
    words = ["sweep", TOY, "--over", "d=2,3,4,5", "--set", "steps=20", "--jobs", "1"]
    with pytest.raises(KeyboardInterrupt, match="the same command goes on from here"):
        main(words)
    statuses = sorted(job.status for job in queue.states())
    assert runs.trained == 2 and statuses == ["cancelled", "cancelled", "done", "done"]
    monkeypatch.setattr(spawn, "ensure_workers", train)
    assert main(words) == 0 and runs.trained == 4 == len(runs.headers(TOY))


def test_a_run_of_more_seeds_counts_for_fewer_and_one_that_was_dropped_is_made_again(runs):
    Sweep(toy("d=2,3", seeds=2)).ask()
    while worker.work(once=True, slots=1):
        pass
    few = Sweep(toy("d=2,3"))
    assert [outcome.header.config["seeds"] for outcome in few.look().outcomes] == [2, 2]
    assert few.look().ended and few.look().metrics == ("toy.recovered", "toy.exact")
    runs.delete(runs.headers(TOY)[0])
    many = Sweep(toy("d=2,3", seeds=2))
    assert sorted(outcome.status for outcome in many.look().outcomes) == [DONE, MISSING]
    assert "no longer in the cache" in "".join(outcome.message for outcome in many.look().outcomes)
    many.ask()
    assert sorted(outcome.status for outcome in many.look().outcomes) == [DONE, QUEUED]


def test_a_run_that_can_never_be_kept_is_a_failed_cell(runs):
    Sweep(toy("d=2")).ask()
    worker.work(once=True, slots=1)
    runs.limit = 10
    sweep = Sweep(toy("d=2,3"))
    sweep.ask()
    outcomes = sweep.look().outcomes
    assert [outcome.status for outcome in outcomes] == [DONE, FAILED]
    assert "ICL_CACHE_LIMIT" in outcomes[1].message and queue.states()[-1].status == "done"


def test_it_tells_how_long_it_takes_and_can_be_cancelled(runs):
    sweep = Sweep(toy("d=2,3,4"))
    assert sweep.cost() == (3, None)  # no run tells
    info = {"seconds": 10.0, "metrics": [], "device": device.describe()}
    runs.save(TOY, toy("d=9").cells[0].config, {}, info)
    count, seconds = sweep.cost()
    assert count == 3 and 20 < seconds < 40
    sweep.ask()
    look = sweep.look(3)
    assert look.counts == {QUEUED: 3} and look.seconds_left == pytest.approx(seconds / 3)
    assert sweep.look(100).seconds_left == pytest.approx(seconds / 3)
    sweep.cancel()
    assert sweep.look().counts == {MISSING: 3} and sweep.look().ended


def test_single_runs_go_before_those_of_a_sweep(runs):
    Sweep(toy("d=2,3,4")).ask()
    single = queue.submit(Request(TOY, toy("d=9").cells[0].config))
    hurried = queue.submit(Request(TOY, toy("d=4").cells[0].config))
    assert {job.key for job in queue.states()[:2]} == {single, hurried}
    assert [job.position for job in queue.states()] == [1, 2, 3, 4]
    assert key_of(TOY, toy("d=4").cells[0].config) == hurried


def test_a_run_that_somebody_else_began_and_left_is_asked_for_again(runs, monkeypatch):
    key = queue.submit(Request(TOY, toy("d=2").cells[0].config))
    train = spawn.ensure_workers

    def leave_once(count=None):
        monkeypatch.setattr(spawn, "ensure_workers", train)
        queue.unwatch(key, "a visitor")

    monkeypatch.setattr(spawn, "ensure_workers", leave_once)
    assert main(["sweep", TOY, "--over", "d=2", "--set", "steps=20"]) == 0 and runs.trained == 1


def test_a_refused_sweep_asks_for_nothing(runs, capsys):
    assert main(["sweep", TOY, "--over", "d=1,65"]) == 2
    assert "d must be a whole number from 1 to 64, got 65" in capsys.readouterr().err
    assert not queue.states()
    assert main(["sweep", TOY, "--over", "d=2", "--jobs", "0"]) == 2 and not queue.states()
