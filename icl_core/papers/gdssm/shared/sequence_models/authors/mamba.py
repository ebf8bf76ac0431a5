"""Mamba (Gu and Dao 2023), one block as its authors build it (Figure 3, Sections 3.4 and 3.6, and their code).

    u_t = s_t W_in,  n_t = u_t over its root mean square
    x_t, g_t = n_t W_x, n_t W_gate                                     twice as wide
    x_t <- silu(causal convolution of x over 4 tokens + bias)
    Z_t = exp(Δ_t A) * Z_{t-1} + (Δ_t * x_t) B_t^T                     as in `plain.mamba`; a state of 16 a channel
    answer_t = (u_t + ((Z_t C_t + D * x_t) * silu(g_t)) W_y) W_out

A begins at -(1..16), D at 1, the bias of Δ so that Δ is log-uniform: the authors' on [.001, .1], for thousands of
tokens, here on [1/T, 1]. A, D and that bias, which the authors exempt from weight decay, are trained at a smaller rate.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import silu

from icl_core.papers.gdssm.shared.sequence_models.authors import parts
from icl_core.papers.gdssm.shared.sequence_models.authors.parts import CONVOLVED, Hidden, Shape, normalised
from icl_core.papers.gdssm.shared.sequence_models.initial import Generators, Parameters, uniform
from icl_core.papers.gdssm.shared.sequence_models.plain import mamba as plain
from icl_core.papers.gdssm.shared.sequence_models.plain.mamba import EXPANSION, Channel, Reader, State, selected
from icl_core.papers.gdssm.shared.sequence_models.scan import scan

STATE = 16
SLOW = ("log_A", "D", "b_Δ")


def state(shape: Shape) -> int:
    """Numbers a channel, whatever the width."""
    return STATE


def parameters(shape: Shape, generators: Generators) -> Parameters:
    """Random parameters; those of the convolution and of W_up as in the authors' code."""
    d, rank = EXPANSION * shape.width, math.ceil(shape.width / 16)
    Δ = (uniform(generators, d) - 1).mul(math.log(shape.positions)).exp()
    return {
        **plain.parameters(shape.features, shape.width, STATE, generators),
        **parts.norm(shape, generators),
        "b_convolution": (2 * uniform(generators, d) - 1) * CONVOLVED**-0.5,
        "W_up": (2 * uniform(generators, rank, d) - 1) * rank**-0.5,
        "b_Δ": Δ.expm1().log(),  # the inverse of softplus
    }


def forward(p: Parameters, tokens: Float[Tensor, "tasks T f"]) -> Float[Tensor, "tasks T f"]:
    """The answers at all tokens, for one seed's parameters."""
    u = tokens @ p["W_in"]  # (tasks, T, width)
    n = normalised(p, u)
    x = silu(parts.convolved(n @ p["W_x"], p["convolution"]) + p["b_convolution"])  # (tasks, T, d)
    a, b, C = selected(p, x)  # a, b: (tasks, T, d, state)
    return answer(p, u, n, x, scan(a, b), C)


def recur(p: Parameters, tokens: Float[Tensor, "tasks T f"]) -> Float[Tensor, "tasks T f"]:
    """The same, one token after the other: what is remembered is Z and the last inputs of the convolution."""
    tasks, (d, size) = tokens.shape[0], p["log_A"].shape
    Z, recent = tokens.new_zeros(tasks, d, size), tokens.new_zeros(tasks, CONVOLVED, d)
    answers = []
    for s in tokens.unbind(1):  # (tasks, f)
        u = s @ p["W_in"]  # (tasks, width)
        n = normalised(p, u)
        recent = parts.newest(recent, n @ p["W_x"])  # (tasks, 4, d)
        x = silu((recent * p["convolution"]).sum(1) + p["b_convolution"])  # (tasks, d)
        a, b, C = selected(p, x)
        Z = a * Z + b  # (tasks, d, state)
        answers.append(answer(p, u, n, x, Z, C))
    return torch.stack(answers, 1)


def answer(p: Parameters, u: Hidden, n: Hidden, x: Channel, Z: State, C: Reader) -> Float[Tensor, "*rest f"]:
    """What is read from the state, gated and added to the token."""
    y = (Z * C[..., None, :]).sum(-1) + p["D"] * x  # (*rest, d)
    return (u + (y * silu(n @ p["W_gate"])) @ p["W_y"]) @ p["W_out"]  # (*rest, f)
