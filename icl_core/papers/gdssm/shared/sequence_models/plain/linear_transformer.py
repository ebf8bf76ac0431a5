"""The transformer with linear attention (Katharopoulos et al. 2020; here as in Eqs. 2 and 5 of the
paper), any layers.

    u_t = s_t W_in + p_t
    u_t <- u_t + W_O Z_t q_t,  Z_t = Z_{t-1} + v_t k_t^T
                               for each layer; q, k, v = u W_Q, u W_K, u W_V
    answer_t = u_t W_out

Z_t q_t = sum_{s <= t} v_s (k_s . q_t): attention without the softmax, so a layer is a recurrence
with a matrix as its state. A layer has one head, and no decay. The p_t are learned: without them
nothing tells an x from the y that follows.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.papers.gdssm.shared.weights import Generators, Parameters, matrix, normal


def parameters(
    features: int, width: int, state: int, generators: Generators, layers: int, length: int
) -> Parameters:
    """Draw random parameters for sequences of up to `length` tokens."""
    # q . k of order 1, and a sum over all positions of order 1: two layers multiply these three
    # times
    keys = width**-0.5 * state**-0.25
    out = (state * length) ** -0.5
    return drawn(features, width, state, generators, layers, length, keys, out)


def drawn(
    features: int,
    width: int,
    state: int,
    generators: Generators,
    layers: int,
    length: int,
    keys: float,
    out: float,
) -> Parameters:
    """Draw the parameters of any transformer; `keys` and `out` are the standard deviations of W_Q
    and W_K, and of W_O."""
    inner = {"W_Q": keys, "W_K": keys, "W_V": width**-0.5}
    return {
        **{name: normal(generators, layers, width, state, std=std) for name, std in inner.items()},
        "W_in": matrix(generators, features, width),
        "P": normal(generators, length, width, std=0.5),
        "W_O": normal(generators, layers, state, width, std=out),
        "W_out": normal(generators, width, features, std=0.1 * width**-0.5),
    }


def forward(p: Parameters, tokens: Float[Tensor, "tasks T f"]) -> Float[Tensor, "tasks T f"]:
    """Return the answers at all tokens, for one seed's parameters."""
    u = tokens @ p["W_in"] + p["P"][: tokens.shape[1]]  # (tasks, T, width)
    for W_Q, W_K, W_V, W_O in zip(p["W_Q"], p["W_K"], p["W_V"], p["W_O"], strict=True):
        q, k, v = (u @ W for W in (W_Q, W_K, W_V))  # (tasks, T, state)
        scores = (q @ k.mT).tril()  # (tasks, T, T): queries are rows, and see what came before
        u = u + scores @ v @ W_O  # (tasks, T, width)
    return u @ p["W_out"]  # (tasks, T, f)


def recur(p: Parameters, tokens: Float[Tensor, "tasks T f"]) -> Float[Tensor, "tasks T f"]:
    """Return the same, one token after the other: what is remembered is a matrix for each layer."""
    layers, _, state = p["W_Q"].shape
    Z = list(tokens.new_zeros(layers, len(tokens), state, state))
    answers = []
    for t, s in enumerate(tokens.unbind(1)):  # (tasks, f)
        u = s @ p["W_in"] + p["P"][t]  # (tasks, width)
        for layer in range(layers):
            q, k, v = (u @ p[name][layer] for name in ("W_Q", "W_K", "W_V"))
            Z[layer] = Z[layer] + v[..., :, None] * k[..., None, :]  # (tasks, state, state)
            u = u + (Z[layer] @ q[..., None])[..., 0] @ p["W_O"][layer]
        answers.append(u @ p["W_out"])
    return torch.stack(answers, 1)
