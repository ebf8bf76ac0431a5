"""S5 (Smith, Warrington and Linderman 2023), one layer as its authors build it (Figure 2,
Appendices B and G).

    u_t = s_t W_in,  n_t = layer norm of u_t
    z_t = A z_{t-1} + B n_t,  v_t = gelu(2 Re(C z_t) + D * n_t)        the recurrence as in
                              `plain.s5`
    answer_t = (u_t + v_t * sigmoid(v_t W_g + b_g)) W_out              the half gate of the authors'
                                                                       code

Λ is HiPPO-N's diagonal in conjugate pairs, the input held for a step (ZOH), Δ one a state. The
authors draw Δ log-uniform on [.001, .1], for thousands of tokens; here on [1/T, 1]. They train Λ, B
and Δ at a smaller rate (Appendix G), and so does this.
"""

import math

import torch
from jaxtyping import Complex, Float
from torch import Tensor
from torch.nn.functional import gelu

from icl_core.papers.gdssm.shared.sequence_models.authors import parts
from icl_core.papers.gdssm.shared.sequence_models.authors.parts import Hidden, Shape, normalised
from icl_core.papers.gdssm.shared.sequence_models.initial_weights import (
    Generators,
    Parameters,
    uniform,
)
from icl_core.papers.gdssm.shared.sequence_models.plain import s5 as plain
from icl_core.papers.gdssm.shared.sequence_models.plain.s5 import discretised
from icl_core.papers.gdssm.shared.sequence_models.scan import associative_scan

SLOW = ("log_decay", "frequency", "B", "log_step")


def state(shape: Shape) -> int:
    """Conjugate pairs: as many as the width, so that the state is twice as large (authors: once to
    twice)."""
    return shape.width


def parameters(shape: Shape, generators: Generators) -> Parameters:
    """Random parameters, Δ log-uniform on [1/T, 1]."""
    pairs = state(shape)
    return {
        **plain.parameters(shape.features, shape.width, pairs, generators),
        **parts.norm(shape, generators, shift=True),
        "log_step": (uniform(generators, pairs) - 1) * math.log(shape.positions),
        "b_g": parts.filled(generators, 0.0, shape.width),
    }


def forward(
    p: Parameters, tokens: Float[Tensor, "tasks T f"], last: bool = False
) -> Float[Tensor, "tasks R f"]:
    """The answers at all tokens, or at the `last` one alone, for one seed's parameters."""
    A, B = discretised(p)
    u = tokens @ p["W_in"]  # (tasks, T, width)
    n = normalised(p, u)
    driven = torch.complex(n @ B.real.T, n @ B.imag.T)  # (tasks, T, state)
    at = parts.answered_tokens(last)
    return answer(p, u[:, at], n[:, at], associative_scan(A.expand_as(driven), driven)[:, at])


def recur(p: Parameters, tokens: Float[Tensor, "tasks T f"]) -> Float[Tensor, "tasks T f"]:
    """The same, one token after the other: all that is remembered is z."""
    A, B = discretised(p)
    z, answers = A.new_zeros(tokens.shape[0], len(A)), []
    for s in tokens.unbind(1):  # (tasks, f)
        u = s @ p["W_in"]  # (tasks, width)
        n = normalised(p, u)
        z = A * z + n.to(B.dtype) @ B.T  # (tasks, state)
        answers.append(answer(p, u, n, z))
    return torch.stack(answers, 1)


def answer(
    p: Parameters, u: Hidden, n: Hidden, z: Complex[Tensor, "*rest state"]
) -> Float[Tensor, "*rest f"]:
    """What is read from the state, gated and added to the token."""
    real, imaginary = p["C"]
    v = gelu(2 * (z.real @ real.T - z.imag @ imaginary.T) + p["D"] * n)  # (*rest, width)
    return (u + v * (v @ p["W_g"] + p["b_g"]).sigmoid()) @ p["W_out"]  # (*rest, f)
