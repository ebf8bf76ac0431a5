"""The transformer with softmax attention (Vaswani et al. 2017; Eq. 1 of the paper), attention only,
any layers.

    u_t = s_t W_in + p_t
    u_t <- u_t + W_O sum_s softmax_s(q_t . k_s / sqrt m) v_s, s <= t
                               for each layer; q, k, v = u W_Q, u W_K, u W_V
    answer_t = u_t W_out

A layer has one head. It differs from `linear_transformer` in the softmax alone, and so has no state
of fixed size: token by token, it keeps all keys and values.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.papers.gdssm.shared.sequence_models.plain.linear_transformer import drawn
from icl_core.papers.gdssm.shared.weights import Generators, Parameters


def parameters(
    features: int, width: int, state: int, generators: Generators, layers: int, length: int
) -> Parameters:
    """Draw random parameters for sequences of up to `length` tokens."""
    return drawn(
        features, width, state, generators, layers, length, keys=width**-0.5, out=state**-0.5
    )


def forward(p: Parameters, tokens: Float[Tensor, "tasks T f"]) -> Float[Tensor, "tasks T f"]:
    """Return the answers at all tokens, for one seed's parameters."""
    T = tokens.shape[1]
    u = tokens @ p["W_in"] + p["P"][:T]  # (tasks, T, width)
    future = torch.ones(T, T, dtype=torch.bool, device=u.device).triu(1)
    for W_Q, W_K, W_V, W_O in zip(p["W_Q"], p["W_K"], p["W_V"], p["W_O"], strict=True):
        q, k, v = (u @ W for W in (W_Q, W_K, W_V))  # (tasks, T, state)
        scores = q @ k.mT / math.sqrt(q.shape[-1])  # (tasks, T, T), queries are rows
        attention = scores.masked_fill(future, -torch.inf).softmax(-1)
        u = u + attention @ v @ W_O  # (tasks, T, width)
    return u @ p["W_out"]  # (tasks, T, f)


def recur(p: Parameters, tokens: Float[Tensor, "tasks T f"]) -> Float[Tensor, "tasks T f"]:
    """Return the same, one token after the other, with a cache of keys and values for each
    layer."""
    layers = len(p["W_Q"])
    keys: list[list[Tensor]] = [[] for _ in range(layers)]
    values: list[list[Tensor]] = [[] for _ in range(layers)]
    answers = []
    for t, s in enumerate(tokens.unbind(1)):  # (tasks, f)
        u = s @ p["W_in"] + p["P"][t]  # (tasks, width)
        for layer in range(layers):
            q, k, v = (u @ p[name][layer] for name in ("W_Q", "W_K", "W_V"))
            keys[layer].append(k)
            values[layer].append(v)
            scores = torch.einsum("nm,tnm->nt", q, torch.stack(keys[layer]))  # (tasks, t)
            attention = (scores / math.sqrt(q.shape[-1])).softmax(-1)
            mixed = torch.einsum("nt,tnm->nm", attention, torch.stack(values[layer]))
            u = u + mixed @ p["W_O"][layer]
        answers.append(u @ p["W_out"])
    return torch.stack(answers, 1)
