"""A gated delta network (Yang, Kautz and Hatamizadeh 2024), one layer, one head, no convolution, no
norm, no gate.

    u_t = s_t W_in;  q, k, v = u W_Q, u W_K, u W_V, q and k of length 1
    S_t = α_t S_{t-1} (I - β_t k_t k_t^T) + β_t v_t k_t^T
    answer_t = (u_t + W_O S_t q_t) W_out
    α_t = exp(-A softplus(u_t W_a + b_Δ)),  β_t = sigmoid(u_t W_b)

Of all models here its state is the nearest relative of one that accumulates a gradient.
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import softplus

from icl_core.papers.gdssm.shared.sequence_models.recurrences import delta_rule, delta_step, unit
from icl_core.papers.gdssm.shared.weights import Generators, Parameters, matrix, uniform

STEPS = (1e-3, 1e-1)  # Δ at the start, between these
MOST = 16.0  # A at most, as in the authors' code


def parameters(features: int, width: int, state: int, generators: Generators) -> Parameters:
    """Draw random parameters; Δ log-uniform on `STEPS`, A uniform up to `MOST`."""
    Δ = STEPS[0] * (STEPS[1] / STEPS[0]) ** uniform(generators, 1)
    return {
        "W_in": matrix(generators, features, width),
        "W_Q": matrix(generators, width, state),
        "W_K": matrix(generators, width, state),
        "W_V": matrix(generators, width, state),
        "W_a": matrix(generators, width, 1),
        "W_b": matrix(generators, width, 1),
        "log_A": (MOST * uniform(generators, 1)).clamp(min=1e-2).log(),
        "b_Δ": Δ.expm1().log(),  # the inverse of softplus
        "W_O": matrix(generators, state, width),
        "W_out": 0.1 * matrix(generators, width, features),
    }


def gates(p: Parameters, u: Float[Tensor, "*rest width"]) -> tuple[Tensor, Tensor]:
    """Return log α and β of each head, (*rest, heads)."""
    return -p["log_A"].exp() * softplus(u @ p["W_a"] + p["b_Δ"]), (u @ p["W_b"]).sigmoid()


def forward(p: Parameters, tokens: Float[Tensor, "tasks T f"]) -> Float[Tensor, "tasks T f"]:
    """Return the answers at all tokens, for one seed's parameters."""
    u = tokens @ p["W_in"]  # (tasks, T, width)
    q, k, v = (u @ p[name] for name in ("W_Q", "W_K", "W_V"))  # (tasks, T, state)
    log_alpha, beta = (gate[..., 0] for gate in gates(p, u))  # (tasks, T)
    read = delta_rule(unit(q), unit(k), v, log_alpha, beta)
    return (u + read @ p["W_O"]) @ p["W_out"]  # (tasks, T, f)


def recur(p: Parameters, tokens: Float[Tensor, "tasks T f"]) -> Float[Tensor, "tasks T f"]:
    """Return the same, one token after the other: what is remembered is S."""
    size = p["W_Q"].shape[-1]
    S = tokens.new_zeros(len(tokens), size, size)
    answers = []
    for s in tokens.unbind(1):  # (tasks, f)
        u = s @ p["W_in"]  # (tasks, width)
        q, k, v = (u @ p[name] for name in ("W_Q", "W_K", "W_V"))
        log_alpha, beta = (gate[..., 0] for gate in gates(p, u))
        S, read = delta_step(S, unit(q), unit(k), v, log_alpha, beta)
        answers.append((u + read @ p["W_O"]) @ p["W_out"])
    return torch.stack(answers, 1)
