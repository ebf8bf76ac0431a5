"""The lemmas of Theorem 3's proof. Lemmas 1, 2, 4 and 5, each twice: its formula, sum by sum as it
is printed, and the gradient of its loss by autograd, in the paper's orientation, in float64: of W_K
they are sums of (key) (query)^T.

Above them, the proof's gradients in exact expectation over its sequences (`shared/proof_model.py`):
Lemmas 2, 4 and 5 with its two approximations, p̂ = 1/N and, for W_K1, layer 2's softmax linearised
about zero (eqs. 15, 17 and B.3.3). Each is a table of coefficients as `proof_model.gradient` gives:
how the expected loss changes with each reading.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.proof_model import PLACED, TOKENS, Drawn, tables


def answer_probability(N: int, T: int) -> Float[Tensor, "T"]:
    """Return P(z_t = y) at every position: how often the answer itself stands there. Every other
    token has the rest evenly."""
    same = 1 / N  # the probability that output and trigger are one
    t = torch.arange(T)
    # the output's place, where it differs from the trigger
    output = ((t >= 1) & (t <= T - 2)).double() / (T - 2)
    trigger = (t <= T - 3).double() / (T - 2) + (t == T - 1)
    apart = output + (1 - output - trigger) / (N - 1)
    return (1 - same) * apart + same * (t >= T - 2)


def more_often(N: int, T: int) -> Float[Tensor, "T"]:
    """Return a_t of E[1{z_t = j} | y = k] − E[1{z_t = j}] = a_t (1{j = k} − 1 / N)."""
    return (N * answer_probability(N, T) - 1) / (N - 1)


def pairs(
    F: Float[Tensor, "N N"], places: Float[Tensor, "N T"], N: int, T: int
) -> Float[Tensor, "T T N N"]:  # fmt: skip
    """Return E[f_y(z_t, t) 1{z_s = i} 1{q = j}] as [t, s, i, j], with f_y(z, t) = F[y, z] +
    places[y, t], float64."""
    F = F.double()
    places = places.double()
    same = 1 / N  # the probability that output and trigger are one
    expectation = torch.zeros(T, T, N, N, dtype=torch.float64)
    for first in range(T - 2):
        expectation += _apart(F, places, N, T, first)
    expectation *= (1 - same) / (N * (N - 1) * (T - 2))
    return expectation + same / N * _beside(F, places, N, T)


def _elsewhere(N: int) -> Float[Tensor, "N N"]:
    """Return the law of a token in a free place as [i, q]: uniform over all but q."""
    return (1 - torch.eye(N, dtype=torch.float64)) / (N - 1)


def _apart(F: Tensor, places: Tensor, N: int, T: int, first: int) -> Float[Tensor, "T T N N"]:
    """Return the expectation where the trigger stands at `first`, summed over all outputs y that
    are not q."""
    free = _elsewhere(N)
    eye = torch.eye(N, dtype=torch.float64)
    at_free = F @ free  # [y, q]: the mean of F[y, z] over a free place
    f = at_free.repeat(T, 1, 1) + places.T[:, :, None]  # [t, y, q]
    f[[first, T - 1]] += F - at_free
    f[first + 1] += F.diagonal()[:, None] - at_free
    f = f * (1 - eye)  # y is not q
    total = f.sum(1)  # [t, q]
    expectation = total[:, None, None, :] * free  # s free: [t, 1, i, q], the same for every s
    expectation = expectation.repeat(1, T, 1, 1)  # [t, s, i, q]
    expectation[:, [first, T - 1]] = (total[:, None, :] * eye)[:, None]
    expectation[:, first + 1] = f  # z_s is y
    # t = s in a free place: f and the token are not independent
    correction = (F.sum(0)[:, None] - F.T) * free - (at_free * (1 - eye)).sum(0) * free  # [i, q]
    for t in set(range(T)) - {first, first + 1, T - 1}:
        expectation[t, t] += correction
    return expectation


def _beside(F: Tensor, places: Tensor, N: int, T: int) -> Float[Tensor, "T T N N"]:
    """Return the expectation where output and trigger are one, y = q, at T − 1 and T."""
    free = _elsewhere(N)
    eye = torch.eye(N, dtype=torch.float64)
    at_free = (F * free.T).sum(1)  # [q]
    f = at_free.repeat(T, 1) + places.T  # [t, q]
    f[T - 2 :] += F.diagonal() - at_free
    expectation = (f[:, None, None, :] * free).repeat(1, T, 1, 1)  # [t, s, i, q]
    expectation[:, T - 2 :] = (f[:, None, :] * eye)[:, None]
    correction = F.T * free - at_free * free  # [i, q]
    for t in range(T - 2):
        expectation[t, t] += correction
    return expectation


def expected(name: str, weights: Weights) -> Float[Tensor, "rows M"]:
    """Return the coefficients of a step from W = 0, float64. `weights` hold what the steps before
    have learned."""
    double = weights.to(torch.float64)
    return {"W_O2": output, "W_K2": match, "W_K1": look}[name](double)


def even(T: int) -> Float[Tensor, "T T"]:
    """Return layer 1's attention before it has learned: position t looks alike at all up to it."""
    return torch.ones(T, T, dtype=torch.float64).tril() / torch.arange(1, T + 1)[:, None]


