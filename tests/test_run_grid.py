"""A grid of trainings: its phases, and its results as arrays."""

import numpy as np
import pytest

from icl_core.training import loop, phases
from icl_core.training.run_grid import RunGrid, to_longest
from tests.recorder import Recorder

GRID = RunGrid(lambda seed, d: f"{d} {seed}", {"seed": range(2), "d": (16, 32, 64)})


def value(seed: int, d: int) -> np.ndarray:
    return np.array([seed, d], np.float32)


def results(*points: tuple[int, int], reached: int = 4) -> phases.Made:
    """What trainings have come to, in the given order."""
    return {
        GRID.name(seed=seed, d=d): {
            "curve/step": np.arange(reached),
            "curve/loss": np.full(reached, 100 * seed + d, np.float32),
            "batch/loss": np.full((2, 2 * reached), 100 * seed + d, np.float32),
            "evaluated/pair": value(seed, d),
        }
        for seed, d in points
    }


ALL = [(seed, d) for seed in range(2) for d in (16, 32, 64)]


def test_a_phase_a_point_the_last_axis_first():
    trained = []

    def train(resumed, report, *, seed, d):
        trained.append((seed, d))
        return {"evaluated/pair": value(seed, d)}

    plan = GRID.phases(10, train, lambda seed, d: f"d = {d}, seed {seed + 1}")
    assert [phase.name for phase in plan] == ["16 0", "32 0", "64 0", "16 1", "32 1", "64 1"]
    assert plan[4].label == "d = 32, seed 2" and plan[4].steps == 10
    state = loop.State(step=1, curve={"step": [0], "loss": [2.0]})
    assert plan[0].curves(state)["curve/loss"].tolist() == [2]
    trainings = phases.run(plan, Recorder(), lambda results: {})
    assert trained == ALL
    pairs = GRID.stack(trainings, "evaluated/pair")
    assert pairs.shape == (2, 3, 2) and pairs.dtype == np.float32
    assert all(pairs[seed, (16, 32, 64).index(d)].tolist() == [seed, d] for seed, d in ALL)


def test_points_of_one_name_share_a_training():
    grid = RunGrid(
        lambda width, model: model if model == "own" else f"{model} {width}",
        {"width": (8, 16), "model": ("own", "other")},
    )
    plan = grid.phases(1, lambda resumed, report, **point: {}, lambda width, model: model)
    assert [phase.name for phase in plan] == ["own", "other 8", "other 16"]
    trainings = {phase.name: {"n": np.array(len(phase.name))} for phase in plan}
    assert grid.stack(trainings, "n").tolist() == [[3, 7], [3, 8]]


def test_a_fixed_axis_is_left_out():
    whole = GRID.stack(results(*ALL), "evaluated/pair")
    assert GRID.points(d=32) == [{"seed": 0, "d": 32}, {"seed": 1, "d": 32}]
    fixed = GRID.stack(results(*ALL), "evaluated/pair", d=32)
    np.testing.assert_array_equal(fixed, whole[:, 1])
    assert GRID.stack_all(results(*ALL), "evaluated").keys() == {"evaluated/pair"}


@pytest.mark.parametrize("begun", [1, 4, 6])
def test_curves_are_nan_where_nothing_is_reached(begun: int):
    part = results(*ALL[:begun], reached=3)
    curves = GRID.curves(part, {"curve": 5, "batch": 10})
    assert curves.keys() == {"curve/loss", "batch/loss"}
    assert curves["curve/loss"].shape == (2, 3, 5) and curves["batch/loss"].shape == (2, 3, 2, 10)
    assert curves["curve/loss"].dtype == np.float32
    reached = np.isfinite(curves["curve/loss"]).sum(-1).ravel()
    assert reached.tolist() == [3] * begun + [0] * (6 - begun)
    assert np.isfinite(curves["batch/loss"]).sum() == begun * 2 * 6


def test_curves_of_different_lengths_become_as_long_as_the_longest():
    short = (np.arange(2), np.ones((3, 2)))
    curves = to_longest({"a": short, "b": (np.arange(4), np.zeros((3, 4)))})
    assert curves["curve/step"].tolist() == [0, 1, 2, 3]
    assert np.isnan(curves["curve/a"][:, 2:]).all() and (curves["curve/a"][:, :2] == 1).all()
    assert to_longest({}) == {}
