"""What metrics make of numbers that shipped runs do not all have: crossings, powers, the seed that
counts."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from test_birth_claims import run_with

from icl_core import registry
from icl_core.contract.experiment import Run
from icl_core.papers.birth.induction import claims
from icl_core.papers.birth.induction.claims import accuracy, section_5
from icl_core.papers.birth.laboratory.claims import _farthest
from icl_core.papers.gdssm.comparison import claims as comparison
from icl_core.papers.gdssm.layer import claims as layer
from icl_core.papers.gdssm.layer.losses import crossing
from icl_core.papers.gdssm.nonlinear import claims as nonlinear
from icl_core.papers.memformers.learned.claims import power, power_error
from tests.recorder import Recorder


@pytest.mark.parametrize("more", [True, False])
def test_only_where_more_training_could_change_it_must_a_training_have_ended(more):
    run = run_with(falling=True)
    missed = section_5.metric(run, claims.GLOBAL_FIRST, -1.0, 0.5, more=more, reason="so")
    assert bool(missed.unfinished) == more
    assert (missed.value, missed.error, missed.reason) == (-1.0, 0.5, "so")
    holds = section_5.metric(run, claims.GLOBAL_FIRST, 1.0, 0.5, more=more, reason="so")
    assert (holds.value, holds.error, holds.unfinished, holds.reason) == (1.0, 0.5, "", "")


def test_the_worst_seeds_accuracy_counts_with_its_own_error():
    run = run_with()
    run.tensors["evaluated/accuracy"][:] = (0.97, 0.2, 0.96)
    run.tensors["evaluated/accuracy_error"][:] = (0.01, 0.02, 0.03)
    for metric in accuracy.measure_accuracy(run):
        assert (metric.value, metric.error) == (0.2, 0.02)


def test_the_width_where_the_mean_over_seeds_is_farthest_from_one_counts():
    ratios = np.array([[1.1, 0.5, 1.3], [1.1, 0.9, 0.9], [0.8, 0.7, 1.0]])
    np.testing.assert_array_equal(_farthest(ratios), ratios[:, 1])
    np.testing.assert_array_equal(_farthest(ratios[:, ::-1]), ratios[:, 1])


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ([0.5, 0.9, 1.3, 1.5], 1.25),  # from −0.1 to 0.3: a quarter of the way from 1 to 2
        ([1.5, 0.9, 1.1, 1.5], 1.5),  # where it is crossed last
        ([1.5, 1.2, 1.1, 1.5], 0.0),
        ([0.5, 0.9, 0.8, 1.0], None),
        ([1.0, 1.5, 1.5, 1.5], 0.0),
    ],
)
def test_the_scale_from_which_on_a_loss_is_above_that_of_zero(losses, expected):
    scale = crossing(np.arange(4.0), np.array(losses), np.ones(4))
    assert np.isnan(scale) if expected is None else scale == pytest.approx(expected)


def test_the_seed_that_is_farthest_from_one_counts_on_either_side():
    for ratios, expected in (([1.1, 0.7, 1.2], -0.3), ([1.1, 0.9, 1.2], 0.2)):
        run = Run(None, {"evaluated/ratio": np.array(ratios)})
        assert layer.worst_ratio(run) == pytest.approx(expected)


def test_a_layer_that_is_far_from_its_construction_says_which_part_is():
    experiment = registry.experiment("gdssm.layer")
    config = experiment.config(steps=20, f=3, N=5, batch=16)
    run = Run(config, experiment.run(config, Recorder()))
    reasons = {metric.claim.id: metric.reason for metric in layer.measure(run)}
    reason = reasons.pop(layer.WEIGHTS.id)
    assert reason.startswith("The farthest entry of each part: ")
    assert all(f"{part.name} " in reason for part in layer.compared(run))
    assert not any(reasons.values())


def test_of_rates_the_means_of_rows_are_compared_and_of_all_else_the_entries():
    trained = torch.tensor([[[1.0, 3.0], [2.0, 2.0]]])
    tensors = {"trained": trained, "constructed": torch.full((1, 2, 2), 2.0)}
    for name, distance in (("Q", 2.0), ("rate", 0.0)):
        assert layer.farthest(SimpleNamespace(name=name, unit=0.5, **tensors)) == distance


def test_a_power_is_that_of_the_mean_excess_and_its_error_the_jackknifes():
    sizes = np.array([10.0, 100.0, 1000.0])
    excess = np.stack([scale * sizes**-0.5 for scale in (1.0, 2.0, 4.0)])
    tensors = {
        "size/prompts": sizes,
        "evaluated/loss": np.stack([np.full((3, 3), 9.0), excess + 1], -1),
        "endless/loss": np.ones((3, 2)),
    }
    assert power(Run(None, tensors), 2) == pytest.approx(-0.5)
    assert power_error(Run(None, tensors), 2) == pytest.approx(0.0, abs=1e-12)
    tensors["evaluated/loss"][0, :, 1] = 1 + sizes**-1.0
    excess = tensors["evaluated/loss"][:, :, 1] - 1
    without = [np.delete(excess, seed, 0).mean(0) for seed in range(3)]  # one seed at a time
    slopes = [np.polyfit(np.log(sizes), np.log(mean), 1)[0] for mean in without]
    assert power_error(Run(None, tensors), 2) == pytest.approx((2 * np.var(slopes)) ** 0.5)
    fewer = {name: array[:2] for name, array in tensors.items()} | {"size/prompts": sizes}
    assert power_error(Run(None, fewer), 2) is None
    tensors["evaluated/loss"][:, 1:, 1] = 0.0  # of one size alone is there an excess
    assert np.isnan(power(Run(None, tensors), 2))


def test_a_loss_over_anothers_is_taken_seed_by_seed():
    losses = {"a": [1.0, 2.0, 4.0], "b": [1.0, 1.0, 2.0]}
    run = Run(None, {f"evaluated/{id}": np.array(by_seed) for id, by_seed in losses.items()})
    np.testing.assert_allclose(nonlinear.ratios(run, "a", "b"), [0, 1, 1])
    assert nonlinear.median_over(run, "a", "b", 0.0) == (1.0, None)  # three seeds: no interval


@pytest.mark.parametrize(
    ("rate", "decided", "phrase"),
    [(0.1, 1, "0.1, is the smallest"), (0.9, 1, "0.9, is the largest"), (0.5, 1, ""), (0.9, 0, "")],
)
def test_a_rate_at_the_edge_of_those_tried_is_said(rate, decided, phrase):
    tensors = {
        "chosen/rate": np.array([0.5, rate]),
        "chosen/decided": np.array([1, decided]),
        "tuned/rate": np.array([0.1, 0.5, 0.9]),
    }
    sentence = comparison.at_the_edge(Run(None, tensors), SimpleNamespace(place=1))
    assert (phrase in sentence) if phrase else not sentence
