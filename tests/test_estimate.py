"""The time a run takes is estimated from the runs that are known, the nearest first."""

import dataclasses
import json

import pytest
from house import TOY, config

from icl_core import registry
from icl_core.jobs import estimate
from icl_core.jobs.estimate import FIGURES, PresetSeconds, estimate_seconds, know_pace, machine_pace
from icl_core.jobs.folder import jobs_folder
from icl_core.machine import device, pace
from icl_core.machine.pace import MOST_PRODUCTS, Pace
from icl_core.runs import store
from icl_core.runs.disk import write_whole
from icl_core.runs.request import Request

pytestmark = pytest.mark.usefixtures("runs")

PACE = Pace(0.03, 0.01)
EXPERIMENT = registry.experiment(TOY)
FIRST = EXPERIMENT.presets[0]


def ship(**seconds_per_cost: float) -> None:
    """Write the seconds of presets, given the seconds of a unit of cost by the preset's name."""
    costs = {preset.name: EXPERIMENT.cost(preset.config) for preset in EXPERIMENT.presets}
    seconds = {name: per_cost * costs[name] for name, per_cost in seconds_per_cost.items()}
    estimate.write_preset_seconds(PresetSeconds(PACE, {TOY: seconds}))


def keep(runs, settings, seconds_per_cost: float, **info) -> None:
    """Keep a run that took so many seconds a unit of cost here."""
    seconds = seconds_per_cost * EXPERIMENT.cost(settings)
    runs.save(TOY, settings, {}, {"seconds": seconds, "device": device.describe(), **info})


def speed(settings) -> float:
    """Return the estimated seconds of a unit of cost."""
    return (estimate_seconds(Request(TOY, settings)) - FIGURES) / EXPERIMENT.cost(settings)


def set_pace(measured: Pace) -> None:
    write_whole(jobs_folder() / "machine_pace.json", json.dumps(measured._asdict()).encode())


def test_nothing_is_estimated_where_nothing_is_known(runs):
    assert estimate_seconds(Request(TOY, config())) is None
    runs.ship(TOY, config(), {}, {"seconds": 9.0, "device": device.describe()})
    assert estimate_seconds(Request(TOY, config())) is None  # on which machine was that?


def test_an_estimate_scales_with_cost(runs):
    keep(runs, config(), 100.0)
    assert speed(config()) == pytest.approx(100) == pytest.approx(speed(config(steps=40)), rel=0.01)


def test_the_nearest_runs_count_most(runs):
    keep(runs, config(d=2), 1.0)
    keep(runs, config(d=60), 100.0)
    assert speed(config(d=3)) < 1.1 and speed(config(d=59)) > 90


def test_a_run_made_here_counts_more_than_a_preset(runs):
    ship(**{FIRST.name: 100.0})
    assert speed(config(seed=3)) == pytest.approx(100, rel=1e-3)
    keep(runs, FIRST.config, 1.0)
    assert speed(config(seed=3)) < 10


def test_a_training_in_compiled_segments_is_faster_than_the_presets_were(runs, monkeypatch):
    ship(**{FIRST.name: 12.0})
    compiler: list[str | None] = ["0.60"]
    monkeypatch.setattr(estimate.segments, "compiler", lambda experiment, config: compiler[0])
    assert speed(config(seed=3)) == pytest.approx(12 / estimate.SEGMENTS, rel=1e-3)
    keep(runs, config(seed=1), 1.0, packages={"numba": "0.60"})
    assert speed(config(seed=1)) == pytest.approx(1, rel=1e-2)
    compiler[0] = None  # switched off, or for another experiment
    assert speed(config(seed=1)) == pytest.approx(estimate.SEGMENTS, rel=1e-2)


def test_a_run_of_another_device_is_not_known(runs):
    keep(runs, config(seed=1), 100.0, device="another")
    assert estimate_seconds(Request(TOY, config(seed=2))) is None
    keep(runs, config(d=64), 2.0)
    assert speed(config(seed=2)) == pytest.approx(2)


def test_a_machine_of_half_the_pace_takes_twice_as_long():
    ship(**{FIRST.name: 10.0})
    assert machine_pace() is None and speed(FIRST.config) == pytest.approx(10, rel=1e-3)
    set_pace(Pace(2 * PACE.small, 2 * PACE.products))
    assert speed(FIRST.config) == pytest.approx(20, rel=1e-3)


