"""A gated delta network (Yang, Kautz and Hatamizadeh 2024), one block as its authors build it
(Section 3.4, Figure 1, and their code), with four heads.

    u_t = s_t W_in,  n_t = u_t over its root mean square
    q, k, v                silu of a causal convolution over 4 tokens of n W_Q, n W_K, n W_V; q and
                           k of length 1
    S_t = α_t S_{t-1} (I - β_t k_t k_t^T) + β_t v_t k_t^T,  o_t = S_t q_t              as in
                                                            `plain.gated_delta`
    u_t <- u_t + W_O [o_t over its root mean square * silu(n_t W_gate)]                a norm a head
    u_t <- u_t + (silu(n_t W_g) * (n_t W_1)) W_2                                       three times
                                                                                       as wide
    answer_t = u_t W_out

Values are twice as long as keys, as in the authors' code, and A and Δ begin as there: at A = 8 and
Δ = .01, in the middle of their ranges, a state halves in nine tokens, which suits ten or twenty.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import silu

from icl_core.papers.gdssm.shared.sequence_models import delta_rule
from icl_core.papers.gdssm.shared.sequence_models.authors import parts
from icl_core.papers.gdssm.shared.sequence_models.authors.parts import (
    CONVOLVED,
    EPSILON,
    HEADS,
    Hidden,
    Shape,
    block_parameters,
    normalised,
)
from icl_core.papers.gdssm.shared.sequence_models.initial_weights import (
    Generators,
    Parameters,
    matrix,
    uniform,
)
from icl_core.papers.gdssm.shared.sequence_models.plain.gated_delta import MOST, STEPS, gates

LONGER, WIDER = 2, 3  # values, times keys; the feed-forward layer, times the width (authors: 8/3)
SLOW = ("log_A", "b_Δ")


def state(shape: Shape) -> int:
    """The size of a head's keys; its values are twice as long."""
    return shape.head


def parameters(shape: Shape, generators: Generators) -> Parameters:
    """Random parameters; Δ log-uniform on `STEPS`, A uniform up to `MOST`, both one a head."""
    width, keys, values = shape.width, HEADS * shape.head, HEADS * LONGER * shape.head
    low, high = map(math.log, STEPS)
    Δ = (low + uniform(generators, HEADS) * (high - low)).exp()
    sizes = {"Q": keys, "K": keys, "V": values}
    return {
        **parts.in_and_out(shape, generators),
        **parts.norm(shape, generators),
        **{f"W_{name}": matrix(generators, width, size) for name, size in sizes.items()},
        **{
            f"convolution_{name}": matrix(generators, CONVOLVED, size)
            for name, size in sizes.items()
        },
        "W_a": matrix(generators, width, HEADS),
        "W_b": matrix(generators, width, HEADS),
        "log_A": (MOST * uniform(generators, HEADS)).clamp(min=1e-2).log(),
        "b_Δ": Δ.expm1().log(),  # the inverse of softplus
        **({"norm_o": parts.filled(generators, 1.0, LONGER * shape.head)} if shape.norm else {}),
        "W_gate": matrix(generators, width, values),
        "W_O": matrix(generators, values, width),
        **parts.gated_layer(shape, generators, 1, WIDER),
    }


def forward(
    p: Parameters, tokens: Float[Tensor, "tasks T f"], last: bool = False
) -> Float[Tensor, "tasks R f"]:
    """The answers at all tokens, or at the `last` one alone, for one seed's parameters."""
    u = tokens @ p["W_in"]  # (tasks, T, width)
    n = normalised(p, u)
    mixed = (parts.convolved(n @ p[f"W_{name}"], p[f"convolution_{name}"]) for name in "QKV")
    q, k, v = (each.transpose(1, 2) for each in read(*mixed))  # (tasks, heads, T, m)
    log_alpha, beta = (each.mT for each in gates(p, n))  # (tasks, heads, T)
    at = parts.answered_tokens(last)
    return answer(
        p,
        u[:, at],
        n[:, at],
        delta_rule.parallel(q[:, :, at], k, v, log_alpha, beta).transpose(1, 2),
    )


def recur(p: Parameters, tokens: Float[Tensor, "tasks T f"]) -> Float[Tensor, "tasks T f"]:
    """The same, one token after the other: remembered are S and the inputs of the convolutions."""
    tasks, sizes = len(tokens), {name: p[f"W_{name}"].shape[-1] for name in "QKV"}
    recent = {name: tokens.new_zeros(tasks, CONVOLVED, size) for name, size in sizes.items()}
    S, answers = tokens.new_zeros(tasks, HEADS, sizes["V"] // HEADS, sizes["K"] // HEADS), []
    for s in tokens.unbind(1):  # (tasks, f)
        u = s @ p["W_in"]  # (tasks, width)
        n = normalised(p, u)
        recent = {name: parts.newest(last, n @ p[f"W_{name}"]) for name, last in recent.items()}
        q, k, v = read(*((last * p[f"convolution_{name}"]).sum(1) for name, last in recent.items()))
        S, o = delta_rule.step(S, q, k, v, *gates(p, n))  # (tasks, heads, 2 m)
        answers.append(answer(p, u, n, o))
    return torch.stack(answers, 1)


def read(
    q: Float[Tensor, "*rest keys"], k: Float[Tensor, "*rest keys"], v: Float[Tensor, "*rest values"]
) -> tuple[Tensor, Tensor, Tensor]:
    """The heads of what the convolutions give, (*rest, heads, m) each: queries and keys of length
    1, and values."""
    q, k, v = (parts.split(silu(each)) for each in (q, k, v))
    return delta_rule.unit(q), delta_rule.unit(k), v


def answer(
    p: Parameters, u: Hidden, n: Hidden, o: Float[Tensor, "*rest heads n"]
) -> Float[Tensor, "*rest f"]:
    """What is read from the state, normalised a head and gated, then the feed-forward layer."""
    if "norm_o" in p:
        o = o * (o.square().mean(-1, keepdim=True) + EPSILON).rsqrt() * p["norm_o"]
    u = u + (o.flatten(-2) * silu(n @ p["W_gate"])) @ p["W_O"]  # (*rest, width)
    mlp = block_parameters(p, "mlp", 0)
    inner = normalised(mlp, u)
    return (u + (silu(inner @ mlp["W_g"]) * (inner @ mlp["W_1"])) @ mlp["W_2"]) @ p["W_out"]
