"""The token form against the fast forms, values and gradients; the paper's lemma and theorems; the
exact floors."""

import itertools
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from icl_core.in_context_regression import (
    conjugate_gradient,
    covariates,
    floors,
    gradient_descent,
    gram,
    grams,
    momentum,
)
from icl_core.papers.memformers.shared import first_order, model, variants
from icl_core.papers.memformers.shared.settings import Model as Config
from icl_core.papers.memformers.shared.task import Batch, covariances, integrated
from icl_core.papers.memformers.shared.token_form import forward, original, takes_whitened
from icl_core.papers.memformers.shared.variants import VARIANTS, distances

SHAPES = [(5, 20, 4), (7, 4, 5), (2, 2, 1)]  # d, n, L: the paper's, underdetermined, the smallest
# every token agrees on one w
SINGLE_W = [name for name, variant in VARIANTS.items() if variant.has_one_w]


def legal():
    for variant, preconditioner, coordinates, heads in itertools.product(
        VARIANTS, ("full", "scalar", "averaged"), ("original", "authors", "whitened"), (1, 3)
    ):
        settings = {"preconditioner": preconditioner, "coordinates": coordinates, "heads": heads}
        try:
            yield Config(
                variant=variant, spectrum="geometric", condition=30.0, sigma2=2.5, **settings
            )
        except ValueError:
            assert heads > 1


CONFIGS = list(legal())
NAMES = ["-".join([c.variant, c.preconditioner, c.coordinates, str(c.heads)]) for c in CONFIGS]
SHORT = re.compile(r".*-(full-.*|.*-whitened)-1")  # in one way at most from the default
CASES = [
    pytest.param(config, id=name, marks=[] if SHORT.fullmatch(name) else [pytest.mark.long])
    for config, name in zip(CONFIGS, NAMES, strict=True)
]


def random(config, seed=0):
    """Parameters far from the initial ones, float64."""
    generator = torch.Generator().manual_seed(seed)
    initial = variants.initial(config, generator)
    sizes = {"A": 0.4, "B": 0.1, "Gamma": 0.5, "alpha": 0.7, "gamma": 0.7}
    return {
        name: sizes[name] * torch.randn(tensor.shape, generator=generator, dtype=torch.float64)
        for name, tensor in initial.items()
    }


def setting(config, prompts=6, seed=1):
    """Parameters, Σ^½ and a batch of sampled targets and queries, float64."""
    generator = torch.Generator().manual_seed(seed)
    d = config.d

    def normal(*shape):
        return torch.randn(config.seeds, *shape, prompts, generator=generator, dtype=torch.float64)

    U = normal(d, config.n)
    batch = Batch(torch.stack([gram(x) for x in U]), normal(d, 1), U, normal(d))
    root = torch.stack([covariance.root for covariance in covariances(config)])
    return random(config), root, batch


def tokens(parameters, config, root, batch, seed):
    """The token form's passage of one seed, and the true label of the query [prompts]."""
    assert batch.U is not None and batch.query is not None
    query = batch.query[seed]  # [d, prompts]
    target = batch.target[seed, :, 0]
    white = torch.cat([batch.U[seed], query[:, None]], 1).permute(2, 0, 1)  # [prompts, d, n + 1]
    X = white if takes_whitened(config) else root[seed] @ white
    y = (batch.U[seed] * target[:, None]).sum(0).T  # [prompts, n]
    one = {name: tensor[seed : seed + 1] for name, tensor in parameters.items()}
    return forward(one, config, root[seed : seed + 1], X, y), (query * target).sum(0)


@pytest.mark.parametrize("config", CASES)
def test_token_form_equals_fast_form(config):
    for d, n, layers in SHAPES:
        shaped = replace(config, d=d, n=n, layers=layers, seeds=2)
        parameters, root, batch = setting(shaped)
        error = model.errors(parameters, shaped, root, batch)
        assert batch.query is not None
        learned = ((batch.target - error)[:, :, 0] * batch.query).sum(1)  # [seeds, prompts]
        for seed in range(2):
            passage = tokens(parameters, shaped, root, batch, seed)[0]
            predictions = passage.predictions[-1]
            torch.testing.assert_close(predictions, learned[seed], rtol=1e-10, atol=1e-10)


def by_tokens(parameters, config, root, batch):
    """The batch's mean loss of every seed. Without a query: summed over d queries, the axes of
    whitened space."""
    axes = torch.eye(config.d).double()[:, None, :, None]
    losses = []
    for seed in range(config.seeds):
        total = 0.0
        for query in axes if batch.query is None else [batch.query]:
            one_query = replace(batch, query=query.expand(config.seeds, -1, batch.prompts))
            passage, label = tokens(parameters, config, root, one_query, seed)
            total = total + (passage.predictions[-1] - label).square().mean()
        losses.append(total)
    return torch.stack(losses)


