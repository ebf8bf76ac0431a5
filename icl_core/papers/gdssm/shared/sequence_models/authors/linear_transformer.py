"""The transformer with linear attention (Katharopoulos et al. 2020; Eqs. 2 and 5 of the paper),
with all that its authors put around attention (Vaswani et al. 2017; norms before the blocks, as
since GPT-2).

    u_t = s_t W_in + p_t                                          learned positions
    u_t <- u_t + W_O [Z_t q_t],  Z_t = Z_{t-1} + v_t k_t^T        for each layer, of each of the
                                                                  heads
    u_t <- u_t + W_2 gelu(W_1 n_t + b_1) + b_2                    four times as wide
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
from icl_core.papers.gdssm.shared.weights import Generators, Parameters, normal

SLOW = ()


def state(shape: Shape) -> int:
    """Return the size of a head's keys and values."""
    return shape.head


def parameters(shape: Shape, generators: Generators) -> Parameters:
    """Draw random parameters; a sum over all positions is of order 1."""
    return drawn(shape, generators, out=(shape.heads * shape.head * shape.positions) ** -0.5)


def drawn(shape: Shape, generators: Generators, out: float) -> Parameters:
    """Draw the parameters of any transformer; `out` is the standard deviation of W_O, before it is
    made smaller as in `parts.feed_forward`."""
    layers = shape.layers
    width = shape.width
    inner = shape.heads * shape.head
    attention = parts.norm(shape, generators, layers, shift=True) | {
        "W_Q": parts.stack(generators, layers, width, inner),
        "W_K": parts.stack(generators, layers, width, inner),
        "W_V": parts.stack(generators, layers, width, inner),
        "W_O": normal(generators, layers, inner, width, std=out * (2 * layers) ** -0.5),
    }
    return {
        **parts.in_and_out(shape, generators),
        "P": normal(generators, shape.positions, width, std=0.5),
        **parts.named("attention", attention),
        **parts.feed_forward(shape, generators, layers),
        **parts.biases(shape, generators),
    }


def layers(p: Parameters) -> int:
    """Return the number of layers."""
    return len(p["attention.W_Q"])


def forward(
    p: Parameters, tokens: Float[Tensor, "tasks T f"], last: bool = False, heads: int = HEADS
) -> Float[Tensor, "tasks R f"]:
    """Return the answers at all tokens, or at the `last` one alone, for one seed's parameters."""
    u = parts.read_in(p, tokens) + p["P"][: tokens.shape[1]]  # (tasks, T, width)
    for layer in range(layers(p)):
        block = block_parameters(p, "attention", layer)
        q, k, v = read(block, u, heads)  # (tasks, heads, T, m)
        at = parts.answered_tokens(last and layer == layers(p) - 1)
        q = q[:, :, at]
        u = u[:, at]
        before = k.shape[2] - q.shape[2]  # tokens before the first query
        mixed = (q @ k.mT).tril(before) @ v  # queries are rows, and see what came before
        u = u + mixed.transpose(1, 2).flatten(2) @ block["W_O"]  # (tasks, T, width)
        u = u + parts.fed_forward(block_parameters(p, "mlp", layer), u)
    return parts.read_out(p, u)  # (tasks, T, f)


def read(
    block: Parameters, u: Float[Tensor, "tasks T width"], heads: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return queries, over the root of their size, keys and values of all heads, (tasks, heads, T,
    m) each."""
    n = normalised(block, u)
    q, k, v = (
        parts.split(n @ block[name], heads).transpose(1, 2) for name in ("W_Q", "W_K", "W_V")
    )
    return q / math.sqrt(q.shape[-1]), k, v


def recur(
    p: Parameters, tokens: Float[Tensor, "tasks T f"], heads: int = HEADS
) -> Float[Tensor, "tasks T f"]:
    """Return the same, one token after the other: what is remembered is a matrix for each head."""
    m = p["attention.W_Q"].shape[-1] // heads
    Z = list(tokens.new_zeros(layers(p), len(tokens), heads, m, m))
    answers = []
    for t, s in enumerate(tokens.unbind(1)):  # (tasks, f)
        u = parts.read_in(p, s) + p["P"][t]  # (tasks, width)
        for layer in range(layers(p)):
            block = block_parameters(p, "attention", layer)
            # of the one token: (tasks, heads, m) each
            q, k, v = (tensor[:, :, 0] for tensor in read(block, u[:, None], heads))
            Z[layer] = Z[layer] + v[..., :, None] * k[..., None, :]  # (tasks, heads, m, m)
            u = u + (Z[layer] @ q[..., None])[..., 0].flatten(1) @ block["W_O"]
            u = u + parts.fed_forward(block_parameters(p, "mlp", layer), u)
        answers.append(parts.read_out(p, u))
    return torch.stack(answers, 1)