def test_products_and_small_operations_are_converted_apart():
    """Ten seconds, of which 300 giga-operations at 10 ms each take three."""
    assert PACE.converted(10.0, 300.0, PACE) == pytest.approx(10)
    assert PACE.converted(10.0, 300.0, Pace(0.03, 0.02)) == pytest.approx(13)
    assert PACE.converted(10.0, 300.0, Pace(0.06, 0.01)) == pytest.approx(17)
    # more operations than the seconds can hold
    most = 10 * (2 * MOST_PRODUCTS + 1 - MOST_PRODUCTS)
    assert PACE.converted(10.0, 1e6, Pace(0.03, 0.02)) == pytest.approx(most)


def test_a_pace_is_of_one_thread_and_a_warm_machine(monkeypatch):
    """Neither the first calls count nor the slower ones."""
    cold = [0.01] * pace.WARM_UP
    seconds = iter([*cold, 0.3, 0.2, 0.1, *cold, 2.0, 1.0, 3.0])
    clock = [0.0]

    def work() -> None:
        clock[0] += next(seconds)

    monkeypatch.setattr(pace.time, "process_time", lambda: clock[0])
    monkeypatch.setattr(pace, "_small_operations", lambda: work)
    monkeypatch.setattr(pace, "_products", lambda: work)
    threads: list[int] = []
    monkeypatch.setattr(device, "set_threads", lambda threads_=1: threads.append(threads_))
    measured = pace.measure_pace()
    operations = pace.PRODUCTS * 2 * pace.ROWS * pace.WIDTH**2 / 1e9
    assert measured == pytest.approx((1.0, 0.1 / operations)) and threads == [1]


def test_the_least_pace_is_kept(monkeypatch):
    """A machine with other things to do is slower than it is."""
    paces = iter((Pace(0.1, 0.2), Pace(0.3, 0.1), Pace(0.05, 0.4)))
    monkeypatch.setattr(estimate, "measure_pace", lambda: next(paces))
    known_paces = []
    for _ in range(3):
        know_pace()
        known_paces.append(machine_pace())
    assert known_paces == [(0.1, 0.2), (0.1, 0.1), (0.05, 0.1)]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"pace": {"small": 1}, "presets": {}}',
        b'{"pace": {"small": 1, "products": 0}, "presets": {}}',
        b'{"pace": {"small": 1, "products": 1}, "presets": {"toy.walk": {"short": "x"}}}',
        b'{"pace": {"small": 1, "products": 1}, "presets": {"toy.walk": {"short": NaN}}}',
        b'{"pace": {"small": 1, "products": 1}, "presets": []}',
    ],
)
def test_a_file_of_seconds_that_cannot_be_read_says_nothing(content):
    write_whole(store.default().shipped / "seconds.json", content)
    assert estimate.load_preset_seconds() is None
    assert estimate_seconds(Request(TOY, config())) is None


def test_what_is_written_is_read():
    measured = PresetSeconds(PACE, {TOY: {"short": 1.23456}})
    estimate.write_preset_seconds(measured)
    assert estimate.load_preset_seconds() == PresetSeconds(PACE, {TOY: {"short": 1.235}})


def test_what_the_build_has_trained_is_written_for_its_presets(runs):
    set_pace(PACE)
    ship(**{preset.name: 2.0 for preset in EXPERIMENT.presets[1:]})
    before = estimate.load_preset_seconds().by_experiment[TOY]
    seeds = dataclasses.replace(FIRST.config, seeds=3, steps=2 * FIRST.config.steps)
    estimate.note_preset_seconds(TOY, seeds, 6.0, [FIRST.name])
    written = estimate.load_preset_seconds()
    share = 6.0 * EXPERIMENT.cost(FIRST.config) / EXPERIMENT.cost(seeds)  # half
    assert written.by_experiment[TOY] == {**before, FIRST.name: pytest.approx(share, rel=1e-3)}
    set_pace(Pace(*(2 * seconds for seconds in PACE)))  # a machine of half the pace
    estimate.note_preset_seconds(TOY, seeds, 6.0, [FIRST.name])
    slower = estimate.load_preset_seconds()
    assert slower.pace == PACE
    assert slower.by_experiment[TOY][FIRST.name] == pytest.approx(share / 2, rel=1e-3)
