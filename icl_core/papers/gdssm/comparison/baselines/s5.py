"""S5 (Smith, Warrington and Linderman, Simplified State Space Layers for Sequence Modeling, 2023), one layer.

    u_t = s_t W_in
    z_t = A z_{t-1} + B u_t          A = exp(Λ Δ), B = Λ^-1 (A - 1) B~      diagonal, complex; Δ a state (Eqs. 5, 6)
    v_t = 2 Re(C z_t) + D * u_t                                             one of each conjugate pair is kept (3.2)
    g_t = gelu(v_t) * sigmoid(gelu(v_t) W_g)                                the layer's gated activation (Appendix G)
    answer_t = (u_t + g_t) W_out

A does not depend on the tokens. Without the gate the answer would be linear in them, and no linear map beats zero:
y_q = W x_q has no correlation with any token, since W has mean zero whatever the x, and x_q whatever the y.
"""

import math

import torch
from jaxtyping import Complex, Float
from torch import Tensor
from torch.nn.functional import gelu

from icl_core.papers.gdssm.comparison.baselines.scan import scan
from icl_core.papers.gdssm.comparison.baselines.seeds import Parameters, stacked


def parameters(features: int, width: int, state: int, generator: torch.Generator, seeds: int = 1) -> Parameters:
    """Random parameters, float32, with a leading axis of seeds; Λ and B from one HiPPO-LegS matrix.

    `state` counts conjugate pairs: P = 2 state in the paper.
    """
    Λ, V = (each.to(generator.device, torch.complex64) for each in hippo(state))  # (state), (2 state, state)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, device=generator.device)

    def draw() -> Parameters:
        B = V.mH @ torch.complex(normal(2 * state, width), torch.zeros(1, device=generator.device)) * width**-0.5
        C = torch.complex(normal(width, 2 * state), normal(width, 2 * state)) @ V * (2 * state) ** -0.5
        return {
            "W_in": normal(features, width) * features**-0.5,
            "log_decay": (-Λ.real).log(),
            "frequency": Λ.imag,
            "B": torch.stack([B.real, B.imag]),  # (2, state, width)
            "C": torch.stack([C.real, C.imag]),  # (2, width, state)
            "D": normal(width),
            "log_step": log_uniform(state, generator),
            "W_out": normal(width, features) * 0.1 * width**-0.5,
            "W_g": normal(width, width) * width**-0.5,
        }

    return stacked(draw, seeds)


def hippo(pairs: int) -> tuple[Complex[Tensor, "pairs"], Complex[Tensor, "2*pairs pairs"]]:
    """Eigenvalues of positive frequency, and their vectors, of the normal part of HiPPO-LegS (Eq. 7), complex128.

    The matrix is -1/2 on the diagonal and antisymmetric beside it, with -sqrt((n + 1/2)(k + 1/2)) below.
    """
    root = (torch.arange(2 * pairs, dtype=torch.float64) + 0.5).sqrt()
    below = (root[:, None] * root).tril(-1)
    frequencies, vectors = torch.linalg.eigh(1j * (below - below.T))  # in rising order, symmetric about zero
    return torch.complex(torch.full((pairs,), -0.5, dtype=torch.float64), frequencies[pairs:]), vectors[:, pairs:]


def log_uniform(n: int, generator: torch.Generator, low: float = 1e-3, high: float = 1e-1) -> Float[Tensor, "n"]:
    """Logarithms of steps Δ between `low` and `high`, as the paper draws them (B.1.3)."""
    uniform = torch.rand(n, generator=generator, device=generator.device)
    return math.log(low) + uniform * (math.log(high) - math.log(low))


def discretised(p: Parameters) -> tuple[Complex[Tensor, "state"], Complex[Tensor, "state width"]]:
    """A and B of the recurrence over tokens: the input is held constant for a step Δ (zero-order hold, Eq. 6)."""
    Λ = torch.complex(-p["log_decay"].exp(), p["frequency"])  # (state): real parts always negative
    A = (Λ * p["log_step"].exp()).exp()
    return A, ((A - 1) / Λ)[:, None] * torch.complex(*p["B"].unbind())


def forward(p: Parameters, tokens: Float[Tensor, "tasks T f"]) -> Float[Tensor, "tasks T f"]:
    """The answers at all tokens, for one seed's parameters."""
    A, B = discretised(p)
    u = tokens @ p["W_in"]  # (tasks, T, width)
    driven = torch.complex(u @ B.real.T, u @ B.imag.T)  # (tasks, T, state)
    z = scan(A.expand_as(driven), driven)
    return answer(p, u, z)


def recur(p: Parameters, tokens: Float[Tensor, "tasks T f"]) -> Float[Tensor, "tasks T f"]:
    """The same, one token after the other: all that is remembered is z."""
    A, B = discretised(p)
    z, answers = A.new_zeros(tokens.shape[0], len(A)), []
    for s in tokens.unbind(1):  # (tasks, f)
        u = s @ p["W_in"]  # (tasks, width)
        z = A * z + u.to(B.dtype) @ B.T  # (tasks, state)
        answers.append(answer(p, u, z))
    return torch.stack(answers, 1)


def answer(
    p: Parameters, u: Float[Tensor, "*rest width"], z: Complex[Tensor, "*rest state"]
) -> Float[Tensor, "*rest f"]:
    """What is read from the state, gated and added to the token."""
    real, imaginary = p["C"]
    v = gelu(2 * (z.real @ real.T - z.imag @ imaginary.T) + p["D"] * u)  # (*rest, width)
    return (u + v * (v @ p["W_g"]).sigmoid()) @ p["W_out"]  # (*rest, f)
