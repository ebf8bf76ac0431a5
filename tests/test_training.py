"""The loop: equal to torch's own, resumable bit for bit, and stopped where it diverges."""

import numpy as np
import pytest
import torch

from icl_core.contract.experiment import Diverged
from icl_core.training import loop
from tests.recorder import Interrupted


def quadratic(rate: float, adam: bool) -> loop.Problem:
    """Least squares on fresh batches: w in 3 dimensions towards (1, 2, 3)."""
    generator = torch.Generator().manual_seed(0)
    w = torch.zeros(3)

    def gradient(step):
        x = torch.randn(16, 3, generator=generator)
        residual = x @ (w - torch.tensor([1.0, 2.0, 3.0]))
        return {"w": x.T @ residual / 16}, {"in_context_loss": float(residual.square().mean())}

    def optimiser(parameters):
        if adam:
            return torch.optim.AdamW(parameters, rate)
        return torch.optim.SGD(parameters, rate, momentum=0.9)

    return loop.Problem(
        {"w": w}, gradient, lambda step: {"norm": float(w.norm())}, optimiser, (generator,)
    )


def train(problem, steps=40, resumed=None, report=lambda state, save: None):
    return loop.train(problem, steps, loop.evaluations(steps, 4, 10), resumed, report)


@pytest.mark.parametrize("adam", [False, True])
def test_it_converges_and_records(adam):
    problem = quadratic(0.1, adam)
    state = train(problem, 200)
    assert torch.allclose(problem.parameters["w"], torch.tensor([1.0, 2.0, 3.0]), atol=0.2)
    assert len(state.batch["in_context_loss"]) == 200
    assert state.curve["step"] == loop.evaluations(200, 4, 10)
    assert len(state.snapshots) == len(state.curve["step"])


@pytest.mark.parametrize("adam", [False, True])
@pytest.mark.parametrize("stop", [0, 1, 17, 39])
def test_a_resumed_training_equals_an_uninterrupted_one_bit_for_bit(adam, stop):
    uninterrupted = quadratic(0.1, adam)
    expected = train(uninterrupted)
    checkpoint = {}

    def interrupt(state, save):
        if state.step == stop:
            checkpoint.update(save())
            raise Interrupted

    with pytest.raises(Interrupted):
        train(quadratic(0.1, adam), report=interrupt)
    resumed = quadratic(0.1, adam)
    state = train(resumed, resumed=checkpoint)
    assert torch.equal(resumed.parameters["w"], uninterrupted.parameters["w"])
    assert state.batch == expected.batch
    assert state.curve == expected.curve
    for one, other in zip(state.snapshots, expected.snapshots, strict=True):
        assert np.array_equal(one["w"], other["w"])


def test_divergence_names_the_step():
    with pytest.raises(Diverged, match=r"diverged at step \d+: .*; try a smaller learning rate"):
        train(quadratic(1e9, False), 200)


def test_a_parameter_without_gradient_stays():
    problem = quadratic(0.1, False)
    frozen = loop.Problem(
        problem.parameters,
        lambda step: ({}, problem.gradient(step)[1]),
        problem.evaluate,
        problem.optimiser,
        problem.generators,
    )
    train(frozen)
    assert torch.equal(problem.parameters["w"], torch.zeros(3))


def test_curves_of_several_seeds_have_seeds_first_and_are_nan_where_no_training_has_come():
    curve = {"step": [0, 1], "loss": [[1.0, 2.0], [3.0, 4.0]], "d": [5.0, 6.0]}
    state = loop.State(1, {"loss": [[7.0, 8.0]]}, curve)
    curves = state.curves()
    assert curves["curve/step"].tolist() == [0, 1]
    assert curves["curve/loss"].tolist() == [[1, 3], [2, 4]]
    longer = state.curves([0, 1, 2])
    assert longer["curve/step"].tolist() == [0, 1, 2] and longer["curve/d"][:2].tolist() == [5, 6]
    assert longer["curve/loss"].shape == (2, 3) and np.isnan(longer["curve/loss"][:, 2]).all()
    assert state.batches()["batch/loss"].tolist() == [[7], [8]]
    assert list(loop.State().curves()) == ["curve/step"] and loop.State().batches() == {}


