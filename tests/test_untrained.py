"""Learners that need no training: each method minimises what it says, each rule is what automatic
differentiation makes of its objective, filters are polynomials, and departures are exact."""

import pytest
import torch

from icl_core.in_context_regression import changes, learner_table, untrained
from icl_core.in_context_regression.home import (
    Home,
    Prompts,
    error,
    one_step_share,
    sample,
    sum_share,
)
from icl_core.in_context_regression.learner_table import BY_ID, LEARNERS
from icl_core.in_context_regression.untrained import Learner, solve, sums, weights

HOME = Home(3, 7, 0.3, "narrow", False, "white", 9.0)
NOISELESS = Home(3, 7, 0.0, "narrow", False, "white", 9.0)
STEPS = 3
SETTINGS = {"rate": 0.15, "beta": 0.4, "ridge": 0.2, "decay": 0.9}


def draw_prompts(home: Home = HOME, count: int = 5, seed: int = 0) -> Prompts:
    return sample(home, count, torch.Generator().manual_seed(seed))


def settings_of(learner: Learner) -> dict[str, float]:
    return {name: SETTINGS[name] for name in learner.settings}


def final(id: str, prompts: Prompts, home: Home = HOME, steps: int = STEPS) -> torch.Tensor:
    learner = BY_ID[id]
    return weights(learner, prompts, settings_of(learner), home, steps, every=False)[0]


def loss(w: torch.Tensor, prompts: Prompts, home: Home = HOME) -> torch.Tensor:
    """The loss of whose gradient S w − b all methods speak, summed over prompts."""
    rest = (prompts.x * w).sum(1) - prompts.y
    return rest.square().sum() / (2 * home.n)


def gradient(w: torch.Tensor, prompts: Prompts) -> torch.Tensor:
    leaf = w.clone().requires_grad_(True)
    return torch.autograd.grad(loss(leaf, prompts), leaf)[0]


def test_gradient_descent_follows_the_gradient():
    prompts = draw_prompts()
    w = torch.zeros_like(prompts.w)
    for _ in range(STEPS):
        w = w - SETTINGS["rate"] * gradient(w, prompts)
    torch.testing.assert_close(final("gd", prompts), w)


def test_momentum_and_nesterov_follow_the_gradient():
    prompts = draw_prompts()
    for id, looks_ahead in (("momentum", 0.0), ("nesterov", SETTINGS["beta"])):
        w = torch.zeros_like(prompts.w)
        velocity = torch.zeros_like(w)
        for _ in range(STEPS):
            slope = gradient(w + looks_ahead * velocity, prompts)
            velocity = SETTINGS["beta"] * velocity - SETTINGS["rate"] * slope
            w = w + velocity
        torch.testing.assert_close(final(id, prompts), w)


def test_steps_along_the_inverse_covariance():
    prompts = draw_prompts()
    w = torch.zeros_like(prompts.w)
    inverse = 1 / HOME.eigenvalues()[:, None]
    for _ in range(STEPS):
        w = w - SETTINGS["rate"] * inverse * gradient(w, prompts)
    torch.testing.assert_close(final("gd-sigma", prompts), w)


def test_ridge_and_bayes_are_stationary():
    prompts = draw_prompts()
    w = final("ridge", prompts)
    slope = gradient(w, prompts) + SETTINGS["ridge"] * w
    assert float(slope.abs().max()) < 1e-12
    for home in (HOME, Home(3, 7, 0.3, "narrow", False, "inverse", 9.0)):
        w = final("bayes", prompts, home)
        prior = home.noise**2 / home.n / home.target_variances()[:, None] * w
        assert float((gradient(w, prompts) + prior).abs().max()) < 1e-12


def test_conjugate_gradient_solves_after_as_many_steps_as_features():
    prompts = draw_prompts()
    least = final("squares", prompts)
    torch.testing.assert_close(final("cg", prompts, steps=HOME.d), least)
    torch.testing.assert_close(final("cg-sigma", prompts, steps=HOME.d), least)
    one = final("cg", prompts, steps=1)
    slope = gradient(torch.zeros_like(one), prompts)
    at_end = gradient(one, prompts)
    assert float((slope * at_end).sum(0).abs().max()) < 1e-12  # the line search is exact


