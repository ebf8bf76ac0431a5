"""Mamba (Gu and Dao 2023), blocks as its authors build them (Figure 3, Sections 3.4 and 3.6, and
their code).

    u_t = s_t W_in,  n_t = u_t over its root mean square
    x_t, g_t = n_t W_x, n_t W_gate                          twice as wide
    x_t <- silu(causal convolution of x over 4 tokens + bias)
    Z_t = exp(Δ_t A) * Z_{t-1} + (Δ_t * x_t) B_t^T          as in `plain.mamba`; a state of 16 for
                                                            every channel
    answer_t = (u_t + ((Z_t C_t + D * x_t) * silu(g_t)) W_y) W_out

A begins at -(1..16), D at 1, the bias of Δ so that Δ is log-uniform: the authors' on [.001, .1],
for thousands of tokens, here on [1/T, 1]. The authors exempt A, D and that bias from weight decay;
here, as in S5, they are trained at a smaller rate, which Mamba's authors do not.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import silu, softplus

from icl_core.papers.gdssm.shared.sequence_models.authors import parts
from icl_core.papers.gdssm.shared.sequence_models.authors.parts import (
    CONVOLVED,
    Hidden,
    Shape,
    normalised,
)
from icl_core.papers.gdssm.shared.sequence_models.plain import mamba as plain
from icl_core.papers.gdssm.shared.sequence_models.plain.mamba import (
    EXPANSION,
    Channel,
    Reader,
    State,
    selected,
)
from icl_core.papers.gdssm.shared.sequence_models.recurrences import associative_scan
from icl_core.papers.gdssm.shared.weights import Generators, Parameters, uniform

STATE = 16
SLOW = ("log_A", "D", "b_Δ")


def state(shape: Shape) -> int:
    """Return the numbers of a channel's state, whatever the width."""
    return STATE


def parameters(shape: Shape, generators: Generators) -> Parameters:
    """Draw random parameters; those of the convolution and of W_up as in the authors' code."""
    return {
        **_layer(shape, generators),
        **parts.biases(shape, generators),
        **parts.further(shape, lambda: _layer(shape, generators)),
    }


def _layer(shape: Shape, generators: Generators) -> Parameters:
    """Draw one block, with a read-in and a read-out."""
    d = EXPANSION * shape.width
    rank = math.ceil(shape.width / 16)
    Δ = (uniform(generators, d) - 1).mul(math.log(shape.positions)).exp()
    return {
        **plain.parameters(shape.features, shape.width, STATE, generators),
        **parts.norm(shape, generators),
        "b_convolution": (2 * uniform(generators, d) - 1) * CONVOLVED**-0.5,
        "W_up": (2 * uniform(generators, rank, d) - 1) * rank**-0.5,
        "b_Δ": Δ.expm1().log(),  # the inverse of softplus
    }


def forward(
    p: Parameters, tokens: Float[Tensor, "tasks T f"], last: bool = False
) -> Float[Tensor, "tasks R f"]:
    """Return the answers at all tokens, or at the `last` one alone, whose state is all it needs."""
    u = parts.read_in(p, tokens)  # (tasks, T, width)
    layers = parts.layers_of(p)
    for index, layer in enumerate(layers):
        u = _block(layer, u, last and index == len(layers) - 1)
    return parts.read_out(p, u)


def _block(
    p: Parameters, u: Float[Tensor, "tasks T width"], last: bool
) -> Float[Tensor, "tasks R width"]:
    """Return what a block makes of all tokens, at all of them or at the last one."""
    n = normalised(p, u)
    x = silu(parts.convolved(n @ p["W_x"], p["convolution"]) + p["b_convolution"])  # (tasks, T, d)
    if last:
        return added(p, u[:, -1:], n[:, -1:], x[:, -1:], at_the_end(p, x))
    a, b, C = selected(p, x)  # a, b: (tasks, T, d, state)
    return added(p, u, n, x, read(associative_scan(a, b), C))


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
    """Return a block as a step from token to token, which remembers Z and the last inputs of the
    convolution."""
    d, size = p["log_A"].shape
    Z = p["log_A"].new_zeros(tasks, d, size)
    recent = p["log_A"].new_zeros(tasks, CONVOLVED, d)

    def step(u: Tensor) -> Tensor:
        nonlocal Z, recent
        n = normalised(p, u)
        recent = parts.newest(recent, n @ p["W_x"])  # (tasks, 4, d)
        x = silu((recent * p["convolution"]).sum(1) + p["b_convolution"])  # (tasks, d)
        a, b, C = selected(p, x)
        Z = a * Z + b  # (tasks, d, state)
        return added(p, u, n, x, read(Z, C))

    return step


def read(Z: State, C: Reader) -> Channel:
    """Return Z C of every channel; many tiny matrix products would be slower."""
    return (Z * C[..., None, :]).sum(-1)


def at_the_end(p: Parameters, x: Float[Tensor, "tasks T d"]) -> Float[Tensor, "tasks one d"]:
    """Return what the last token reads, without the states before: each token's drive, decayed by
    all steps after it, of which a diagonal A needs but the sum."""
    Δ = softplus(x @ p["W_down"] @ p["W_up"] + p["b_Δ"])  # (tasks, T, d)
    after = Δ.flip(1).cumsum(1).flip(1)[:, 1:]  # (tasks, T - 1, d): steps from the next token on
    after = torch.cat([after, torch.zeros_like(Δ[:, :1])], 1)  # (tasks, T, d)
    decays = (-after[..., None] * p["log_A"].exp()).exp()  # (tasks, T, d, state)
    products = (x @ p["W_B"]) * (x[:, -1:] @ p["W_C"])  # (tasks, T, state)
    return ((decays * products[:, :, None]).sum(-1) * Δ * x).sum(1, keepdim=True)


def added(
    p: Parameters, u: Hidden, n: Hidden, x: Channel, y: Channel
) -> Float[Tensor, "*rest width"]:
    """Return the token with what is read from the state, `y`, gated."""
    y = y + p["D"] * x  # (*rest, d)
    return u + (y * silu(n @ p["W_gate"])) @ p["W_y"]
