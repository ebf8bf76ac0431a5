"""The time a run takes is foretold by the runs that are known, the nearest first."""

import json

import pytest
from house import TOY, house

from icl_core import registry
from icl_core.jobs.estimate import (
    FIGURES,
    SHIPPED_PACE,
    estimate_seconds,
    machine_pace,
    measure_pace,
)
from icl_core.jobs.folder import jobs_folder
from icl_core.machine import device
from icl_core.runs.disk import write_whole


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    with house(tmp_path, monkeypatch) as made:
        yield made


def config(**values):
    return registry.experiment(TOY).config(**{"steps": 20, **values})


def keep(way, made, speed: float, **info):
    """A run that took `speed` seconds a unit of cost."""
    seconds = speed * registry.experiment(TOY).cost(made)
    way(TOY, made, {}, {"seconds": seconds, "device": device.describe(), **info})


def speed(made) -> float:
    """The seconds a unit of cost that are foretold."""
    return (estimate_seconds(TOY, made) - FIGURES) / registry.experiment(TOY).cost(made)


def test_nothing_is_foretold_where_nothing_is_known():
    assert estimate_seconds(TOY, config()) is None


def test_it_scales_with_cost(runs):
    keep(runs.ship, config(), 100.0)
    assert speed(config()) == pytest.approx(100) == pytest.approx(speed(config(steps=40)), rel=0.01)


def test_the_nearest_runs_count_most(runs):
    keep(runs.ship, config(d=2), 1.0)
    keep(runs.ship, config(d=60), 100.0)
    assert speed(config(d=3)) < 1.1 and speed(config(d=59)) > 90


def test_a_run_made_here_counts_more_than_a_shipped_one(runs):
    keep(runs.ship, config(seed=1), 100.0)
    keep(runs.save, config(seed=2), 1.0)
    assert speed(config(seed=3)) < 10


def test_runs_of_this_device_come_first(runs):
    keep(runs.ship, config(seed=1), 100.0, device="another")
    assert speed(config(seed=2)) == pytest.approx(100)
    keep(runs.ship, config(d=64), 2.0)
    assert speed(config(seed=2)) == pytest.approx(2)


def test_a_machine_of_half_the_pace_takes_twice_as_long(runs):
    keep(runs.ship, config(), 10.0)
    assert machine_pace() is None and speed(config()) == pytest.approx(10)
    record = json.dumps({"seconds": 2 * SHIPPED_PACE})
    write_whole(jobs_folder() / "pace.json", record.encode())
    assert speed(config()) == pytest.approx(20)


def test_the_pace_is_measured_once(monkeypatch):
    assert device.pace() > 0
    found = iter((0.1, 0.2))
    monkeypatch.setattr(device, "pace", lambda: next(found))
    measure_pace()
    measure_pace()
    assert machine_pace() == 0.1
