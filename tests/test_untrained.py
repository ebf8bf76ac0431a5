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
from icl_core.in_context_regression.untrained import solve, sums, weights

HOME = Home(3, 7, 0.3, "narrow", False, "white", 9.0)
STEPS = 3
SETTINGS = {"rate": 0.15, "beta": 0.4, "ridge": 0.2, "decay": 0.9}


def prompts(home: Home = HOME, count: int = 5, seed: int = 0) -> Prompts:
    return sample(home, count, torch.Generator().manual_seed(seed))


def final(id: str, given: Prompts, home: Home = HOME, steps: int = STEPS) -> torch.Tensor:
    settings = {name: SETTINGS[name] for name in BY_ID[id].settings}
    return weights(BY_ID[id], given, settings, home, steps, every=False)[0]


def loss(w: torch.Tensor, given: Prompts, home: Home = HOME) -> torch.Tensor:
    """The loss of whose gradient S w − b all methods speak, summed over prompts."""
    rest = (given.x * w).sum(1) - given.y
    return rest.square().sum() / (2 * home.n)


def gradient(w: torch.Tensor, given: Prompts) -> torch.Tensor:
    leaf = w.clone().requires_grad_(True)
    return torch.autograd.grad(loss(leaf, given), leaf)[0]


def test_gradient_descent_follows_the_gradient():
    given = prompts()
    w = torch.zeros_like(given.w)
    for _ in range(STEPS):
        w = w - SETTINGS["rate"] * gradient(w, given)
    torch.testing.assert_close(final("gd", given), w)


def test_momentum_and_nesterov_follow_the_gradient():
    given = prompts()
    for id, looks_ahead in (("momentum", 0.0), ("nesterov", SETTINGS["beta"])):
        w = torch.zeros_like(given.w)
        velocity = torch.zeros_like(w)
        for _ in range(STEPS):
            slope = gradient(w + looks_ahead * velocity, given)
            velocity = SETTINGS["beta"] * velocity - SETTINGS["rate"] * slope
            w = w + velocity
        torch.testing.assert_close(final(id, given), w)


def test_steps_along_the_inverse_covariance():
    given = prompts()
    w = torch.zeros_like(given.w)
    inverse = 1 / HOME.eigenvalues()[:, None]
    for _ in range(STEPS):
        w = w - SETTINGS["rate"] * inverse * gradient(w, given)
    torch.testing.assert_close(final("gd-sigma", given), w)


def test_ridge_and_bayes_are_stationary():
    given = prompts()
    w = final("ridge", given)
    slope = gradient(w, given) + SETTINGS["ridge"] * w
    assert float(slope.abs().max()) < 1e-12
    for home in (HOME, Home(3, 7, 0.3, "narrow", False, "inverse", 9.0)):
        w = final("bayes", given, home)
        prior = home.noise**2 / home.n / home.target_variances()[:, None] * w
        assert float((gradient(w, given) + prior).abs().max()) < 1e-12


def test_conjugate_gradient_solves_after_as_many_steps_as_features():
    given = prompts()
    least = final("squares", given)
    torch.testing.assert_close(final("cg", given, steps=HOME.d), least)
    torch.testing.assert_close(final("cg-sigma", given, steps=HOME.d), least)
    one = final("cg", given, steps=1)
    slope = gradient(torch.zeros_like(one), given)
    at_end = gradient(one, given)
    assert float((slope * at_end).sum(0).abs().max()) < 1e-12  # the line search is exact


def test_each_rule_is_a_step_on_its_objective():
    """The delta rules by the gradient of half the squared error of the new pair, the sum by that of
    minus ⟨w, x⟩ y, the implicit step by its stationary point."""
    given = prompts()
    rate = SETTINGS["rate"]
    w = torch.zeros_like(given.w)
    unit = torch.zeros_like(w)
    implicit = torch.zeros_like(w)
    total = torch.zeros_like(w)
    for x, y in zip(given.x, given.y, strict=True):
        w = w - rate * pair_gradient(w, x, y)
        unit = unit - rate * pair_gradient(unit, x, y) / x.square().sum(0)
        new = implicit + rate * (y - (implicit * x).sum(0)) * x / (1 + rate * x.square().sum(0))
        slope = (new - implicit) + rate * pair_gradient(new, x, y)
        assert float(slope.abs().max()) < 1e-12
        implicit = new
        total = total + rate * y * x
    torch.testing.assert_close(final("delta", given), w)
    torch.testing.assert_close(final("unit", given), unit)
    torch.testing.assert_close(final("longhorn", given), implicit)
    torch.testing.assert_close(final("sum", given), total)


