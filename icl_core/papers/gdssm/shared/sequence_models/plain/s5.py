"""S5 (Smith, Warrington and Linderman, Simplified State Space Layers for Sequence Modeling, 2023),
one layer.

    u_t = s_t W_in
    z_t = A z_{t-1} + B u_t          A = exp(Λ Δ), B = Λ^-1 (A - 1) B~: diagonal, complex; a Δ for
                                     every state (Eqs. 5, 6)
    v_t = 2 Re(C z_t) + D * u_t      one of each conjugate pair is kept (3.2)
    g_t = gelu(v_t) * sigmoid(gelu(v_t) W_g)      the layer's gated activation (Appendix G)
    answer_t = (u_t + g_t) W_out

A does not depend on the tokens. Without the gate the answer would be linear in them, and no linear
map beats zero: y_q = W x_q has no correlation with any token, since W has mean zero whatever the x,
and x_q whatever the y.
"""

import math
from functools import partial

import torch
from jaxtyping import Complex, Float
from torch import Tensor
from torch.nn.functional import gelu

from icl_core.papers.gdssm.shared.sequence_models.recurrences import associative_scan
from icl_core.papers.gdssm.shared.weights import Generators, Parameters, matrix, uniform
from icl_core.papers.gdssm.shared.weights import normal as gaussian

STEPS = (1e-3, 1e-1)  # Δ at the start, between these


def parameters(features: int, width: int, state: int, generators: Generators) -> Parameters:
    """Draw random parameters; Λ and B from one HiPPO-LegS matrix, Δ log-uniform on `STEPS` (B.1.3).

    `state` counts conjugate pairs: P = 2 state in the paper.
    """
    Λ, V = (tensor.to(torch.complex64) for tensor in hippo(state))  # (state), (2 state, state)
    seeds = len(generators)
    normal = partial(gaussian, generators, std=1.0)
    B = normal(2 * state, width).to(V.dtype)
    C = torch.complex(normal(width, 2 * state), normal(width, 2 * state))
    # seed by seed: in a batch a seed would round otherwise
    B = torch.stack([V.mH @ own for own in B]) * width**-0.5  # (seeds, state, width)
    C = torch.stack([own @ V for own in C]) * (2 * state) ** -0.5  # (seeds, width, state)
    low, high = map(math.log, STEPS)
    return {
        "W_in": matrix(generators, features, width),
        "log_decay": (-Λ.real).log().repeat(seeds, 1),
        "frequency": Λ.imag.repeat(seeds, 1),
        "B": torch.stack([B.real, B.imag], 1),  # (seeds, 2, state, width)
        "C": torch.stack([C.real, C.imag], 1),  # (seeds, 2, width, state)
        "D": normal(width),
        "log_step": low + uniform(generators, state) * (high - low),
        "W_out": 0.1 * normal(width, features) * width**-0.5,
        "W_g": matrix(generators, width, width),
    }


def hippo(pairs: int) -> tuple[Complex[Tensor, "pairs"], Complex[Tensor, "2*pairs pairs"]]:
    """Return eigenvalues of positive frequency, and their vectors, of the normal part of HiPPO-LegS
    (Eq. 7), complex128.

    The matrix is -1/2 on the diagonal and antisymmetric beside it, with -sqrt((n + 1/2)(k + 1/2))
    below.
    """
    root = (torch.arange(2 * pairs, dtype=torch.float64) + 0.5).sqrt()
    below = (root[:, None] * root).tril(-1)
    # in rising order, symmetric about zero
    frequencies, vectors = torch.linalg.eigh(1j * (below - below.T))
    real = torch.full((pairs,), -0.5, dtype=torch.float64)
    return torch.complex(real, frequencies[pairs:]), vectors[:, pairs:]


def discretised(p: Parameters) -> tuple[Complex[Tensor, "state"], Complex[Tensor, "state width"]]:
    """Return A and B of the recurrence over tokens: the input is held constant for a step Δ
    (zero-order hold, Eq. 6)."""
    Λ = torch.complex(-p["log_decay"].exp(), p["frequency"])  # (state): real parts always negative
    A = (Λ * p["log_step"].exp()).exp()
    return A, ((A - 1) / Λ)[:, None] * torch.complex(*p["B"].unbind())


def forward(p: Parameters, tokens: Float[Tensor, "tasks T f"]) -> Float[Tensor, "tasks T f"]:
    """Return the answers at all tokens, for one seed's parameters."""
    A, B = discretised(p)
    u = tokens @ p["W_in"]  # (tasks, T, width)
    driven = torch.complex(u @ B.real.T, u @ B.imag.T)  # (tasks, T, state)
    z = associative_scan(A.expand_as(driven), driven)
    return answer(p, u, z)


def recur(p: Parameters, tokens: Float[Tensor, "tasks T f"]) -> Float[Tensor, "tasks T f"]:
    """Return the same, one token after the other: only z is remembered."""
    A, B = discretised(p)
    z = A.new_zeros(tokens.shape[0], len(A))
    answers = []
    for s in tokens.unbind(1):  # (tasks, f)
        u = s @ p["W_in"]  # (tasks, width)
        z = A * z + u.to(B.dtype) @ B.T  # (tasks, state)
        answers.append(answer(p, u, z))
    return torch.stack(answers, 1)


def answer(
    p: Parameters, u: Float[Tensor, "*rest width"], z: Complex[Tensor, "*rest state"]
) -> Float[Tensor, "*rest f"]:
    """Return what is read from the state, gated and added to the token."""
    real, imaginary = p["C"]
    v = gelu(2 * (z.real @ real.T - z.imag @ imaginary.T) + p["D"] * u)  # (*rest, width)
    return (u + v * (v @ p["W_g"]).sigmoid()) @ p["W_out"]  # (*rest, f)
