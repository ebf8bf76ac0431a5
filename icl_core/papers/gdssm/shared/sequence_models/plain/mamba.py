"""Mamba (Gu and Dao, Linear-Time Sequence Modeling with Selective State Spaces, 2023), one layer
(Figure 3).

    u_t = s_t W_in
    x_t, g_t = u_t W_x, u_t W_gate                             twice as wide as u
    x_t <- silu(causal convolution of x over 4 tokens)
    Δ_t = softplus(x_t W_down W_up + b_Δ),  B_t = x_t W_B,  C_t = x_t W_C
                                                               what depends on the token
                                                               (Algorithm 2)
    Z_t = exp(Δ_t A) * Z_{t-1} + (Δ_t * x_t) B_t^T             a state for every channel; A
                                                               diagonal, real, negative
    y_t = Z_t C_t + D * x_t
    answer_t = (u_t + (y_t * silu(g_t)) W_y) W_out

The tokens select what is written, kept and read. Neighbouring tokens meet in the convolution before
they do.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad, silu, softplus

from icl_core.papers.gdssm.shared.sequence_models.recurrences import associative_scan
from icl_core.papers.gdssm.shared.weights import Generators, Parameters, matrix, uniform

# both the paper's
EXPANSION = 2  # channels, times the width
CONVOLVED = 4  # tokens of the convolution
STEPS = (1e-3, 1e-1)  # Δ at the start, between these (3.6)


def parameters(features: int, width: int, state: int, generators: Generators) -> Parameters:
    """Draw random parameters; A_n = -n (S4D-Real, 3.6), Δ log-uniform on `STEPS`."""
    d = EXPANSION * width
    rank = math.ceil(width / 16)
    seeds = len(generators)
    Δ = STEPS[0] * (STEPS[1] / STEPS[0]) ** uniform(generators, d)
    return {
        "W_in": matrix(generators, features, width),
        "W_x": matrix(generators, width, d),
        "W_gate": matrix(generators, width, d),
        # of the convolution's rows the last is that of the newest token
        "convolution": (2 * uniform(generators, CONVOLVED, d) - 1) * CONVOLVED**-0.5,
        "b_convolution": torch.zeros(seeds, d),
        "W_down": matrix(generators, d, rank),
        "W_up": matrix(generators, rank, d),
        "b_Δ": Δ.expm1().log(),  # the inverse of softplus
        "W_B": matrix(generators, d, state),
        "W_C": matrix(generators, d, state),
        "log_A": torch.arange(1.0, state + 1).log().repeat(seeds, d, 1),
        "D": torch.ones(seeds, d),
        "W_y": matrix(generators, d, width),
        "W_out": 0.1 * matrix(generators, width, features),
    }


def forward(p: Parameters, tokens: Float[Tensor, "tasks T f"]) -> Float[Tensor, "tasks T f"]:
    """Return the answers at all tokens, for one seed's parameters."""
    T = tokens.shape[1]
    u = tokens @ p["W_in"]  # (tasks, T, width)
    x = pad(u @ p["W_x"], (0, 0, CONVOLVED - 1, 0))  # (tasks, T + 3, d)
    convolved = sum(x[:, i : i + T] * row for i, row in enumerate(p["convolution"]))
    x = silu(convolved + p["b_convolution"])  # (tasks, T, d)
    a, b, C = selected(p, x)  # a, b: (tasks, T, d, state)
    return answer(p, u, x, associative_scan(a, b), C)


def recur(p: Parameters, tokens: Float[Tensor, "tasks T f"]) -> Float[Tensor, "tasks T f"]:
    """Return the same, one token after the other: what is remembered is Z and the last inputs of
    the convolution."""
    tasks = tokens.shape[0]
    d, state = p["log_A"].shape
    Z = tokens.new_zeros(tasks, d, state)
    recent = tokens.new_zeros(tasks, CONVOLVED, d)
    answers = []
    for s in tokens.unbind(1):  # (tasks, f)
        u = s @ p["W_in"]  # (tasks, width)
        recent = torch.cat([recent[:, 1:], (u @ p["W_x"])[:, None]], 1)  # (tasks, 4, d)
        x = silu((recent * p["convolution"]).sum(1) + p["b_convolution"])  # (tasks, d)
        a, b, C = selected(p, x)
        Z = a * Z + b  # (tasks, d, state)
        answers.append(answer(p, u, x, Z, C))
    return torch.stack(answers, 1)


Channel = Float[Tensor, "*rest d"]
State = Float[Tensor, "*rest d state"]
Reader = Float[Tensor, "*rest state"]


def selected(p: Parameters, x: Channel) -> tuple[State, State, Reader]:
    """Return decay and drive of the recurrence and what reads it, as the token selects them: Z = a
    * Z + b, y = Z C."""
    Δ = softplus(x @ p["W_down"] @ p["W_up"] + p["b_Δ"])  # (*rest, d)
    a = (-Δ[..., None] * p["log_A"].exp()).exp()  # (*rest, d, state)
    # (*rest, d, state): Euler's step, as the paper's code takes
    b = (Δ * x)[..., None] * (x @ p["W_B"])[..., None, :]
    return a, b, x @ p["W_C"]


def answer(
    p: Parameters, u: Float[Tensor, "*rest width"], x: Channel, Z: State, C: Reader
) -> Float[Tensor, "*rest f"]:
    """Return what is read from the state, gated and added to the token."""
    # (*rest, d); many tiny matrix products would be slower
    y = (Z * C[..., None, :]).sum(-1) + p["D"] * x
    y = y * silu(u @ p["W_gate"])
    return (u + y @ p["W_y"]) @ p["W_out"]  # (*rest, f)
