"""S5 (Smith, Warrington and Linderman 2023), layers as its authors build them (Figure 2,
Appendices B and G).

    u_t = s_t W_in,  n_t = layer norm of u_t
    z_t = A z_{t-1} + B n_t,  v_t = gelu(2 Re(C z_t) + D * n_t)        the recurrence as in
                              `plain.s5`
    answer_t = (u_t + v_t * sigmoid(v_t W_g + b_g)) W_out              the half gate of the authors'
                                                                       code

Λ is HiPPO-N's diagonal in conjugate pairs, the input held for a step (ZOH), Δ one a state. The
authors draw Δ log-uniform on [.001, .1], for thousands of tokens; here on [1/T, 1]. They train Λ, B
and Δ at a smaller rate (Appendix G), and so does this.

In their code the norm is over tasks and tokens by default (`run_train.py`, `--batchnorm True`), a
mean and a variance for each hidden number: it hides no token's size. With `Shape.whole` it is so
here. Their code keeps running averages for the evaluation; here the statistics are those of the
tasks that are answered together, in training and in evaluation (up to 128), so that no answer
depends on how a training went.
"""

import math

import torch
from jaxtyping import Complex, Float
from torch import Tensor
from torch.nn.functional import gelu

from icl_core.papers.gdssm.shared.sequence_models.authors import parts
from icl_core.papers.gdssm.shared.sequence_models.authors.parts import Hidden, Shape, normalised
from icl_core.papers.gdssm.shared.sequence_models.plain import s5 as plain
from icl_core.papers.gdssm.shared.sequence_models.plain.s5 import discretised
from icl_core.papers.gdssm.shared.sequence_models.recurrences import associative_scan
from icl_core.papers.gdssm.shared.weights import Generators, Parameters, uniform

SLOW = ("log_decay", "frequency", "B", "log_step")
WHOLE_EPSILON = 1e-5  # as flax's BatchNorm, which the authors' code calls


def state(shape: Shape) -> int:
    """Return the number of conjugate pairs: as many as the width, so that the state is twice as
    large (authors: once to twice)."""
    return shape.width


def parameters(shape: Shape, generators: Generators) -> Parameters:
    """Draw random parameters, Δ log-uniform on [1/T, 1]."""
    return {
        **_layer(shape, generators),
        **parts.biases(shape, generators),
        **parts.further(shape, lambda: _layer(shape, generators)),
    }


def _layer(shape: Shape, generators: Generators) -> Parameters:
    """Draw one layer, with a read-in and a read-out."""
    pairs = state(shape)
    norm = parts.norm(shape, generators, shift=True)
    return {
        **plain.parameters(shape.features, shape.width, pairs, generators),
        **({f"whole_{name}": tensor for name, tensor in norm.items()} if shape.whole else norm),
        "log_step": (uniform(generators, pairs) - 1) * math.log(shape.positions),
        "b_g": parts.filled(generators, 0.0, shape.width),
    }


def forward(
    p: Parameters, tokens: Float[Tensor, "tasks T f"], last: bool = False
) -> Float[Tensor, "tasks R f"]:
    """Return the answers at all tokens, or at the `last` one alone, for one seed's parameters."""
    u = parts.read_in(p, tokens)  # (tasks, T, width)
    layers = parts.layers_of(p)
    for index, layer in enumerate(layers):
        A, B = discretised(layer)
        n = seen(layer, u)
        driven = torch.complex(n @ B.real.T, n @ B.imag.T)  # (tasks, T, state)
        at = parts.asked_of(last, index, len(layers))
        z = associative_scan(A.expand_as(driven), driven)[:, at]
        u = added(layer, u[:, at], n[:, at], z)
    return parts.read_out(p, u)


def recur(p: Parameters, tokens: Float[Tensor, "tasks T f"]) -> Float[Tensor, "tasks T f"]:
    """Return the same, one token after the other, layer by layer, since a norm over all tasks and
    tokens asks for all of them: all that a layer remembers is z."""
    u = parts.read_in(p, tokens)  # (tasks, T, width)
    for layer in parts.layers_of(p):
        A, B = discretised(layer)
        n = seen(layer, u)
        z = A.new_zeros(tokens.shape[0], len(A))
        steps = []
        for u_t, n_t in zip(u.unbind(1), n.unbind(1), strict=True):
            z = A * z + n_t.to(B.dtype) @ B.T  # (tasks, state)
            steps.append(added(layer, u_t, n_t, z))
        u = torch.stack(steps, 1)
    return parts.read_out(p, u)


def seen(p: Parameters, u: Float[Tensor, "tasks T width"]) -> Float[Tensor, "tasks T width"]:
    """Return what the recurrence reads: the layer norm of each token, or the norm of each hidden
    number over all tasks and tokens."""
    if "whole_norm" not in p:
        return normalised(p, u)
    centred = u - u.mean((0, 1))
    variance = centred.square().mean((0, 1))  # (width,)
    return centred * (variance + WHOLE_EPSILON).rsqrt() * p["whole_norm"] + p["whole_shift"]


def added(
    p: Parameters, u: Hidden, n: Hidden, z: Complex[Tensor, "*rest state"]
) -> Float[Tensor, "*rest width"]:
    """Return the token with what is read from the state, gated."""
    real, imaginary = p["C"]
    v = gelu(2 * (z.real @ real.T - z.imag @ imaginary.T) + p["D"] * n)  # (*rest, width)
    return u + v * (v @ p["W_g"] + p["b_g"]).sigmoid()