@pytest.mark.parametrize("config", CASES)
def test_gradient_equals_autograd_through_tokens(config):
    shaped = replace(config, d=4, n=6, layers=3, seeds=2)
    parameters, root, batch = setting(shaped, prompts=5)
    for prompts in (batch, replace(batch, query=None)):
        leaves = {name: tensor.clone().requires_grad_() for name, tensor in parameters.items()}
        losses = by_tokens(leaves, shaped, root, prompts)
        for objective, minimised in (("mean", losses), ("log", losses.log())):
            loss, gradient = model.loss_and_gradient(parameters, shaped, root, prompts, objective)
            by_autograd = torch.autograd.grad(
                minimised.sum(),
                list(leaves.values()),
                retain_graph=True,
                allow_unused=True,
                materialize_grads=True,
            )
            torch.testing.assert_close(loss, losses.detach(), rtol=1e-8, atol=0)
            assert gradient.keys() == leaves.keys()
            for computed, expected in zip(gradient.values(), by_autograd, strict=True):
                atol = 1e-8 * float(expected.norm())
                torch.testing.assert_close(computed, expected, rtol=0, atol=atol)


def test_chunks_change_nothing(monkeypatch):
    config = Config(d=3, n=5, layers=3, seeds=2)
    parameters, root, batch = setting(config, prompts=150)
    whole = model.loss_and_gradient(parameters, config, root, batch, "log")
    monkeypatch.setattr(first_order, "CHUNK", 1)
    loss, gradient = model.loss_and_gradient(parameters, config, root, batch, "log")
    torch.testing.assert_close(loss, whole[0], rtol=1e-12, atol=0)
    for name, tensor in gradient.items():
        torch.testing.assert_close(tensor, whole[1][name], rtol=1e-10, atol=1e-12)


def test_lemma_2_1_labels_are_residuals_of_gradient_descent():
    config = Config(variant="linear", coordinates="original", d=4, n=7, layers=5, sigma2=3.0)
    parameters, root, batch = setting(config, prompts=1)
    passage, label = tokens(parameters, config, root, batch, 0)
    assert batch.U is not None and batch.query is not None
    X = root[0] @ batch.U[0, :, :, 0]
    w_star = root[0].inverse() @ batch.target[0, :, 0, 0]
    x_query = root[0] @ batch.query[0, :, 0]
    w = torch.zeros(4, dtype=torch.float64)
    mean = root[0].square().sum() / 4  # A is learned in units of one over Σ's mean eigenvalue
    for layer in range(6):
        residuals = [w_star @ x - w @ x for x in X.T]
        expected = torch.stack([*residuals, -(w @ x_query)])
        torch.testing.assert_close(passage.labels[layer, 0], expected)
        if layer < 5:
            gradient = sum((w @ x - w_star @ x) * x for x in X.T) / 7
            w = w - parameters["A"][0, 0, layer] / mean @ gradient
    assert float(label) == pytest.approx(float(w_star @ x_query))


