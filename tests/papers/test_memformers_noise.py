"""Noise in the labels: the fast forms against attention over noisy labels, the expected loss
against sampled noise, the floor and ridge regression."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from icl_core.contract.experiment import Run
from icl_core.contract.knobs import BadSetting
from icl_core.in_context_regression import evaluate, gram, inverse_factor
from icl_core.papers.memformers.methods.iterates import solved
from icl_core.papers.memformers.methods.settings import LFOM, View
from icl_core.papers.memformers.methods.train import compute
from icl_core.papers.memformers.shared import baselines, model, test_set, variants
from icl_core.papers.memformers.shared.settings import Model as Config
from icl_core.papers.memformers.shared.task import (
    Batch,
    covariances,
    integrated,
    label_noise,
    roots,
)
from icl_core.papers.memformers.shared.token_form import forward, takes_whitened
from icl_core.papers.memformers.shared.train import Batches
from icl_core.papers.memformers.shared.variants import VARIANTS
from tests.recorder import Recorder

NOISY = [name for name, variant in VARIANTS.items() if not variant.needs_examples]
f64 = torch.float64


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random(config, seed=0):
    """Parameters far from the initial ones, float64."""
    source = generator(seed)
    return {
        name: 0.3 * torch.randn(tensor.shape, generator=source, dtype=f64)
        for name, tensor in variants.initial(config, source).items()
    }


def roots_in_f64(config):
    return torch.stack([covariance.root for covariance in covariances(config)])


@pytest.mark.parametrize("variant", NOISY)
def test_noisy_labels_of_tokens_are_noise_in_every_gradient(variant):
    config = Config(variant=variant, d=4, n=7, layers=3, noise=0.7)
    source = generator(1)
    U = torch.randn(4, 7, 6, generator=source, dtype=f64)
    target, query = torch.randn(2, 4, 6, generator=source, dtype=f64)
    epsilon = 0.7 * torch.randn(7, 6, generator=source, dtype=f64)
    pull = (U * epsilon).sum(1)[None, :, None] / 7
    batch = Batch(gram(U)[None], target[None, :, None], noise=pull)
    parameters = random(config)
    root = roots_in_f64(config)
    error = model.errors(parameters, config, root, batch)[0, :, 0]
    predictions = ((target - error) * query).sum(0)
    white = torch.cat([U, query[:, None]], 1).permute(2, 0, 1)  # [prompts, d, n + 1]
    X = white if takes_whitened(config) else root[0] @ white
    y = ((U * target[:, None]).sum(0) + epsilon).T
    passage = forward(parameters, config, root, X, y)
    torch.testing.assert_close(passage.predictions[-1], predictions, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("variant", ["lfom", "gd++"])
def test_the_expected_loss_is_the_mean_over_sampled_noise(variant):
    config = Config(variant=variant, d=3, n=5, layers=2, noise=4.0)
    parameters = {name: tensor.float() for name, tensor in random(config).items()}
    root = roots(config)
    source = generator(2)
    U = torch.randn(3, 5, 1, generator=source)
    S = gram(U)
    expected = test_set.losses(parameters, config, root, [(None, S)])[0, 0]
    count = 2**17
    examples = U.expand(-1, -1, count)
    target = torch.randn(1, 3, 1, count, generator=source)
    noise = label_noise(examples[None], 4.0, source)
    batch = Batch(S.expand(-1, -1, count)[None], target, noise=noise)
    losses = model.errors(parameters, config, root, batch).square().sum((1, 2))[0]
    error = float(losses.std() / count**0.5)
    assert float(losses.mean()) == pytest.approx(float(expected), abs=4 * error)
    plain = test_set.losses(parameters, replace(config, noise=0.0), root, [(None, S)])[0, 0]
    assert float(plain) < float(expected) - 5 * error  # noise matters


@pytest.mark.parametrize("objective", ["mean", "log"])
@pytest.mark.parametrize("query", [True, False])
def test_the_gradient_by_hand_is_autograds(objective, query):
    config = Config(variant="cgd", d=3, n=5, layers=3, noise=1.0, seeds=2)
    source = generator(3)
    U = torch.randn(2, 3, 5, 8, generator=source, dtype=f64)
    target = torch.randn(2, 3, 1, 8, generator=source, dtype=f64)
    x_query = torch.randn(2, 3, 8, generator=source, dtype=f64) if query else None
    noise = label_noise(U, 1.0, source).double()
    batch = Batch(torch.stack([gram(x) for x in U]), target, None, x_query, noise)
    parameters = random(config)
    root = roots_in_f64(config)
    loss, gradient = model.loss_and_gradient(parameters, config, root, batch, objective)
    leaves = {name: tensor.clone().requires_grad_() for name, tensor in parameters.items()}
    W = variants.steps(leaves, config, root)  # [seeds, L, L, d, d]
    error = target[:, :, 0]
    gradients = []
    for layer in range(3):
        gradients.append(torch.einsum("sijp,sjp->sip", batch.S, error) + noise[:, :, 0])
        for j, past in enumerate(gradients):
            error = error - torch.einsum("sij,sjp->sip", W[:, layer, j], past)
    squares = error.square().sum(1) if x_query is None else (error * x_query).sum(1).square()
    mean = squares.mean(1)
    torch.testing.assert_close(loss, mean.detach())
    minimised = mean.log() if objective == "log" else mean
    by_autograd = torch.autograd.grad(minimised.sum(), list(leaves.values()))
    for computed, expected in zip(gradient.values(), by_autograd, strict=True):
        torch.testing.assert_close(computed, expected, rtol=1e-8, atol=1e-10)


def test_integrated_noise_has_the_covariance_of_the_mean_noise():
    S = gram(torch.randn(3, 6, 10, generator=generator(4)))
    batch = integrated(S, share=0.4)
    assert batch.target.shape == (1, 3, 6, 10) and batch.noise is not None
    columns = batch.noise[0, :, 3:]
    covariance = torch.einsum("ikp,jkp->ijp", columns, columns)
    torch.testing.assert_close(covariance, 0.4 * S, rtol=1e-4, atol=1e-5)
    assert not batch.noise[0, :, :3].any() and not batch.target[0, :, 3:].any()


@pytest.mark.parametrize("batches", ["fresh", "fixed", "common", "resampled"])
def test_batches_have_noise_of_the_right_size(batches):
    config = Config(noise=2.0, batches=batches, batch=4000, seeds=2)
    batch = Batches(config).at(0)
    assert batch.noise is not None and batch.U is None
    variance = batch.noise[:, :, 0].square().mean((1, 2))  # of U ε / n: τ² / n
    torch.testing.assert_close(variance, torch.full((2,), 4 / 20), rtol=0.05, atol=0)
    again = Batches(replace(config, noise=0.0)).at(0)
    assert again.noise is None
    if batches != "fresh":  # the prompts are those without noise
        torch.testing.assert_close(again.S, batch.S)
        torch.testing.assert_close(again.target, batch.target)


@pytest.fixture(scope="module")
def lines():
    return baselines.baseline_losses(replace(LFOM, noise=2.0))


@pytest.mark.long
def test_no_method_passes_ridge_and_the_floor_comes_close(lines):
    ridge = float(lines["baseline/ridge"][0])
    for name in ("cg", "pcg", "gd", "momentum_tuned", "nesterov_tuned", "floor", "floor_scalar"):
        assert (lines[f"baseline/{name}"] > ridge).all()
    assert np.log(lines["baseline/floor"][3] / ridge) < 0.02
    assert lines["baseline/pcg"][3] > lines["baseline/pcg"][1]  # it goes on to fit the noise


@pytest.mark.long
def test_the_construction_with_noise_has_its_exact_loss_on_the_test_set(lines):
    sampled, error = (lines[f"reference/floor_sampled{end}"] for end in ("", "_error"))
    gaps = np.log(sampled / lines["baseline/floor"])
    assert (np.abs(gaps) < 4 * error + 1e-4).all()


def test_conjugate_gradient_ends_at_least_squares():
    S = gram(torch.randn(3, 8, 500, generator=generator(5)))
    losses, _ = baselines.conjugate(S, None, 3, 0.5)
    factor = inverse_factor(S)
    expected = 0.5 * factor.square().sum((0, 1))  # share tr S⁻¹, a prompt's expected loss
    ratio = float((losses[-1] / expected).mean())
    assert ratio == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize(
    "changes", [{"variant": "token"}, {"variant": "gd++ entry"}, {"n": 3}, {"noise": -1.0}]
)
def test_noise_that_a_model_cannot_have_is_refused(changes):
    with pytest.raises(BadSetting, match="got"):
        Config(**{"noise": 0.5, **changes})


def test_a_floor_knows_of_the_noise():
    config = replace(LFOM, noise=1.0)
    plain = baselines.exact_floors(LFOM)
    noisy = baselines.exact_floors(config)
    S = baselines.prompts(5, 20)[..., :4096]

    def loss_with_noise(floor):
        losses = test_set.losses_of(evaluate(floor, S), S, None, config.noise_share)
        return float(losses.mean())

    for own, other in zip(noisy, plain, strict=True):
        assert own.loss > other.loss
        assert loss_with_noise(own) < loss_with_noise(other) * 1.001


@pytest.mark.long
def test_the_paths_of_a_noisy_prompt_lead_to_least_squares(trained):
    problem, paths = solved(trained, View(), 2)
    gradient = torch.einsum("ijp,jp->ip", problem.S, problem.fitted - problem.target)
    assert float(gradient.abs().max()) > 1e-3  # not w*
    losses = problem.losses(paths["CGD"])
    assert losses.shape == (3,) and np.isfinite(losses).all()


@pytest.fixture(scope="module")
def trained():
    config = replace(LFOM, noise=1.0, steps=20, layers=2, batch=50, beside="none")
    return Run(config, compute(config, Recorder()))