def shares(N: int, T: int) -> tuple[float, float]:
    """Return how much more of the answer than of any other token there is in what W_O2 reads: in
    the tokens, and, by way of layer 1, in the means up to each. The second over the first is eq.
    16's τ: how strong the spurious pairs are."""
    often = more_often(N, T) / T
    return float(often.sum()), float((even(T) @ often).sum())


def output(weights: Weights) -> Float[Tensor, "N two_M"]:
    """Return the coefficients of W_O2 (eq. 15): with even attention, what the stream holds more of
    where the answer is k. Positions cancel."""
    N = len(weights.W_E)
    T = len(weights.P)
    centred = torch.eye(N, dtype=torch.float64) - 1 / N
    blank = torch.zeros(N, T, dtype=torch.float64)
    own, mean = shares(N, T)
    return -torch.cat([own * centred, blank, mean * centred, blank], 1) / N


def _surprises(says: Tensor) -> Tensor:
    """Return Σ_k (1/N − 1{y = k}) w_U(k)^T Φ2 u for every answer y: how a value u changes the
    loss."""
    return says.mean(0) - says


def match(weights: Weights) -> Float[Tensor, "N M"]:
    """Return the coefficients of W_K2 (Lemma 4, eq. 17), layer 1 even: expectations of pairs of
    tokens."""
    N = len(weights.W_E)
    T = len(weights.P)
    F = _surprises(tables(weights, PLACED).says)
    expectations = pairs(F[:, :N], F[:, N:], N, T)  # [t, s, i, q]
    # [t, s]: what the key t holds of s, less the mean over keys
    centred = (even(T) - even(T).mean(0)) / T
    tokens = torch.einsum("ts,tsiq->qi", centred, expectations)
    places = torch.einsum("ts,tsq->qs", centred, expectations.sum(2))
    return torch.cat([tokens, places], 1)


def look(weights: Weights) -> Float[Tensor, "T T"]:
    """Return the coefficients of W_K1 (Lemma 5), on tokens alone: the readings of W_K2 take the
    place of the keys."""
    N = len(weights.W_E)
    T = len(weights.P)
    readings = tables(weights, TOKENS)
    expectations = pairs(_surprises(readings.says), torch.zeros(N, T), N, T)  # [t, s, i, q]
    # [t, s]: E of the surprise of the value t times what the token s matches
    slopes = torch.einsum("tsiq,qi->ts", expectations, readings.matches)
    slopes = (slopes - slopes.mean(0)) / T
    A1 = even(T)
    return A1 * (slopes - (A1 * slopes).sum(1, keepdim=True))


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
