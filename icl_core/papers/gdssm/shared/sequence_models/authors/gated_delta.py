"""A gated delta network (Yang, Kautz and Hatamizadeh 2024), blocks as its authors build them
(Section 3.4, Figure 1, and their code), with several heads.

    u_t = s_t W_in,  n_t = u_t over its root mean square
    q, k, v                silu of a causal convolution over 4 tokens of n W_Q, n W_K, n W_V;
                           q and k of length 1
    S_t = α_t S_{t-1} (I - β_t k_t k_t^T) + β_t v_t k_t^T,  o_t = S_t q_t
                           as in `plain.gated_delta`
    u_t <- u_t + W_O [o_t over its root mean square * silu(n_t W_gate)]     a norm for every head
    u_t <- u_t + (silu(n_t W_g) * (n_t W_1)) W_2                            three times as wide
    answer_t = u_t W_out

Values are twice as long as keys, as in the authors' code, and A and Δ begin as there: at A = 8 and
Δ = .01, in the middle of their ranges, a state halves in nine tokens, which suits ten or twenty.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import silu

from icl_core.papers.gdssm.shared.sequence_models.authors import parts
from icl_core.papers.gdssm.shared.sequence_models.authors.parts import (
    CONVOLVED,
    EPSILON,
    Hidden,
    Shape,
    block_parameters,
    normalised,
)
from icl_core.papers.gdssm.shared.sequence_models.plain.gated_delta import MOST, STEPS, gates
from icl_core.papers.gdssm.shared.sequence_models.recurrences import delta_rule, delta_step, unit
from icl_core.papers.gdssm.shared.weights import Generators, Parameters, matrix, uniform

LONGER = 2  # values, times keys
WIDER = 3  # the feed-forward layer, times the width (authors: 8/3)
SLOW = ("log_A", "b_Δ")


def state(shape: Shape) -> int:
    """Return the size of a head's keys; its values are twice as long."""
    return shape.head


def parameters(shape: Shape, generators: Generators) -> Parameters:
    """Draw random parameters; Δ log-uniform on `STEPS`, A uniform up to `MOST`, both one a head."""
    return {
        **_layer(shape, generators),
        **parts.biases(shape, generators),
        **parts.further(shape, lambda: _layer(shape, generators)),
    }


def _layer(shape: Shape, generators: Generators) -> Parameters:
    """Draw one block, with a read-in and a read-out."""
    width = shape.width
    heads = shape.heads
    keys = heads * shape.head
    values = heads * LONGER * shape.head
    low, high = map(math.log, STEPS)
    Δ = (low + uniform(generators, heads) * (high - low)).exp()
    sizes = {"Q": keys, "K": keys, "V": values}
    return {
        **parts.in_and_out(shape, generators),
        **parts.norm(shape, generators),
        **{f"W_{name}": matrix(generators, width, size) for name, size in sizes.items()},
        **{
            f"convolution_{name}": matrix(generators, CONVOLVED, size)
            for name, size in sizes.items()
        },
        "W_a": matrix(generators, width, heads),
        "W_b": matrix(generators, width, heads),
        "log_A": (MOST * uniform(generators, heads)).clamp(min=1e-2).log(),
        "b_Δ": Δ.expm1().log(),  # the inverse of softplus
        **({"norm_o": parts.filled(generators, 1.0, LONGER * shape.head)} if shape.norm else {}),
        "W_gate": matrix(generators, width, values),
        "W_O": matrix(generators, values, width),
        **parts.gated_layer(shape, generators, 1, WIDER),
    }


def forward(
    p: Parameters, tokens: Float[Tensor, "tasks T f"], last: bool = False
) -> Float[Tensor, "tasks R f"]:
    """Return the answers at all tokens, or at the `last` one alone, for one seed's parameters."""
    u = parts.read_in(p, tokens)  # (tasks, T, width)
    layers = parts.layers_of(p)
    for index, layer in enumerate(layers):
        u = _block(layer, u, parts.asked_of(last, index, len(layers)))
    return parts.read_out(p, u)


def _block(
    p: Parameters, u: Float[Tensor, "tasks T width"], asked: slice
) -> Float[Tensor, "tasks R width"]:
    """Return what a block makes of all tokens, at those that are `asked`."""
    n = normalised(p, u)
    mixed = [parts.convolved(n @ p[f"W_{name}"], p[f"convolution_{name}"]) for name in "QKV"]
    heads = read(mixed, len(p["log_A"]))  # (tasks, T, heads, m) each
    q, k, v = (tensor.transpose(1, 2) for tensor in heads)  # (tasks, heads, T, m)
    log_alpha, beta = (gate.mT for gate in gates(p, n))  # (tasks, heads, T)
    o = delta_rule(q[:, :, asked], k, v, log_alpha, beta)  # (tasks, heads, R, 2 m)
    return added(p, u[:, asked], n[:, asked], o.transpose(1, 2))


def recur(p: Parameters, tokens: Float[Tensor, "tasks T f"]) -> Float[Tensor, "tasks T f"]:
    """Return the same, one token after the other: each block remembers what it needs."""
    blocks = [_steps(layer, len(tokens)) for layer in parts.layers_of(p)]
    answers = []
    for s in tokens.unbind(1):  # (tasks, f)
        u = parts.read_in(p, s)  # (tasks, width)
        for block in blocks:
            u = block(u)
        answers.append(parts.read_out(p, u))
    return torch.stack(answers, 1)


def _steps(p: Parameters, tasks: int) -> parts.Step:
    """Return a block as a step from token to token, which remembers S and the inputs of the
    convolutions."""
    heads = len(p["log_A"])
    sizes = {name: p[f"W_{name}"].shape[-1] for name in "QKV"}
    new = p["W_Q"].new_zeros
    recent = {name: new(tasks, CONVOLVED, size) for name, size in sizes.items()}
    S = new(tasks, heads, sizes["V"] // heads, sizes["K"] // heads)

    def step(u: Tensor) -> Tensor:
        nonlocal S, recent
        n = normalised(p, u)
        recent = {name: parts.newest(last, n @ p[f"W_{name}"]) for name, last in recent.items()}
        mixed = [(last * p[f"convolution_{name}"]).sum(1) for name, last in recent.items()]
        q, k, v = read(mixed, heads)
        S, o = delta_step(S, q, k, v, *gates(p, n))  # (tasks, heads, 2 m)
        return added(p, u, n, o)

    return step


def read(mixed: list[Tensor], heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the heads of what the three convolutions give, (*rest, heads, m) each: queries and
    keys of length 1, and values."""
    q, k, v = (parts.split(silu(tensor), heads) for tensor in mixed)
    return unit(q), unit(k), v


def added(
    p: Parameters, u: Hidden, n: Hidden, o: Float[Tensor, "*rest heads n"]
) -> Float[Tensor, "*rest width"]:
    """Return the token with what is read from the state, normalised a head and gated, and with what
    the feed-forward layer makes of both."""
    if "norm_o" in p:
        o = o * (o.square().mean(-1, keepdim=True) + EPSILON).rsqrt() * p["norm_o"]
    u = u + (o.flatten(-2) * silu(n @ p["W_gate"])) @ p["W_O"]  # (*rest, width)
    mlp = block_parameters(p, "mlp", 0)
    inner = normalised(mlp, u)
    return u + (silu(inner @ mlp["W_g"]) * (inner @ mlp["W_1"])) @ mlp["W_2"]