def test_what_is_kept_of_snapshots():
    snapshots = [{"w": np.full((2, 3), value, np.float32)} for value in (1 / 3, 2 / 3, 1)]
    state = loop.State(
        curve={"step": [0, 5, 9], "loss": [[3, 5], [2, 4], [1, 1]]}, snapshots=snapshots
    )
    arrays = state.snapshot_arrays([0, 2], np.float16)
    assert arrays["snapshot/step"].tolist() == [0, 9]
    assert arrays["snapshot/w"].shape == (2, 2, 3) and arrays["snapshot/w"].dtype == np.float16
    assert arrays["snapshot/w"][1].tolist() == np.ones((2, 3)).tolist()
    assert [curve.tolist() for curve in state.moving("loss")] == [[4, 3, 1]]
    assert arrays["final/w"].dtype == np.float32
    assert np.array_equal(arrays["final/w"], state.snapshots[-1]["w"])


def test_the_cosine_falls_from_one_to_zero_after_its_warm_up():
    plain = loop.cosine(100)
    warm = loop.cosine(100, 0.2)
    assert plain(0) == 1 and plain(50) == pytest.approx(0.5) and plain(100) == pytest.approx(0)
    assert warm(0) == pytest.approx(0.05) and warm(9) == pytest.approx(plain(9) / 2)
    assert [warm(step) for step in (19, 60, 100)] == [plain(step) for step in (19, 60, 100)]


def test_evaluations_are_twice_as_far_apart_whenever_a_training_is_twice_as_long():
    assert loop.evaluations(70, 4, 4) == [0, 1, 2, 4, 5, 8, 12, 16, 24, 32, 48, 64, 70]


@pytest.mark.parametrize("steps", [1, 2, 10, 300, 2000])
def test_evaluations_cover_both_ends_and_are_nested(steps):
    at = loop.evaluations(steps, 5, 20)
    assert at[0] == 0 and at[-1] == steps and at == sorted(set(at))
    for times in (2, 5, 10):
        longer = loop.evaluations(times * steps, 5, 20)
        assert set(at[:-1]) <= set(longer)
        doublings = np.log2(max(1, times * steps / 100))
        assert len(longer) < 25 + 10 * (1 + doublings)  # a few for each


def test_a_longer_training_at_a_constant_rate_begins_with_the_shorter_one_bit_for_bit():
    short = train(quadratic(0.1, True), 40)
    long = train(quadratic(0.1, True), 80)
    for at, step in enumerate(short.curve["step"]):
        same = long.curve["step"].index(step)
        assert short.curve["norm"][at] == long.curve["norm"][same]
        assert np.array_equal(short.snapshots[at]["w"], long.snapshots[same]["w"])


def test_snapshots_lie_where_the_curves_move():
    steps = np.arange(100)
    late = 1 / (1 + np.exp(-(steps - 70) / 2.0))  # all of it between 60 and 80
    at = loop.spread([late], 24)
    assert at[0] == 0 and at[-1] == 99 and len(at) == 24 and at == sorted(set(at))
    assert sum(60 <= step <= 80 for step in at) >= 12
    assert max(np.diff(at)) < 20  # time counts, too
    both = loop.spread([late, 1 - np.exp(-steps / 3.0)], 24)
    assert sum(step < 10 for step in both) >= 6 and sum(60 <= step <= 80 for step in both) >= 6


def test_few_evaluations_are_all_kept_and_a_curve_that_never_moves_is_no_trouble():
    assert loop.spread([np.arange(5.0)], 24) == [0, 1, 2, 3, 4]
    assert loop.spread([np.zeros(50), np.full(50, np.nan)], 6)[::5] == [0, 49]
