"""The transformer with linear attention (Katharopoulos et al. 2020; Eqs. 2 and 5 of the paper),
with all that its authors put around attention (Vaswani et al. 2017; norms before the blocks, as
since GPT-2).

    u_t = s_t W_in + p_t                                                       learned positions
    u_t <- u_t + W_O [Z_t q_t],  Z_t = Z_{t-1} + v_t k_t^T                     for each layer, of
                                 each of the heads
    u_t <- u_t + W_2 gelu(W_1 n_t + b_1) + b_2                                 four times as wide
    answer_t = u_t W_out

q, k and v read the layer norm n of u. As in the paper attention is linear in q and k: Katharopoulos
et al. put elu + 1 around both and divide by the sum of the scores.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.papers.gdssm.shared.sequence_models.authors import parts
from icl_core.papers.gdssm.shared.sequence_models.authors.parts import (
    HEADS,
    Shape,
    block_parameters,
    normalised,
)
from icl_core.papers.gdssm.shared.sequence_models.initial_weights import Generators, Parameters
from icl_core.papers.gdssm.shared.weights import normal

SLOW = ()


def state(shape: Shape) -> int:
    """The size of a head's keys and values."""
    return shape.head


def parameters(shape: Shape, generators: Generators) -> Parameters:
    """Random parameters; a sum over all positions is of order 1."""
    return drawn(shape, generators, out=(shape.heads * shape.head * shape.positions) ** -0.5)


def drawn(shape: Shape, generators: Generators, out: float) -> Parameters:
    """Those of any transformer; `out` is the standard deviation of W_O, before what is said of
    `parts.feed_forward`."""
    layers, width, both = shape.layers, shape.width, shape.heads * shape.head
    attention = parts.norm(shape, generators, layers, shift=True) | {
        "W_Q": parts.stack(generators, layers, width, both),
        "W_K": parts.stack(generators, layers, width, both),
        "W_V": parts.stack(generators, layers, width, both),
        "W_O": normal(generators, layers, both, width, std=out * (2 * layers) ** -0.5),
    }
    return {
        **parts.in_and_out(shape, generators),
        "P": normal(generators, shape.positions, width, std=0.5),
        **parts.named("attention", attention),
        **parts.feed_forward(shape, generators, layers),
        **parts.biases(shape, generators),
    }


def layers(p: Parameters) -> int:
    """How many there are."""
    return len(p["attention.W_Q"])


def forward(
    p: Parameters, tokens: Float[Tensor, "tasks T f"], last: bool = False, heads: int = HEADS
) -> Float[Tensor, "tasks R f"]:
    """The answers at all tokens, or at the `last` one alone, for one seed's parameters."""
    u = parts.read_in(p, tokens) + p["P"][: tokens.shape[1]]  # (tasks, T, width)
    for layer in range(layers(p)):
        block = block_parameters(p, "attention", layer)
        q, k, v = read(block, u, heads)  # (tasks, heads, T, m)
        at = parts.answered_tokens(last and layer == layers(p) - 1)
        q, u = q[:, :, at], u[:, at]
        mixed = (q @ k.mT).tril(
            k.shape[2] - q.shape[2]
        ) @ v  # queries are rows, and see what came before
        u = u + mixed.transpose(1, 2).flatten(2) @ block["W_O"]  # (tasks, T, width)
        u = u + parts.fed_forward(block_parameters(p, "mlp", layer), u)
    return parts.read_out(p, u)  # (tasks, T, f)


def read(
    block: Parameters, u: Float[Tensor, "tasks T width"], heads: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, over the root of their size, keys and values of all heads, (tasks, heads, T, m)
    each."""
    n = normalised(block, u)
    q, k, v = (
        parts.split(n @ block[name], heads).transpose(1, 2) for name in ("W_Q", "W_K", "W_V")
    )
    return q / math.sqrt(q.shape[-1]), k, v


def recur(
    p: Parameters, tokens: Float[Tensor, "tasks T f"], heads: int = HEADS
) -> Float[Tensor, "tasks T f"]:
    """The same, one token after the other: what is remembered is a matrix for each head."""
    m = p["attention.W_Q"].shape[-1] // heads
    Z, answers = list(tokens.new_zeros(layers(p), len(tokens), heads, m, m)), []
    for t, s in enumerate(tokens.unbind(1)):  # (tasks, f)
        u = parts.read_in(p, s) + p["P"][t]  # (tasks, width)
        for layer in range(layers(p)):
            block = block_parameters(p, "attention", layer)
            q, k, v = (
                each[:, :, 0] for each in read(block, u[:, None], heads)
            )  # (tasks, heads, m)
            Z[layer] = Z[layer] + v[..., :, None] * k[..., None, :]  # (tasks, heads, m, m)
            u = u + (Z[layer] @ q[..., None])[..., 0].flatten(1) @ block["W_O"]
            u = u + parts.fed_forward(block_parameters(p, "mlp", layer), u)
        answers.append(parts.read_out(p, u))
    return torch.stack(answers, 1)
