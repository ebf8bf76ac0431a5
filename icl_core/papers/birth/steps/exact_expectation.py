"""The proof's gradients in exact expectation, infinitely many sequences: Lemmas 2, 4 and 5 with its
two approximations, p̂ = 1/N and, for W_K1, layer 2's softmax linearised about zero (eqs. 15, 17 and
B.3.3).

Each is a table of coefficients as `proof_model.gradient` gives: how the expected loss changes with
each reading.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.proof_model import PLACED, TOKENS, tables
from icl_core.papers.birth.steps.law import more_often, pairs


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
