"""The transformer with linear attention (Katharopoulos et al. 2020; here as in Eqs. 2 and 5 of the paper), any layers.

    u_t = s_t W_in + p_t
    u_t <- u_t + W_O Z_t q_t,  Z_t = Z_{t-1} + v_t k_t^T      for each layer; q, k, v = u W_Q, u W_K, u W_V
    answer_t = u_t W_out

Z_t q_t = sum_{s <= t} v_s (k_s . q_t): attention without the softmax, so a layer is a recurrence with a matrix as its
state. A layer has one head, and no decay. The p_t are learned: without them nothing tells an x from the y that follows.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.papers.gdssm.comparison.baselines.seeds import Parameters, stacked


def parameters(
    features: int,
    width: int,
    state: int,
    generator: torch.Generator,
    seeds: int = 1,
    layers: int = 1,
    positions: int = 21,
) -> Parameters:
    """Random parameters, float32, with a leading axis of seeds, for sequences of up to `positions` tokens."""

    def normal(*shape: int, scale: float) -> Tensor:
        return scale * torch.randn(*shape, generator=generator, device=generator.device)

    def draw() -> Parameters:
        # q . k of order 1, and a sum over all positions of order 1: two layers multiply these three times
        scales = {"W_Q": width**-0.5 * state**-0.25, "W_K": width**-0.5 * state**-0.25, "W_V": width**-0.5}
        into = {name: normal(layers, width, state, scale=scale) for name, scale in scales.items()}
        return into | {
            "W_in": normal(features, width, scale=features**-0.5),
            "P": normal(positions, width, scale=0.5),
            "W_O": normal(layers, state, width, scale=(state * positions) ** -0.5),
            "W_out": normal(width, features, scale=0.1 * width**-0.5),
        }

    return stacked(draw, seeds)


def forward(p: Parameters, tokens: Float[Tensor, "tasks T f"]) -> Float[Tensor, "tasks T f"]:
    """The answers at all tokens, for one seed's parameters."""
    u = tokens @ p["W_in"] + p["P"][: tokens.shape[1]]  # (tasks, T, width)
    for W_Q, W_K, W_V, W_O in zip(p["W_Q"], p["W_K"], p["W_V"], p["W_O"], strict=True):
        q, k, v = (u @ W for W in (W_Q, W_K, W_V))  # (tasks, T, state)
        scores = (q @ k.mT).tril()  # (tasks, T, T): queries are rows, and see what came before
        u = u + scores @ v @ W_O  # (tasks, T, width)
    return u @ p["W_out"]  # (tasks, T, f)


def recur(p: Parameters, tokens: Float[Tensor, "tasks T f"]) -> Float[Tensor, "tasks T f"]:
    """The same, one token after the other: what is remembered is a matrix for each layer."""
    layers, _, state = p["W_Q"].shape
    Z, answers = tokens.new_zeros(layers, len(tokens), state, state), []
    for t, s in enumerate(tokens.unbind(1)):  # (tasks, f)
        u = s @ p["W_in"] + p["P"][t]  # (tasks, width)
        after = []
        for layer in range(layers):
            q, k, v = (u @ p[name][layer] for name in ("W_Q", "W_K", "W_V"))
            after.append(Z[layer] + v[..., :, None] * k[..., None, :])  # (tasks, state, state)
            u = u + (after[-1] @ q[..., None])[..., 0] @ p["W_O"][layer]
        Z = torch.stack(after)
        answers.append(u @ p["W_out"])
    return torch.stack(answers, 1)