@pytest.mark.parametrize("variant", SINGLE_W)
def test_labels_after_every_layer_are_residuals_of_one_w(variant):
    config = Config(variant=variant, d=4, n=6, layers=4)
    parameters, root, batch = setting(config)
    labels = tokens(parameters, config, root, batch, 0)[0].labels  # [L + 1, prompts, n + 1]
    table = variants.table(parameters, config, root)
    assert batch.U is not None
    for layer in range(5):
        part = table[:, : layer * config.d, : layer * config.d]
        error = first_order.errors(part, batch.S, batch.target) if layer else batch.target
        residuals = (batch.U[0] * error[0, :, 0, None]).sum(0).T
        torch.testing.assert_close(labels[layer, :, :-1], residuals, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_passage_holds_together(variant):
    config = Config(variant=variant, d=3, n=5, layers=3)
    parameters, root, batch = setting(config)
    passage, _ = tokens(parameters, config, root, batch, 0)
    assert (passage.predictions[0] == 0).all()
    assert passage.predictions.equal(-passage.labels[:, :, -1])
    torch.testing.assert_close(passage.labels.diff(dim=0), passage.update[:, :, -1])
    assert (passage.attention[:, :, -1] == 0).all()  # no token attends to the query
    moves = bool((passage.update[:, :, :-1] != 0).any())
    assert moves == VARIANTS[variant].moves_covariates


def scalar(layers, d=5, n=20, **change):
    """A config, Σ^½ and parameters with A_l = I in the eigenbasis of Σ, and one prompt:
    S and w*."""
    config = Config(
        preconditioner="scalar", coordinates="original", d=d, n=n, layers=layers, **change
    )
    D = torch.tensor([1, 1, 1 / 4, 1 / 16, 1], dtype=torch.float64)[:d]
    generator = torch.Generator().manual_seed(3)
    X = D.sqrt()[:, None] * torch.randn(d, n, generator=generator, dtype=torch.float64)
    w_star = torch.randn(d, generator=generator, dtype=torch.float64) / D.sqrt()
    A = D.mean().expand(1, 1, layers)
    return config, D.sqrt().diag()[None], {"A": A}, X, w_star


def iterates(parameters, config, root, X, w_star):
    """w_l [L + 1, d] of one prompt, read off the token form's predictions for the queries e_1 …
    e_d."""
    d = len(X)
    tokens = torch.cat([X.expand(d, -1, -1), torch.eye(d, dtype=X.dtype)[:, :, None]], 2)
    return forward(parameters, config, root, tokens, (w_star @ X).expand(d, -1)).predictions


def test_theorem_3_1_conjugate_gradient():
    config, root, parameters, X, w_star = scalar(5, variant="cgd")
    path = conjugate_gradient(gram(X[..., None]), w_star[:, None], 5)
    parameters |= {"alpha": path.alpha.T, "gamma": path.gamma.T}  # [1, L]
    w = iterates(parameters, config, root, X, w_star)
    torch.testing.assert_close(w, path.iterates[..., 0], rtol=0, atol=1e-8)
    # five steps solve five dimensions
    torch.testing.assert_close(w[5], w_star, rtol=0, atol=1e-8)


def test_cgd_like_without_deflection_is_the_linear_transformer():
    config = Config(variant="cgd", layers=4)
    parameters, root, batch = setting(config)
    plain = {"alpha": torch.ones(1, 4).double(), "gamma": torch.zeros(1, 4).double()}
    cgd = parameters | plain, config
    linear = {"A": parameters["A"]}, replace(config, variant="linear")
    computed, expected = (model.errors(*case, root, batch) for case in (cgd, linear))
    torch.testing.assert_close(computed, expected, rtol=1e-12, atol=1e-12)
    computed, expected = (tokens(*case, root, batch, 0)[0].labels for case in (cgd, linear))
    torch.testing.assert_close(computed, expected)


def test_theorem_3_2_heavy_ball_and_gradient_descent():
    config, root, parameters, X, w_star = scalar(6, variant="lfom")
    S = gram(X[..., None])
    target = w_star[:, None]
    for rate, beta in ((0.3, 0.6), (0.4, 0.0)):
        lag = torch.arange(6)[:, None] - torch.arange(6)
        Gamma = (rate * torch.tensor(beta, dtype=torch.float64) ** lag.clamp(min=0)).tril()[None]
        w = iterates(parameters | {"Gamma": Gamma}, config, root, X, w_star)
        expected = momentum(S, target, 6, rate, beta)[..., 0]
        torch.testing.assert_close(w, expected, rtol=1e-10, atol=1e-10)
    expected = gradient_descent(S, target, 6, 0.4)[..., 0]
    torch.testing.assert_close(w, expected, rtol=1e-10, atol=1e-10)


def test_a_gamma_shared_by_all_layers_is_heavy_ball_with_beta_one():
    config, root, parameters, X, w_star = scalar(6, variant="shared")
    parameters |= {"Gamma": torch.full((1, 6), 0.2, dtype=torch.float64)}
    expected = momentum(gram(X[..., None]), w_star[:, None], 6, 0.2, 1.0)[..., 0]
    w = iterates(parameters, config, root, X, w_star)
    torch.testing.assert_close(w, expected, rtol=1e-10, atol=1e-10)
    table = variants.table(parameters, config, root)
    S = gram((root[0].inverse() @ X)[..., None])
    white = (root[0] @ w_star)[None, :, None, None]
    fast = root[0].inverse() @ (white - first_order.errors(table, S[None], white))[0, :, 0, 0]
    torch.testing.assert_close(fast, expected[-1], rtol=1e-10, atol=1e-10)


def test_a_gamma_per_token_that_is_the_same_for_all_is_a_number():
    config = Config(variant="lfom", d=4, n=6, layers=3)
    parameters, root, batch = setting(config)
    spread = {"A": parameters["A"], "Gamma": parameters["Gamma"][..., None].expand(-1, -1, -1, 7)}
    torch.testing.assert_close(
        model.errors(spread, replace(config, variant="token"), root, batch),
        model.errors(parameters, config, root, batch),
    )


@pytest.mark.parametrize("variant", ["linear", "cgd", "lfom", "token", "coordinate"])
def test_heads_equal_one_head_with_their_sum(variant):
    config = Config(variant=variant, d=4, n=6, layers=3, heads=5)
    parameters, root, batch = setting(config)
    summed = parameters | {"A": parameters["A"].sum(1, keepdim=True)}
    one = replace(config, heads=1)
    cases = (parameters, config), (summed, one)
    torch.testing.assert_close(*[model.errors(*case, root, batch) for case in cases])
    torch.testing.assert_close(*[tokens(*case, root, batch, 0)[0].labels for case in cases])


def test_preconditioners_in_original_coordinates_undo_their_units():
    for config in CONFIGS:
        if not VARIANTS[config.variant].moves_covariates and config.heads == 1:
            parameters, root, _ = setting(config)
            A = original(parameters, config, root)  # [L, registers, 1, d, d]
            white = (root[0] @ A.sum((1, 2)) @ root[0])[None]
            torch.testing.assert_close(white, variants.preconditioners(parameters, config, root))


@pytest.fixture(scope="module")
def pool():
    return grams(5, 20, 2**13, torch.Generator().manual_seed(5), torch.float64)


def losses(parameters, config, S):
    """The mean expected loss on a pool of every seed."""
    root = torch.eye(config.d, dtype=torch.float64).expand(config.seeds, -1, -1)
    return model.errors(parameters, config, root, integrated(S)).square().sum((1, 2)).mean(-1)


def test_a_linear_transformer_attains_the_floor(pool):
    for best in floors(pool, None, [1, 2, 3, 4]):
        A = torch.eye(5, dtype=torch.float64) / best.roots[:, None, None]
        config = Config(variant="linear", layers=len(best.roots))
        loss = float(losses({"A": A[None, None]}, config, pool))
        assert loss == pytest.approx(best.loss, rel=1e-6)


def test_no_memory_gets_below_the_floor(pool):
    """With one matrix for all A_l: LFOM at random places, and close around the best linear
    transformer."""
    best = floors(pool, None, [3])[0]
    generator = torch.Generator().manual_seed(6)
    noise = torch.randn(2, 5, 3, 3, generator=generator, dtype=torch.float64)
    scales = torch.tensor([1e-3, 1e-2, 0.05, 0.1, 0.2], dtype=torch.float64)
    close = (1 / best.roots).diag() + scales[:, None, None] * noise[0]
    config = SimpleNamespace(
        variant="lfom", preconditioner="scalar", coordinates="whitened", d=5, layers=3, seeds=10
    )
    parameters = {"A": torch.ones(10, 1, 3).double(), "Gamma": torch.cat([close, noise[1]])}
    by_seed = losses(parameters, config, pool)
    assert float(by_seed.min()) == pytest.approx(best.loss, rel=1e-3)
    assert (by_seed > best.loss * (1 - 1e-9)).all()


@pytest.mark.parametrize("variant", ["lfom", "coordinate", "gd++", "token", "gd++ entry"])
def test_integrated_loss_is_the_mean_over_sampled_prompts(variant):
    config = Config(variant=variant, d=3, n=4, layers=2)
    parameters, root, _ = setting(config)
    generator = torch.Generator().manual_seed(8)
    U = covariates(3, 4, 1, generator, torch.float64)
    exact = model.errors(parameters, config, root, integrated(gram(U), U)).square().sum()
    target, query = torch.randn(2, 1, 3, 100_000, generator=generator, dtype=torch.float64)
    prompts = Batch(
        gram(U)[None].expand(1, 3, 3, 100_000), target[:, :, None], U[None].expand(1, 3, 4, 100_000)
    )
    squares = (model.errors(parameters, config, root, prompts)[:, :, 0] * query).sum(1).square()
    assert abs(float(squares.mean() - exact)) < 4 * float(squares.std()) / 100_000**0.5
    without_query = model.loss_and_gradient(parameters, config, root, prompts, "mean")[0]
    assert float(without_query) == pytest.approx(float(exact), rel=0.05)


def test_distance_from_a_multiple_of_the_identity():
    M = torch.randn(20, 4, 4, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    computed = distances(M)
    torch.testing.assert_close(distances(-3 * M), computed)
    assert (computed <= 1).all()
    alpha = torch.linspace(-3, 3, 60_001, dtype=torch.float64)
    squares = M.square().sum((1, 2))
    traces = M.diagonal(dim1=1, dim2=2).sum(1)
    errors = squares[:, None] - 2 * alpha * traces[:, None] + 4 * alpha**2  # |M − α I|²
    expected = errors.amin(1).sqrt() / squares.sqrt()
    torch.testing.assert_close(computed, expected, rtol=0, atol=1e-7)
    assert float(distances(7 * torch.eye(4))) < 1e-3
    assert float(distances(-0.1 * torch.eye(4, dtype=torch.float64))) < 1e-7
    assert float(distances(torch.tensor([[0.0, 1.0], [-1.0, 0.0]]))) == pytest.approx(1)