def pair_gradient(w: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    leaf = w.clone().requires_grad_(True)
    half = ((leaf * x).sum(0) - y).square().sum() / 2
    return torch.autograd.grad(half, leaf)[0]


def test_recursive_least_squares_is_ridge_and_at_last_least_squares():
    given = prompts()
    home = HOME
    recursive = weights(BY_ID["recursive"], given, {"ridge": 0.7, "decay": 1.0}, home, STEPS)
    ridge = weights(BY_ID["ridge"], given, {"ridge": 0.7 / home.n}, home, STEPS)
    torch.testing.assert_close(recursive, ridge)
    tiny = weights(BY_ID["recursive"], given, {"ridge": 1e-10, "decay": 1.0}, home, STEPS)
    least = weights(BY_ID["squares"], given, {}, home, STEPS)
    torch.testing.assert_close(tiny[home.d :], least[home.d :], atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.id)
def test_weights_after_a_prefix_are_those_of_the_prefix(learner):
    given = prompts()
    settings = {name: SETTINGS[name] for name in learner.settings}
    every = weights(learner, given, settings, HOME, STEPS)
    short = Prompts(given.x[:4], given.y[:4], given.w, given.covariance, given.query)
    torch.testing.assert_close(
        every[4], weights(learner, short, settings, HOME, STEPS, every=False)[0]
    )
    assert not every[0].any()


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.id)
def test_exact_errors_are_the_mean_over_targets_and_noise(learner):
    """The closed form beside fifty thousand draws of w* and noise for the same covariates."""
    if not learner.linear:
        return
    given = prompts(count=1)
    settings = {name: SETTINGS[name] for name in learner.settings}
    exact = float(
        learner_table.exact_errors(learner, given, settings, HOME, STEPS, every=False)[0, 0]
    )
    generator = torch.Generator().manual_seed(1)
    count = 50_000
    w = torch.randn(HOME.d, count, generator=generator, dtype=torch.float64)
    noise = HOME.noise * torch.randn(HOME.n, count, generator=generator, dtype=torch.float64)
    labels = given.x[..., 0] @ w + noise  # [n, count]
    learned = solve(learner, given.x, labels[..., None], settings, HOME, STEPS, every=False)
    difference = learned[0, ..., 0].T - w  # [d, count]
    sampled = (HOME.eigenvalues()[:, None] * difference.square()).sum(0)
    assert abs(float(sampled.mean()) - exact) < 4 * float(sampled.std()) / count**0.5


@pytest.mark.parametrize("id", ["sum", "gd", "momentum", "nesterov", "ridge", "squares", "bayes"])
def test_a_filter_is_the_same_function_for_every_prompt(id):
    home = Home(3, 7, 0.0, "narrow", False, "white", 9.0)
    learner = BY_ID[id]
    settings = {name: SETTINGS[name] for name in learner.settings}
    given = prompts(home)
    assert untrained.has_filter_curve(learner, home)
    S, _ = sums(given.x, given.y[:, None], home.n, every=False)
    learned = final(id, given, home)
    for prompt in range(given.w.shape[1]):
        eigenvalues, kept = untrained.along_eigenvectors(
            learned[:, prompt], given.w[:, prompt], S[0, ..., prompt]
        )
        curve = untrained.filter_curve(learner, settings, home, STEPS, eigenvalues)
        torch.testing.assert_close(kept, curve, atol=1e-8, rtol=1e-8)


def test_conjugate_gradient_has_a_polynomial_of_the_prompt():
    home = Home(3, 7, 0.0, "narrow", False, "white", 9.0)
    given = prompts(home, count=1)
    S, b = sums(given.x, given.y[:, None], home.n, every=False)
    for steps in (1, 2, 3):
        learned = final("cg", given, home, steps)
        eigenvalues, kept = untrained.along_eigenvectors(learned[:, 0], given.w[:, 0], S[0, ..., 0])
        curve = untrained.conjugate_filter_curve(S[0], b[0, 0], steps, eigenvalues)
        torch.testing.assert_close(kept, curve, atol=1e-8, rtol=1e-8)
    torch.testing.assert_close(kept, torch.ones_like(kept), atol=1e-8, rtol=1e-8)


