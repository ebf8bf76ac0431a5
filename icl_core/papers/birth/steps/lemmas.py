"""Lemmas 1, 2, 4 and 5, each twice: its formula, sum by sum as it is printed, and the gradient of
its loss by autograd.

Gradients are in the paper's orientation: of W_K they are sums of (key) (query)^T. Float64.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.proof_model import Drawn
from icl_core.papers.birth.steps.exact_expectation import even

Both = tuple[Tensor, Tensor]  # the formula's matrix, autograd's


class Given(NamedTuple):
    """What the lemmas speak of: the model with what it has learned so far, and some sequences."""

    weights: Weights  # float64
    drawn: Drawn
    bigram: Float[Tensor, "N N"]  # p(y | z), rows sum to one, for Lemma 1


def _loss(logits: Float[Tensor, "n N"], answers: Int[Tensor, "n"]) -> Tensor:
    return torch.nn.functional.cross_entropy(logits, answers)


def by_autograd(loss: Callable[[Tensor], Tensor], W: Float[Tensor, "d d"]) -> Float[Tensor, "d d"]:
    """Return the gradient of a loss at W."""
    leaf = W.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(loss(leaf), leaf)
    return gradient


def lemma1(given: Given) -> Both:
    """Return the gradient of Lemma 1, by its formula and by autograd: input-output tokens (z, y),
    Σ_k E_z[(p̂(k | z) − p(k | z)) w_U(k) w_E(z)^T], z uniform, at W = 0."""
    U = given.weights.W_U
    E = given.weights.W_E
    p = given.bigram
    W = torch.zeros_like(given.weights.W_O2)
    surprise = (E @ W.T @ U.T).softmax(1) - p  # [z, k]
    formula = sum(torch.outer(U[k], surprise[:, k] @ E) for k in range(len(U))) / len(E)
    return torch.as_tensor(formula), by_autograd(
        lambda W: -(p * (E @ W.T @ U.T).log_softmax(1)).sum(1).mean(), W
    )


def lemma2(given: Given) -> Both:
    """Return the gradient of Lemma 2, by its formula and by autograd: noisy inputs x = w_E(y) +
    p_t, all equally likely, Σ_k p(y=k) w_U(k) (μ̂_k − μ_k)^T. At the matrix that one step has made,
    so that p̂ is no longer uniform."""
    U = given.weights.W_U
    E = given.weights.W_E
    P = given.weights.P
    N = len(E)
    T = len(P)
    x = (E[:, None] + P).flatten(0, 1)  # (N · T, d)
    y = torch.arange(N).repeat_interleave(T)  # (N · T,)
    W = U.T @ (E - E.mean(0))  # eq. 12 with a step of N
    p_hat = (x @ W.T @ U.T).softmax(1)  # (N · T, N)
    mu = torch.stack([x[y == k].mean(0) for k in range(N)])  # (N, d)
    mu_hat = N * (p_hat.T @ x) / len(x)  # (N, d)
    formula = U.T @ (mu_hat - mu) / N
    return formula, by_autograd(lambda W: _loss(x @ W.T @ U.T, y), W)


def _values(given: Given) -> tuple[Float[Tensor, "batch T d"], Float[Tensor, "N d"]]:
    """Return x_t, and w_U(k)^T Φ2 as rows."""
    weights = given.weights
    tokens = given.drawn.tokens
    x = weights.W_E[tokens] + weights.P[: tokens.shape[1]]
    return x, weights.W_U @ weights.W_O2 @ weights.V2


def _surprise(
    logits: Float[Tensor, "batch N"], answers: Int[Tensor, "batch"]
) -> Float[Tensor, "batch N"]:
    """Return p̂(k | X) − 1{y = k}."""
    return logits.softmax(1) - torch.nn.functional.one_hot(answers, logits.shape[1])


def lemma4(given: Given) -> Both:
    """Return the gradient of Lemma 4, by its formula and by autograd: the keys of layer 2 at W = 0,
    Σ_k E[(p̂(k | X) − 1{y = k}) (1/T) Σ_t w_U(k)^T Φ2 x_t (z_t − z̄) x_T^T], with the values x_t
    and the keys z_t of the proof, layer 1's means."""
    x, out = _values(given)
    answers = given.drawn.answers
    keys = even(x.shape[1]) @ x @ given.weights.R1.T  # (batch, T, d)
    W = torch.zeros_like(given.weights.W_K2)

    def logits(W: Tensor) -> Tensor:
        scores = torch.einsum("btd,de,be->bt", keys, W, x[:, -1])
        return torch.einsum("bt,btd,nd->bn", scores.softmax(1), x, out)

    weight = torch.einsum("bk,kd,btd->bt", _surprise(logits(W), answers), out, x) / x.shape[1]
    centred = keys - keys.mean(1, keepdim=True)
    formula = torch.einsum("bt,btd,be->de", weight, centred, x[:, -1]) / len(x)
    return formula, by_autograd(lambda W: _loss(logits(W), answers), W)


def lemma5(given: Given) -> Both:
    """Return the gradient of Lemma 5, by its formula and by autograd: the keys of layer 1 at W = 0,
    with layer 2's softmax linearised about zero. The value of x_t less the mean value, times (1/t)
    Σ_s (Φ1 x_s)^T W_2 x_T (p_s − p̄_{1:t}) p_t^T. On tokens alone, as B.3.3 uses it."""
    weights = given.weights
    P = weights.P
    answers = given.drawn.answers
    T = given.drawn.tokens.shape[1]
    x = weights.W_E[given.drawn.tokens]  # (batch, T, d)
    out = _values(given)[1]
    mean = even(T)
    # (batch, s): (Φ1 x_s)^T W_2 x_T
    match = torch.einsum("bsd,ed,fe,bf->bs", x, weights.R1, weights.W_K2, x[:, -1])
    future = torch.ones(T, T, dtype=torch.bool).triu(1)

    def logits(W: Tensor) -> Tensor:
        looks = (P @ W.T @ P.T).masked_fill(future, -torch.inf).softmax(1)  # [t, s]: p_s^T W p_t
        scores = match @ looks.T
        linear = (1 + scores - scores.mean(1, keepdim=True)) / T
        return torch.einsum("bt,btd,nd->bn", linear, x, out)

    W = torch.zeros_like(weights.W_K1)
    value = torch.einsum("bk,kd,btd->bt", _surprise(logits(W), answers), out, x)
    value = (value - value.mean(1, keepdim=True)) / T  # the sums over x_t, and over x̄
    coefficients = mean * (value.T @ match) / len(x)  # [t, s]
    formula = P.T @ (coefficients - mean * coefficients.sum(1, keepdim=True)).T @ P
    return formula, by_autograd(lambda W: _loss(logits(W), answers), W)


LEMMAS: dict[str, Callable[[Given], Both]] = {"1": lemma1, "2": lemma2, "4": lemma4, "5": lemma5}


def apart(both: Both) -> float:
    """Return the largest difference of the two, as a share of the largest entry."""
    formula, autograd = both
    return float((formula - autograd).abs().max() / autograd.abs().max())
