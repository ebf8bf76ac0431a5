"""Update rules of a state, against what they are equal to: sums, gradient descent, projections,
least squares, Bayes."""

import pytest
import torch

from icl_core.in_context_regression import rules
from icl_core.in_context_regression.rules import KALMAN, RULES

D = 4
LABELS = 3
PAIRS = 6
PROMPTS = 20
SETTINGS = {"rate": 0.3, "decay": 0.9, "ridge": 0.05, "drift": 0.4}


@pytest.fixture
def pairs():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(PAIRS, D, PROMPTS, generator=generator, dtype=torch.float64)
    W = torch.randn(LABELS, D, PROMPTS, generator=generator, dtype=torch.float64)
    return x, torch.einsum("odp,ndp->nop", W, x), W


def fitted(rule, x, y, settings):
    return rules.matrix(rule, rules.after(rule, x, y, settings), settings)


@pytest.mark.parametrize("rule", [*RULES.values(), KALMAN], ids=lambda rule: rule.id)
def test_a_rule_is_linear_in_the_values_and_holds_what_it_says(rule, pairs):
    x, y, _ = pairs
    v = rules.coefficients(rule, x, SETTINGS)
    expected = torch.einsum("nop,ndp->odp", y, v)
    assert torch.allclose(fitted(rule, x, y, SETTINGS), expected, atol=1e-9)
    state = rules.after(rule, x, y, SETTINGS)
    assert rule.size(LABELS, D) == sum(matrix[..., 0].numel() for matrix in state)


def test_a_sum_is_one_step_of_gradient_descent(pairs):
    x, y, _ = pairs
    W = torch.zeros(LABELS, D, PROMPTS, dtype=torch.float64, requires_grad=True)
    error = y - torch.einsum("odp,ndp->nop", W, x)
    (gradient,) = torch.autograd.grad(error.square().sum() / 2, W)
    assert torch.allclose(fitted(RULES["sum"], x, y, SETTINGS), -0.3 * gradient)


def test_a_decayed_sum_weighs_a_pair_by_its_age(pairs):
    x, y, _ = pairs
    age = 0.9 ** torch.arange(PAIRS - 1, -1, -1).double()
    expected = 0.3 * torch.einsum("n,nop,ndp->odp", age, y, x)
    assert torch.allclose(fitted(RULES["decayed"], x, y, SETTINGS), expected)


def test_the_delta_rule_is_gradient_descent_pair_by_pair(pairs):
    x, y, _ = pairs
    W = torch.zeros(LABELS, D, PROMPTS, dtype=torch.float64)
    for key, value in zip(x, y, strict=True):
        W = W.requires_grad_()
        loss = (value - (W * key).sum(1)).square().sum() / 2
        (gradient,) = torch.autograd.grad(loss, W)
        W = (W - 0.3 * gradient).detach()
    assert torch.allclose(fitted(RULES["delta"], x, y, SETTINGS), W)


def test_unit_keys_at_rate_one_answer_the_last_pair_exactly(pairs):
    x, y, _ = pairs
    W = fitted(RULES["unit"], x, y, {"rate": 1.0})
    assert torch.allclose(rules.applied(W, x[-1]), y[-1])
    assert not torch.allclose(rules.applied(W, x[0]), y[0])


def test_the_implicit_step_is_the_minimum_that_it_is_named_after(pairs):
    x, y, _ = pairs
    before = fitted(RULES["longhorn"], x[:-1], y[:-1], SETTINGS)
    after = fitted(RULES["longhorn"], x, y, SETTINGS).requires_grad_()
    error = y[-1] - rules.applied(after, x[-1])
    loss = (after - before).square().sum() + 0.3 * error.square().sum()
    (gradient,) = torch.autograd.grad(loss, after)
    assert gradient.abs().max() < 1e-12
    full = fitted(RULES["longhorn"], x, y, {"rate": 1e9})
    assert torch.allclose(full, fitted(RULES["unit"], x, y, {"rate": 1.0}), atol=1e-6)


def test_least_squares_without_forgetting_is_the_recursion_with_an_inverse(pairs):
    x, y, W_true = pairs
    settings = {"decay": 1.0, "ridge": 0.05}
    W = torch.zeros(LABELS, D, PROMPTS, dtype=torch.float64)
    P = torch.eye(D, dtype=torch.float64)[:, :, None].expand(D, D, PROMPTS) / 0.05
    for key, value in zip(x, y, strict=True):
        P_key = rules.applied(P, key)
        gain = P_key / (1 + (P_key * key).sum(0))
        W = W + rules.outer(value - rules.applied(W, key), gain)
        P = P - rules.outer(gain, P_key)
    assert torch.allclose(fitted(RULES["squares"], x, y, settings), W, atol=1e-9)
    least = {"decay": 1.0, "ridge": 1e-9}
    assert torch.allclose(fitted(RULES["squares"], x, y, least), W_true, atol=1e-4)


def test_the_kalman_filter_is_the_conditional_mean():
    x = torch.randn(PAIRS, D, 1, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    drift = 0.4
    c = (1 - drift**2) ** 0.5
    place = torch.arange(PAIRS)
    labels = c ** (place[:, None] - place).abs() * torch.einsum("ndp,mdp->nm", x, x)
    with_next = (c ** (PAIRS - place))[:, None] * x[..., 0]  # Cov(y_t, w), (pairs, d)
    expected = torch.linalg.solve(labels, with_next)
    v = rules.coefficients(KALMAN, x, {"drift": drift})
    assert torch.allclose(v[..., 0], expected, atol=1e-6)


@pytest.mark.parametrize(("batch", "rule"), [(1, "delta"), (PAIRS, "sum")])
def test_batches_lead_from_the_delta_rule_to_one_step(batch, rule, pairs):
    x, y, _ = pairs
    computed = rules.in_batches(x, y, batch, 0.3)
    assert torch.allclose(computed, fitted(RULES[rule], x, y, SETTINGS))


def test_batches_take_the_gradient_where_the_batch_began(pairs):
    x, y, _ = pairs
    first = 0.3 * torch.einsum("nop,ndp->odp", y[:4], x[:4])
    error = y[4:] - torch.stack([rules.applied(first, key) for key in x[4:]])
    expected = first + 0.3 * torch.einsum("nop,ndp->odp", error, x[4:])
    assert torch.allclose(rules.in_batches(x, y, 4, 0.3), expected)
    with pytest.raises(ValueError, match="batch must be at least 1"):
        rules.in_batches(x, y, 0, 0.3)


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_seeds_have_settings_of_their_own(rule, pairs):
    x, y, _ = pairs
    two = {name: torch.tensor([value, value / 2]).double() for name, value in SETTINGS.items()}
    keys = x[:, None].expand(-1, 2, -1, -1)
    values = y[:, None].expand(-1, 2, -1, -1)
    both = fitted(rule, keys, values, two)
    for seed in range(2):
        alone = {name: float(value[seed]) for name, value in two.items()}
        assert torch.allclose(both[seed], fitted(rule, x, y, alone))
