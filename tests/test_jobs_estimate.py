"""How long a run will take, foretold from those that were made here; and the machine's pace."""

import math

import pytest
from house import TOY, config

from icl_core import registry
from icl_core.contract import settings_io
from icl_core.jobs import (
    estimate,
)
from icl_core.jobs.estimate import FIGURES, NEAR, TRAINED_HERE, PresetSeconds
from icl_core.jobs.folder import jobs_folder
from icl_core.machine import device
from icl_core.machine.pace import Pace
from icl_core.runs.disk import write_whole
from icl_core.runs.header import stored_settings
from icl_core.runs.request import Request

pytestmark = pytest.mark.usefixtures("runs")


def test_what_is_foretold_is_the_weighted_mean_of_the_logarithms(runs):
    """By hand: each known run counts by the inverse square of its distance, one trained here four
    times as much as a preset's."""
    experiment = registry.experiment(TOY)
    settings = config(d=10)
    preset = experiment.presets[0]
    trainings = [(preset.config, 3.0), (config(d=30), 50.0)]
    estimate.write_preset_seconds(PresetSeconds(Pace(1.0, 1.0), {TOY: {preset.name: 3.0}}))
    runs.save(TOY, config(d=30), {}, {"seconds": 50.0, "device": device.describe()})
    distances = [
        settings_io.distance(experiment.config, stored_settings(settings), stored_settings(trained))
        for trained, _ in trainings
    ]
    weights = [
        weight / (distance + NEAR) ** 2
        for weight, distance in zip((1.0, TRAINED_HERE), distances, strict=True)
    ]
    logs = [math.log(seconds / experiment.cost(trained)) for trained, seconds in trainings]
    pace = math.exp(sum(map(lambda w, log: w * log, weights, logs)) / sum(weights))
    expected = FIGURES + pace * experiment.cost(settings)
    assert estimate.estimate_seconds(Request(TOY, settings)) == pytest.approx(expected, rel=1e-9)


def test_runs_made_together_do_not_count_for_one_that_goes_alone_where_others_are_known(runs):
    info = {"device": device.describe()}
    runs.save(TOY, config(seed=1), {}, {**info, "seconds": 1.0, "together": 4})
    assert estimate.estimate_seconds(Request(TOY, config())) == pytest.approx(1.0 + FIGURES)
    runs.save(TOY, config(seed=2), {}, {**info, "seconds": 9.0})
    assert estimate.estimate_seconds(Request(TOY, config())) == pytest.approx(9.0 + FIGURES)
    (both,) = estimate.estimates(TOY, [config()])
    assert both == pytest.approx(3.0 + FIGURES)  # the geometric mean


def test_what_one_waits_for_a_run_that_goes_alone_is_not_its_processor_time(runs):
    info = {"device": device.describe(), "seconds": 16.0, "waited": 9.0}
    runs.save(TOY, config(seed=1), {}, info)
    assert estimate.estimate_seconds(Request(TOY, config())) == pytest.approx(9.0 + FIGURES)
    (beside_others,) = estimate.estimates(TOY, [config()])
    assert beside_others == pytest.approx(16.0 + FIGURES)  # each then has one core
    assert runs.headers(TOY)[0].waited == 9.0


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"seconds": 0.1}',
        b'{"small": "x", "products": 1}',
        b'{"small": null, "products": 1}',
    ],
)
def test_a_pace_that_cannot_be_read_is_none(content):
    write_whole(jobs_folder() / "machine_pace.json", content)
    assert estimate.machine_pace() is None


def test_a_pace_is_forgotten_after_a_day(monkeypatch):
    paces = iter((Pace(1.0, 1.0), Pace(3.0, 1.0), Pace(2.0, 1.0)))
    monkeypatch.setattr(estimate, "measure_pace", lambda: next(paces))
    path = jobs_folder() / "machine_pace.json"
    for age, expected in ((0, 1.0), (estimate.OLD - 100, 1.0), (estimate.OLD + 100, 2.0)):
        if path.exists():
            changed = path.stat().st_mtime
            monkeypatch.setattr(
                estimate.time, "time", lambda changed=changed, age=age: changed + age
            )
        estimate.know_pace()
        assert estimate.machine_pace() == (expected, 1.0)
