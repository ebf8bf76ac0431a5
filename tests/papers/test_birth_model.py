"""The model against loops over positions written from Section 4.2; the fast path against autograd
of the model."""

import dataclasses
import math

import pytest
import torch

from icl_core.papers.birth.shared.accuracy import share
from icl_core.papers.birth.shared.gradient import evaluate, loss_and_gradient
from icl_core.papers.birth.shared.model import TRAINED, forward, initialise
from icl_core.papers.birth.shared.task import Batch, make_task, sample


def setting(with_F=True, scale="code", T=40, d=24, batch=6, dtype=torch.float64, K=3):
    generator = torch.Generator().manual_seed(7)
    task = make_task(N=20, K=K, T=T)
    weights = initialise(20, d, T, generator, scale, with_F).to(dtype)
    return weights, sample(task, batch, generator)


def head(x: list[torch.Tensor], W_K: torch.Tensor, t: int) -> torch.Tensor:
    """sum_s A[t, s] x_s, one query at a time."""
    scores = [math.exp(float(x[t] @ W_K @ x[s]) / math.sqrt(len(x[t]))) for s in range(t + 1)]
    return sum(score / sum(scores) * x[s] for s, score in enumerate(scores))


def naive_logits(weights, tokens: list[int], layers: int) -> torch.Tensor:
    x = [weights.W_E[z] + weights.P[t] for t, z in enumerate(tokens)]
    h = [x[t] + weights.R1 @ head(x, weights.W_K1, t) for t in range(len(x))] if layers == 2 else x
    logits = []
    for t in range(len(h)):
        g = h[t] + weights.W_O2 @ weights.V2 @ head(h, weights.W_K2, t)
        if weights.W_F is not None:
            g = g + weights.W_F @ g
        logits.append(weights.W_U @ g)
    return torch.stack(logits)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("with_F", [True, False])
def test_forward_equals_the_loops(layers, with_F):
    weights, batch = setting(with_F, T=20, batch=2)
    logits, attention1, attention2 = forward(weights, batch.inputs, layers)
    for row in range(2):
        expected = naive_logits(weights, batch.inputs[row].tolist(), layers)
        torch.testing.assert_close(logits[row], expected, rtol=0, atol=1e-5)
    assert (attention1 is None) == (layers == 1)
    torch.testing.assert_close(attention2.sum(-1), torch.ones(2, 20, dtype=torch.float64))
    assert (attention2.triu(1) == 0).all()


def test_shorter_sequences_see_the_same():
    weights, batch = setting()
    whole, start = (forward(weights, batch.inputs[:, :n])[0] for n in (40, 11))
    torch.testing.assert_close(whole[:, :11], start)


def autograd(weights, batch, positions, layers):
    leaves = {name: tensor.clone().requires_grad_() for name, tensor in weights.trained().items()}
    counted = batch.in_context if positions == "in_context" else torch.ones_like(batch.in_context)
    logits = forward(weights.with_(**leaves), batch.inputs, layers)[0]
    loss = torch.nn.functional.cross_entropy(logits[counted], batch.targets[counted])
    loss.backward()
    return {name: leaf.grad for name, leaf in leaves.items() if leaf.grad is not None}, loss.item()


@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-10), (torch.float32, 1e-5)])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("positions", ["in_context", "all"])
@pytest.mark.parametrize("with_F", [True, False])
def test_gradient_equals_autograd(with_F, positions, layers, dtype, tolerance):
    weights, batch = setting(with_F, T=80, dtype=dtype, batch=7)
    expected, loss = autograd(weights, batch, positions, layers)
    computed, measures = loss_and_gradient(weights, batch, positions, layers=layers, chunk=3)
    assert computed.keys() == expected.keys()
    assert measures["loss"] == pytest.approx(loss, abs=10 * tolerance)
    for name, gradient in expected.items():
        atol = tolerance * float(gradient.norm())
        torch.testing.assert_close(computed[name], gradient, rtol=0, atol=atol)


def test_gradient_equals_central_differences_of_the_loops():
    weights, batch = setting(T=8, d=6, batch=3, K=8)
    gradient, _ = loss_and_gradient(weights, batch, "all")

    def loss(changed):
        logits = torch.stack([naive_logits(changed, row.tolist(), 2) for row in batch.inputs])
        return float(torch.nn.functional.cross_entropy(logits.mT, batch.targets))

    for name in TRAINED:
        step = torch.zeros(6, 6, dtype=torch.float64)
        step[2, 4] = 1e-5
        up, down = (loss(weights.with_(**{name: weights[name] + sign * step})) for sign in (1, -1))
        slope = (up - down) / 2e-5
        assert float(gradient[name][2, 4]) == pytest.approx(slope, abs=1e-5)