def test_each_rule_is_a_step_on_its_objective():
    """The delta rules by the gradient of half the squared error of the new pair, the sum by that of
    minus ⟨w, x⟩ y, the implicit step by its stationary point."""
    prompts = draw_prompts()
    rate = SETTINGS["rate"]
    w = torch.zeros_like(prompts.w)
    unit = torch.zeros_like(w)
    implicit = torch.zeros_like(w)
    total = torch.zeros_like(w)
    for x, y in zip(prompts.x, prompts.y, strict=True):
        w = w - rate * pair_gradient(w, x, y)
        unit = unit - rate * pair_gradient(unit, x, y) / x.square().sum(0)
        new = implicit + rate * (y - (implicit * x).sum(0)) * x / (1 + rate * x.square().sum(0))
        slope = (new - implicit) + rate * pair_gradient(new, x, y)
        assert float(slope.abs().max()) < 1e-12
        implicit = new
        total = total + rate * y * x
    torch.testing.assert_close(final("delta", prompts), w)
    torch.testing.assert_close(final("unit", prompts), unit)
    torch.testing.assert_close(final("longhorn", prompts), implicit)
    torch.testing.assert_close(final("sum", prompts), total)


def pair_gradient(w: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    leaf = w.clone().requires_grad_(True)
    half = ((leaf * x).sum(0) - y).square().sum() / 2
    return torch.autograd.grad(half, leaf)[0]


def test_recursive_least_squares_is_ridge_and_at_last_least_squares():
    prompts = draw_prompts()
    recursive = weights(BY_ID["recursive"], prompts, {"ridge": 0.7, "decay": 1.0}, HOME, STEPS)
    ridge = weights(BY_ID["ridge"], prompts, {"ridge": 0.7 / HOME.n}, HOME, STEPS)
    torch.testing.assert_close(recursive, ridge)
    tiny = weights(BY_ID["recursive"], prompts, {"ridge": 1e-10, "decay": 1.0}, HOME, STEPS)
    least = weights(BY_ID["squares"], prompts, {}, HOME, STEPS)
    torch.testing.assert_close(tiny[HOME.d :], least[HOME.d :], atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.id)
def test_weights_after_a_prefix_are_those_of_the_prefix(learner):
    prompts = draw_prompts()
    settings = settings_of(learner)
    every = weights(learner, prompts, settings, HOME, STEPS)
    prefix = Prompts(prompts.x[:4], prompts.y[:4], prompts.w, prompts.covariance, prompts.query)
    expected = weights(learner, prefix, settings, HOME, STEPS, every=False)[0]
    torch.testing.assert_close(every[4], expected)
    assert not every[0].any()


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.id)
def test_exact_errors_are_the_mean_over_targets_and_noise(learner):
    """The closed form beside fifty thousand draws of w* and noise for the same covariates."""
    if not learner.linear:
        return
    prompts = draw_prompts(count=1)
    settings = settings_of(learner)
    exact = learner_table.exact_errors(learner, prompts, settings, HOME, STEPS, every=False)
    generator = torch.Generator().manual_seed(1)
    count = 50_000
    w = torch.randn(HOME.d, count, generator=generator, dtype=torch.float64)
    noise = HOME.noise * torch.randn(HOME.n, count, generator=generator, dtype=torch.float64)
    labels = prompts.x[..., 0] @ w + noise  # [n, count]
    learned = solve(learner, prompts.x, labels[..., None], settings, HOME, STEPS, every=False)
    difference = learned[0, ..., 0].T - w  # [d, count]
    sampled = (HOME.eigenvalues()[:, None] * difference.square()).sum(0)
    error_of_mean = float(sampled.std()) / count**0.5
    assert abs(float(sampled.mean()) - float(exact[0, 0])) < 4 * error_of_mean


@pytest.mark.parametrize("id", ["sum", "gd", "momentum", "nesterov", "ridge", "squares", "bayes"])
def test_a_filter_is_the_same_function_for_every_prompt(id):
    learner = BY_ID[id]
    prompts = draw_prompts(NOISELESS)
    assert untrained.has_filter_curve(learner, NOISELESS)
    S, _ = sums(prompts.x, prompts.y[:, None], NOISELESS.n, every=False)
    learned = final(id, prompts, NOISELESS)
    for prompt in range(prompts.w.shape[1]):
        eigenvalues, computed = untrained.along_eigenvectors(
            learned[:, prompt], prompts.w[:, prompt], S[0, ..., prompt]
        )
        expected = untrained.filter_curve(
            learner, settings_of(learner), NOISELESS, STEPS, eigenvalues
        )
        torch.testing.assert_close(computed, expected, atol=1e-8, rtol=1e-8)


def test_conjugate_gradient_has_a_polynomial_of_the_prompt():
    prompts = draw_prompts(NOISELESS, count=1)
    w = prompts.w[:, 0]
    S, b = sums(prompts.x, prompts.y[:, None], NOISELESS.n, every=False)
    for steps in (1, 2, 3):
        learned = final("cg", prompts, NOISELESS, steps)[:, 0]
        eigenvalues, computed = untrained.along_eigenvectors(learned, w, S[0, ..., 0])
        expected = untrained.conjugate_filter_curve(S[0], b[0, 0], steps, eigenvalues)
        torch.testing.assert_close(computed, expected, atol=1e-8, rtol=1e-8)
    torch.testing.assert_close(computed, torch.ones_like(computed), atol=1e-8, rtol=1e-8)


