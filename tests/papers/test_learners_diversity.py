"""One layer of linear attention with k training tasks: the closed form beside sampled prompts, its
rank and its limit, and Bayes over the training tasks."""

import numpy as np
import pytest
import torch

from icl_core import registry
from icl_core.contract.experiment import Run
from icl_core.papers.learners.diversity import one_layer
from icl_core.papers.learners.diversity.run import compute
from icl_core.papers.learners.diversity.settings import Config, View
from tests.recorder import Recorder

D = 3
N = 5
NOISE = 0.4


def tasks(count, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, D, generator=generator, dtype=torch.float64)


def sums(w, seed):
    """b and the task of many prompts, each of one of the tasks."""
    generator = torch.Generator().manual_seed(seed)
    which = torch.randint(len(w), (200_000,), generator=generator)
    x = torch.randn(len(which), N, D, generator=generator, dtype=torch.float64)
    noise = torch.randn(len(which), N, generator=generator, dtype=torch.float64)
    y = torch.einsum("pnd,pd->pn", x, w[which]) + NOISE * noise
    return torch.einsum("pnd,pn->pd", x, y) / N, w[which]


@pytest.mark.parametrize("count", [1, 2, 7])
def test_the_closed_form_is_the_error_on_sampled_prompts(count):
    w = tasks(count)
    gamma = one_layer.optimum(w, N, NOISE)
    b, target = sums(w, 1)
    errors = (b @ gamma.T - target).square().sum(1)
    expected = one_layer.error_on(w, gamma, N, NOISE)
    assert abs(float(errors.mean()) - expected) < 4 * float(errors.std()) / len(errors) ** 0.5


@pytest.mark.parametrize("count", [1, 2, 7])
def test_no_other_matrix_is_better(count):
    w = tasks(count)
    gamma = one_layer.optimum(w, N, NOISE)
    least = one_layer.error_on(w, gamma, N, NOISE)
    generator = torch.Generator().manual_seed(2)
    for _ in range(20):
        other = gamma + 0.05 * torch.randn(D, D, generator=generator, dtype=torch.float64)
        assert one_layer.error_on(w, other, N, NOISE) > least - 1e-12


def test_its_rank_is_the_number_of_tasks_and_its_limit_a_multiple_of_the_identity():
    for count in (1, 2):
        values = torch.linalg.svdvals(one_layer.optimum(tasks(count), N, NOISE))
        assert int((values > 1e-12).sum()) == count
    many = one_layer.optimum(tasks(200_000), N, NOISE)
    limit = one_layer.limit(D, N, NOISE) * torch.eye(D, dtype=torch.float64)
    assert float((many - limit).abs().max()) < 0.01


def test_fitting_to_many_prompts_finds_the_optimum():
    w = tasks(7)
    b, target = sums(w, 3)
    generator = torch.Generator().manual_seed(4)
    query = torch.randn(len(b), D, generator=generator, dtype=torch.float64)
    fitted = one_layer.fitted(b, query, (query * target).sum(1))
    torch.testing.assert_close(fitted, one_layer.optimum(w, N, NOISE), atol=0.02, rtol=0)


@pytest.mark.parametrize("config", [Config(d=2, n=2, prompts=256, seeds=2), Config(d=4, n=8)])
def test_a_run_is_measured_and_drawn_at_every_number_of_tasks(config):
    run = Run(config, compute(config, Recorder()))
    experiment = registry.experiment("learners.diversity")
    assert experiment.metrics(run)
    assert np.isfinite(run["curve/memory_fresh"]).all()
    # who knows the tasks by heart is better on them than the layer, from one task on
    assert (run["curve/memory_trained"] <= run["curve/optimum_trained"] + 0.02).all()
    for snapshot in range(len(run.snapshot_steps)):
        view = View(snapshot=snapshot)
        assert experiment.headline(run, view)
        for drawing in experiment.drawings:
            drawing.panel(run, view)