def test_frozen_matrices_get_no_gradient_and_change_none():
    weights, batch = setting()
    whole, _ = loss_and_gradient(weights, batch, "all")
    for names in ({"W_O2"}, {"W_K1"}, {"W_K2", "W_F"}):
        part, _ = loss_and_gradient(weights, batch, "all", train=names)
        assert part.keys() == names
        for name in names:
            torch.testing.assert_close(part[name], whole[name])


def test_result_does_not_depend_on_chunks():
    weights, batch = setting(T=64, batch=12)
    gradient, measures = loss_and_gradient(weights, batch, chunk=4)
    other_gradient, other_measures = loss_and_gradient(weights, batch, chunk=5)
    assert measures == pytest.approx(other_measures, nan_ok=True)
    for name in gradient:
        torch.testing.assert_close(gradient[name], other_gradient[name])


def test_a_batch_without_in_context_positions_has_no_gradient():
    weights, batch = setting()
    nothing = dataclasses.replace(batch, in_context=torch.zeros_like(batch.in_context))
    gradient, measures = loss_and_gradient(weights, nothing)
    assert all(float(value.abs().max()) == 0 for value in gradient.values())
    assert math.isnan(measures["in_context_loss"])


def test_measures_and_evaluation_equal_the_plain_model():
    weights, batch = setting(T=80, batch=20)
    logits = forward(weights, batch.inputs)[0]
    loss = torch.nn.functional.cross_entropy(logits.mT, batch.targets, reduction="none")
    right = (logits.argmax(-1) == batch.targets).double()
    _, measures = loss_and_gradient(weights, batch, "all")
    evaluated = evaluate(weights, batch)
    new = batch.in_context & (batch.inputs != batch.targets)
    assert evaluated["accuracy_new"] == pytest.approx(float(right[new].mean()))
    assert measures["in_context_accuracy"] == pytest.approx(evaluated["accuracy"])
    assert evaluated["accuracy"] == pytest.approx(float(right[batch.in_context].mean()))
    for name, where in (("in_context_loss", batch.in_context), ("global_loss", batch.global_)):
        assert measures[name] == pytest.approx(float(loss[where].mean()))
        assert evaluated[name] == pytest.approx(float(loss[where].mean()))
    assert math.isnan(evaluate(weights, batch, positions="in_context")["global_loss"])


def test_standard_error_is_that_of_repeated_batches():
    generator = torch.Generator().manual_seed(0)
    # batches of sequences that differ
    rates, counted = torch.rand(2, 1000, 200, 1, generator=generator)
    values = (torch.rand(1000, 200, 20, generator=generator) < rates).float()
    where = torch.rand(1000, 200, 20, generator=generator) < counted
    pairs = torch.tensor([share(v, w) for v, w in zip(values, where, strict=True)])
    assert float(pairs[:, 1].mean()) == pytest.approx(float(pairs[:, 0].std()), rel=0.08)


def test_scales_of_the_initialisation():
    generator = torch.Generator().manual_seed(0)
    paper, code = (initialise(65, 128, 64, generator, scale) for scale in ("paper", "code"))
    for name in ("W_E", "P", "W_U", "V2", "W_K1", "W_O2", "W_F"):
        assert float(paper[name].std()) == pytest.approx(128**-0.5, rel=0.05)
    assert float(paper["R1"].std()) == pytest.approx(128**-0.5, rel=0.05)  # a product of two
    assert float(code["W_E"].std()) == pytest.approx(1, rel=0.05)
    assert float(code["W_U"].abs().max()) <= 128**-0.5
    assert float(code["W_K1"].std()) == pytest.approx((3 * 128) ** -0.5, rel=0.05)


def test_orthonormal_embeddings():
    weights = initialise(10, 40, 20, torch.Generator().manual_seed(0), embeddings="orthonormal")
    rows = torch.cat([weights.W_E, weights.P, weights.W_U])
    torch.testing.assert_close(rows @ rows.T, torch.eye(40), rtol=0, atol=1e-5)
    with pytest.raises(ValueError, match="d must be at least 2 N \\+ T = 40"):
        initialise(10, 39, 20, torch.Generator(), embeddings="orthonormal")


def test_wrong_names_are_refused():
    weights, batch = setting()
    with pytest.raises(ValueError, match="positions must be"):
        loss_and_gradient(weights, batch, "some")
    with pytest.raises(ValueError, match="scale must be"):
        initialise(5, 5, 5, torch.Generator(), "large")
    assert isinstance(batch, Batch)
