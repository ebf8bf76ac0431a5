"""Linear attention on prompts of unknown noise: its compact form beside attention token by token,
the triangle that is read off it, and Bayes beside the density of the labels."""

import math

import numpy as np
import pytest
import torch
from torch.distributions import MultivariateNormal

from icl_core import registry
from icl_core.contract.experiment import Run
from icl_core.papers.learners.memory import measurements, models
from icl_core.papers.learners.memory.measurements import Prompts, draw_prompts
from icl_core.papers.learners.memory.settings import LEVELS, Config, View
from icl_core.papers.learners.memory.train import compute
from tests.recorder import Recorder

D = 3
N = 7
COUNT = 5
CONFIG = Config(d=D, n=N, layers=3, steps=10)


def pairs(seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(N, D, COUNT, generator=generator, dtype=torch.float64)
    y = torch.randn(N, COUNT, generator=generator, dtype=torch.float64)
    query = torch.randn(D, COUNT, generator=generator, dtype=torch.float64)
    return x, y, query


def coefficients(rows=2, layers=3, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return 0.2 * torch.randn(rows, layers, 4, generator=generator, dtype=torch.float64)


def token_by_token(layers, x, y, query):
    """The query's label after attention of heads with diagonal matrices, one a coefficient."""
    yq = torch.zeros(COUNT, dtype=x.dtype)
    for w_xx, w_xy, w_yx, w_yy in layers:

        def attended(to_x, to_y, x=x, y=y, w=(w_xx, w_xy, w_yx, w_yy)):
            by_x = torch.einsum("tip,ip->tp", x, to_x)  # scores of tokens by x, and by y
            by_y = y * to_y
            more_x = torch.einsum("tp,tip->ip", w[0] * by_x + w[1] * by_y, x) / N
            more_y = ((w[2] * by_x + w[3] * by_y) * y).sum(0) / N
            return more_x, more_y

        updates_x, updates_y = zip(*(attended(x[t], y[t]) for t in range(N)), strict=True)
        more_x, more_y = attended(query, yq)
        x = x + torch.stack(updates_x)
        y = y + torch.stack(updates_y)
        query = query + more_x
        yq = yq + more_y
    return yq


def test_the_compact_form_is_attention_token_by_token():
    x, y, query = pairs()
    weights = models.iterates(coefficients(), models.gram(x, y))[-1]  # [d, rows, prompts]
    for row, layers in enumerate(coefficients()):
        label = token_by_token(layers.tolist(), x, y, query)
        torch.testing.assert_close(-(weights[:, row] * query).sum(0), label)


def test_steps_alone_are_gradient_descent():
    G = models.gram(*pairs()[:2])
    rates = torch.tensor([0.3, 0.1, 0.2], dtype=torch.float64)
    alone = torch.zeros(1, 3, 4, dtype=torch.float64)
    alone[0, :, 2] = -rates
    steps = models.memformer_iterates(rates.diag()[None], G)
    torch.testing.assert_close(models.iterates(alone, G), steps)
    w = torch.zeros(D, COUNT, dtype=torch.float64)
    for rate in rates:
        w = w + rate * (G[:-1, -1] - torch.einsum("ijp,jp->ip", G[:-1, :-1], w))
    torch.testing.assert_close(steps[-1, :, 0], w)


def test_a_triangle_is_read_off_its_own_answers():
    G = models.gram(*pairs()[:2])
    generator = torch.Generator().manual_seed(2)
    Gamma = (0.2 * torch.randn(1, 3, 3, generator=generator, dtype=torch.float64)).tril()
    decoded, explained = models.decoded(models.memformer_iterates(Gamma, G)[:, :, 0], G)
    torch.testing.assert_close(decoded, Gamma[0])
    torch.testing.assert_close(explained, torch.ones(3, dtype=torch.float64))


def test_moving_x_is_not_a_sum_of_gradients_and_is_read_differently_at_every_noise():
    moved = torch.zeros(1, 3, 4, dtype=torch.float64)
    moved[0, :, 0] = -0.2
    moved[0, :, 2] = -0.4
    generator = torch.Generator().manual_seed(5)
    last_entries = []
    for percent in (0.0, 130.0):
        G = draw_prompts(CONFIG, 2000, generator, percent).G
        decoded, explained = models.decoded(models.iterates(moved, G)[:, :, 0], G)
        assert float(explained[0]) > 1 - 1e-9
        assert float(explained[-1]) < 0.99
        last_entries.append(float(decoded[-1, -1]))
    assert abs(last_entries[0] - last_entries[1]) > 0.05


def test_the_best_ridge_has_the_mean_of_the_noise():
    """r = E τ²/n, and τ² has the mean of a third of its largest value."""
    prompts = draw_prompts(CONFIG, 40_000, torch.Generator().manual_seed(6))
    expected = CONFIG.largest**2 / (3 * CONFIG.n)
    assert abs(np.log(measurements._best_ridge(prompts) / expected)) < 0.25


def test_ridge_keeps_less_of_weak_directions():
    """Without noise it keeps λ / (λ + r) of w* along every eigenvector, so also in bins."""
    prompts = draw_prompts(CONFIG, 500, torch.Generator().manual_seed(7), 0.0)
    measured = measurements._at_one_noise(CONFIG, prompts, lambda G: {}, 0.3)
    values, vectors = torch.linalg.eigh(prompts.G[:-1, :-1].permute(2, 0, 1))
    target = torch.einsum("pik,ip->pk", vectors, prompts.w).flatten().square()
    order = values.flatten().argsort()
    shares = values.flatten() / (values.flatten() + 0.3)
    for place, chosen in enumerate(order.tensor_split(measurements.BINS)):
        expected = (shares[chosen] * target[chosen]).sum() / target[chosen].sum()
        torch.testing.assert_close(measured["kept/ridge"][place], expected)


def test_labels_enter_only_through_two_coefficients():
    x, y, _ = pairs()
    linear = coefficients() * torch.tensor([1.0, 0.0, 1.0, 0.0])
    once, twice = (models.iterates(linear, models.gram(x, f * y))[-1] for f in (1, 2))
    torch.testing.assert_close(twice, 2 * once)
    once, twice = (models.iterates(coefficients(), models.gram(x, f * y))[-1] for f in (1, 2))
    assert (twice - 2 * once).norm() > 0.01 * once.norm()


def test_bayes_weighs_noises_by_the_density_of_the_labels():
    x, y, _ = pairs()
    prompts = Prompts(models.gram(x, y), torch.zeros(D, COUNT), torch.zeros(COUNT))
    mean = measurements.reference_weights(CONFIG, prompts, 0.1)["bayes"]
    taus = (np.arange(64) + 0.5) / 64 * CONFIG.largest
    for prompt in range(COUNT):
        X = x[..., prompt]
        densities = []
        means = []
        for tau in taus:
            covariance = X @ X.T + tau**2 * torch.eye(N, dtype=X.dtype)
            law = MultivariateNormal(torch.zeros(N, dtype=X.dtype), covariance)
            densities.append(law.log_prob(y[:, prompt]))
            means.append(X.T @ torch.linalg.solve(covariance, y[:, prompt]))
        likely = torch.softmax(torch.stack(densities), 0)
        torch.testing.assert_close(mean[:, prompt], likely @ torch.stack(means))


def test_prompts_have_the_noise_that_is_asked_for():
    prompts = draw_prompts(CONFIG, 4000, torch.Generator().manual_seed(3))
    assert float(prompts.tau.min()) >= 0 and float(prompts.tau.max()) <= CONFIG.largest
    assert abs(float(prompts.tau.mean()) / CONFIG.largest - 0.5) < 0.02
    fixed = draw_prompts(CONFIG, 4000, torch.Generator().manual_seed(3), 50.0)
    # E y² = |w|² + τ² with w ~ N(0, I)
    expected = D + CONFIG.tau(50) ** 2
    assert abs(float(fixed.G[-1, -1].mean()) / expected - 1) < 0.05
    assert math.isclose(CONFIG.tau(100), D**0.5)


@pytest.fixture(scope="module")
def run():
    config = Config(d=2, n=6, layers=2, steps=60, seeds=2)
    return Run(config, compute(config, Recorder()))


def test_a_run_holds_every_model_at_every_noise(run):
    for name in (*run.names("models"), *measurements.REFERENCES):
        assert run[f"share/{name}"].shape[-1] == len(run.config.percents)
        assert np.isfinite(run[f"kept/{name}"]).all()
    assert np.all(run["total/knowing"] < run["total/ridge"])
    assert np.all(run["total/bayes"] < run["total/ridge"])
    assert run["triangle/all"].shape == (14, 2, 2, 2)


def test_every_claim_is_measured(run):
    experiment = registry.experiment("learners.memory")
    values = {metric.claim.id: metric.value for metric in experiment.metrics(run)}
    assert set(values) == {claim.id for claim in experiment.claims}
    gains = {name: run["total/ridge"] - run[f"total/{name}"] for name in ("all", "knowing")}
    assert np.isclose(values["attention-closes-the-gap"], (gains["all"] / gains["knowing"]).mean())
    last = run["triangle/all"][:, :, -1, -1] / run["triangle/xx alone"][:, :, -1, -1]
    assert np.isclose(values["last-step-shrinks-with-noise"], (last[0] / last[-1]).mean())


def test_panels_state_what_the_run_holds(run):
    experiment = registry.experiment("learners.memory")
    panels = {
        drawing.name: drawing.panel(run, View(snapshot=LEVELS - 1))
        for drawing in experiment.drawings
    }
    share = run["share/all"][:, -1].mean()
    assert f"{share:.3f}" in panels["errors"].title
    last = run["triangle/all"][-1, :, -1, -1].mean()
    assert f"{last:.2f}".replace("-", "−") in panels["triangles"].title