def test_departures_are_what_the_equations_say():
    given = prompts(count=40)
    for learner in LEARNERS:
        settings = {name: SETTINGS[name] for name in learner.settings}

        def predict(changed: Prompts, learner=learner, settings=settings) -> torch.Tensor:
            learned = weights(learner, changed, settings, HOME, STEPS, every=False)[0]
            return (learned * changed.query).sum(0)

        for id, value in changes.departures(predict, given).items():
            known = changes.exact(learner, settings, id)
            if known is not None:
                assert abs(value - known) < 1e-9, (learner.id, id)


def test_what_corrects_depends_on_the_order():
    given = prompts(count=40)
    for id in ("delta", "unit", "longhorn", "gated", "decayed"):
        settings = {name: SETTINGS[name] for name in BY_ID[id].settings}

        def predict(changed: Prompts, id=id, settings=settings) -> torch.Tensor:
            learned = weights(BY_ID[id], changed, settings, HOME, STEPS, every=False)[0]
            return (learned * changed.query).sum(0)

        assert changes.departures(predict, given)["order"] > 0.01, id


@pytest.mark.parametrize("id", ["sum", "gd", "gd-sigma", "ridge", "momentum", "delta"])
def test_tuning_finds_the_least(id):
    """A tenth more or less of any setting loses more, on the prompts that it was tuned on."""
    given = prompts(count=200)
    learner = BY_ID[id]
    settings = learner_table.tune(learner, given, HOME, STEPS)
    best = float(learner_table.mean_error(learner, given, settings, HOME, STEPS))
    for name in settings:
        for factor in (0.9, 1.1):
            other = {**settings, name: factor * settings[name]}
            assert float(learner_table.mean_error(learner, given, other, HOME, STEPS)) > best


def test_one_step_leaves_its_closed_form():
    home = Home(2, 5, 0.0, "isotropic", False, "white")
    given = prompts(home, count=60_000)
    settings = {"rate": 1 / (home.n + home.d + 1)}
    shares = learner_table.exact_errors(BY_ID["sum"], given, settings, home, 1, every=False)[0] / 2
    error_of_mean = float(shares.std()) / len(shares) ** 0.5
    assert abs(float(shares.mean()) - one_step_share(2, 5)) < 4 * error_of_mean


def test_a_sum_leaves_its_closed_form_off_home():
    home = Home(2, 5, 0.4, "isotropic", False, "white")
    scale, rate = 1.7, 0.05
    drawn = prompts(home, count=60_000)
    x = scale * drawn.x
    noise = drawn.y - (drawn.x * drawn.w).sum(1)
    larger = Prompts(x, (x * drawn.w).sum(1) + noise, drawn.w, scale**2 * drawn.covariance, x[0])
    learned = weights(BY_ID["sum"], larger, {"rate": rate}, home, 1, every=False)[0]
    shares = error(learned, larger) / (2 * scale**2)
    expected = sum_share(2, 5, rate, scale, 0.4)
    assert abs(float(shares.mean()) - expected) < 4 * float(shares.std()) / len(shares) ** 0.5


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.id)
def test_awkward_prompts_give_finite_weights(learner):
    """No pair, one x said again, x = 0, fewer pairs than features."""
    settings = {name: SETTINGS[name] for name in learner.settings}
    for x in ([[1.0, 2.0, 3.0]] * 4, [[0.0, 0.0, 0.0]], [[1e3, -1e3, 1e-3]]):
        covariates = torch.tensor(x, dtype=torch.float64)[..., None]
        labels = torch.full((len(x), 1), 1e3, dtype=torch.float64)
        one = prompts(count=1)
        given = Prompts(covariates, labels, one.w, one.covariance, one.query)
        assert torch.isfinite(weights(learner, given, settings, HOME, STEPS)).all()


def test_prompts_are_drawn_from_home():
    home = Home(3, 2, 0.5, "narrow", True, "white", 4.0)
    given = prompts(home, count=4000)
    noise = given.y - (given.x * given.w).sum(1)
    assert abs(float(noise.std()) - 0.5) < 0.02
    assert abs(float(given.w.var()) - 1) < 0.05
    share = error(torch.zeros_like(given.w), given) / home.label_variance()
    assert abs(float(share.mean()) - 1) < 0.06
    traces = given.covariance.diagonal().sum(1)
    torch.testing.assert_close(traces, home.eigenvalues().sum().expand_as(traces))
