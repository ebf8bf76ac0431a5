"""The transformer with softmax attention (Vaswani et al. 2017), as its authors build it but for the
norms, which stand before the blocks as since GPT-2; causal, with learned positions.

    u_t = s_t W_in + p_t
    u_t <- u_t + W_O [sum_s softmax_s(q_t . k_s / sqrt m) v_s], s <= t     for each layer, of each
                                                                           of the heads
    u_t <- u_t + W_2 gelu(W_1 n_t + b_1) + b_2                             four times as wide
    answer_t = u_t W_out

It differs from `linear_transformer` in the softmax alone.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.papers.gdssm.shared.sequence_models.authors import parts
from icl_core.papers.gdssm.shared.sequence_models.authors.linear_transformer import (
    drawn,
    layers,
    read,
    state,
)
from icl_core.papers.gdssm.shared.sequence_models.authors.parts import (
    HEADS,
    Shape,
    block_parameters,
)
from icl_core.papers.gdssm.shared.weights import Generators, Parameters

__all__ = ["SLOW", "forward", "parameters", "recur", "state"]
SLOW = ()


def parameters(shape: Shape, generators: Generators) -> Parameters:
    """Draw random parameters."""
    return drawn(shape, generators, out=(shape.heads * shape.head) ** -0.5)


def forward(
    p: Parameters, tokens: Float[Tensor, "tasks T f"], last: bool = False, heads: int = HEADS
) -> Float[Tensor, "tasks R f"]:
    """Return the answers at all tokens, or at the `last` one alone, for one seed's parameters."""
    T = tokens.shape[1]
    u = parts.read_in(p, tokens) + p["P"][:T]  # (tasks, T, width)
    future = torch.ones(T, T, dtype=torch.bool, device=u.device).triu(1)
    for layer in range(layers(p)):
        block = block_parameters(p, "attention", layer)
        q, k, v = read(block, u, heads)  # (tasks, heads, T, m)
        at = parts.answered_tokens(last and layer == layers(p) - 1)
        q = q[:, :, at]
        u = u[:, at]
        mixed = (q @ k.mT).masked_fill(future[at], -torch.inf).softmax(-1) @ v  # queries are rows
        u = u + mixed.transpose(1, 2).flatten(2) @ block["W_O"]  # (tasks, T, width)
        u = u + parts.fed_forward(block_parameters(p, "mlp", layer), u)
    return parts.read_out(p, u)  # (tasks, T, f)


def recur(
    p: Parameters, tokens: Float[Tensor, "tasks T f"], heads: int = HEADS
) -> Float[Tensor, "tasks T f"]:
    """Return the same, one token after the other, with a cache of keys and values for each
    layer."""
    keys: list[list[Tensor]] = [[] for _ in range(layers(p))]
    values: list[list[Tensor]] = [[] for _ in range(layers(p))]
    answers = []
    for t, s in enumerate(tokens.unbind(1)):  # (tasks, f)
        u = parts.read_in(p, s) + p["P"][t]  # (tasks, width)
        for layer in range(layers(p)):
            block = block_parameters(p, "attention", layer)
            # of the one token: (tasks, heads, m) each
            q, k, v = (tensor[:, :, 0] for tensor in read(block, u[:, None], heads))
            keys[layer].append(k)
            values[layer].append(v)
            scores = torch.einsum("nhm,tnhm->nht", q, torch.stack(keys[layer]))
            mixed = torch.einsum("nht,tnhm->nhm", scores.softmax(-1), torch.stack(values[layer]))
            u = u + mixed.flatten(1) @ block["W_O"]
            u = u + parts.fed_forward(block_parameters(p, "mlp", layer), u)
        answers.append(parts.read_out(p, u))
    return torch.stack(answers, 1)