def departures(learner: Learner, prompts: Prompts) -> dict[str, float]:
    def predict(changed: Prompts) -> torch.Tensor:
        learned = weights(learner, changed, settings_of(learner), HOME, STEPS, every=False)[0]
        return (learned * changed.query).sum(0)

    return changes.departures(predict, prompts)


def test_departures_are_what_the_equations_say():
    prompts = draw_prompts(count=40)
    for learner in LEARNERS:
        for change, computed in departures(learner, prompts).items():
            expected = changes.exact(learner, settings_of(learner), change)
            if expected is not None:
                assert abs(computed - expected) < 1e-9, (learner.id, change)


def test_what_corrects_depends_on_the_order():
    prompts = draw_prompts(count=40)
    for id in ("delta", "unit", "longhorn", "gated", "decayed"):
        assert departures(BY_ID[id], prompts)["order"] > 0.01, id


@pytest.mark.parametrize("id", ["sum", "gd", "gd-sigma", "ridge", "momentum", "delta"])
def test_tuning_finds_the_least(id):
    """A tenth more or less of any setting loses more, on the prompts that it was tuned on."""
    prompts = draw_prompts(count=200)
    learner = BY_ID[id]
    settings = learner_table.tune(learner, prompts, HOME, STEPS)
    best = float(learner_table.mean_error(learner, prompts, settings, HOME, STEPS))
    for name in settings:
        for factor in (0.9, 1.1):
            other = {**settings, name: factor * settings[name]}
            assert float(learner_table.mean_error(learner, prompts, other, HOME, STEPS)) > best


def test_one_step_leaves_its_closed_form():
    home = Home(2, 5, 0.0, "isotropic", False, "white")
    prompts = draw_prompts(home, count=60_000)
    rate = 1 / (home.n + home.d + 1)
    errors = learner_table.exact_errors(BY_ID["sum"], prompts, {"rate": rate}, home, 1, every=False)
    shares = errors[0] / 2
    error_of_mean = float(shares.std()) / len(shares) ** 0.5
    assert abs(float(shares.mean()) - one_step_share(2, 5)) < 4 * error_of_mean


def test_a_sum_leaves_its_closed_form_off_home():
    home = Home(2, 5, 0.4, "isotropic", False, "white")
    scale = 1.7
    rate = 0.05
    prompts = draw_prompts(home, count=60_000)
    w = prompts.w
    x = scale * prompts.x
    noise = prompts.y - (prompts.x * w).sum(1)
    larger = Prompts(x, (x * w).sum(1) + noise, w, scale**2 * prompts.covariance, x[0])
    learned = weights(BY_ID["sum"], larger, {"rate": rate}, home, 1, every=False)[0]
    shares = error(learned, larger) / (2 * scale**2)
    expected = sum_share(2, 5, rate, scale, 0.4)
    assert abs(float(shares.mean()) - expected) < 4 * float(shares.std()) / len(shares) ** 0.5


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.id)
def test_awkward_prompts_give_finite_weights(learner):
    """No pair, one x said again, x = 0, fewer pairs than features."""
    settings = settings_of(learner)
    for x in ([[1.0, 2.0, 3.0]] * 4, [[0.0, 0.0, 0.0]], [[1e3, -1e3, 1e-3]]):
        covariates = torch.tensor(x, dtype=torch.float64)[..., None]
        labels = torch.full((len(x), 1), 1e3, dtype=torch.float64)
        one = draw_prompts(count=1)
        prompts = Prompts(covariates, labels, one.w, one.covariance, one.query)
        assert torch.isfinite(weights(learner, prompts, settings, HOME, STEPS)).all()


def test_prompts_are_drawn_from_home():
    home = Home(3, 2, 0.5, "narrow", True, "white", 4.0)
    prompts = draw_prompts(home, count=4000)
    noise = prompts.y - (prompts.x * prompts.w).sum(1)
    assert abs(float(noise.std()) - 0.5) < 0.02
    assert abs(float(prompts.w.var()) - 1) < 0.05
    share = error(torch.zeros_like(prompts.w), prompts) / home.label_variance()
    assert abs(float(share.mean()) - 1) < 0.06
    traces = prompts.covariance.diagonal().sum(1)
    torch.testing.assert_close(traces, home.eigenvalues().sum().expand_as(traces))
