"""What the authors' blocks are made of: norms, heads, a short convolution, feed-forward layers."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import gelu, pad

from icl_core.papers.gdssm.shared.sequence_models.initial_weights import (
    Generators,
    Parameters,
    matrix,
)
from icl_core.papers.gdssm.shared.weights import normal

HEADS, CONVOLVED, EXPANSION, EPSILON = 4, 4, 4, 1e-6


@dataclass(frozen=True)
class Shape:
    """What a model is built for: tokens of so many `features`, up to `positions` of them; its
    hidden `width`; how many `layers`; and whether its blocks begin with a `norm`, which hides the
    size of what they read."""

    features: int
    width: int
    layers: int
    positions: int
    norm: bool

    @property
    def head(self) -> int:
        """The size of each of `HEADS` heads, rounded up, so that every width has as many."""
        return math.ceil(self.width / HEADS)


def in_and_out(shape: Shape, generators: Generators) -> Parameters:
    """What lets a token in and, small at first, an answer out."""
    return {
        "W_in": matrix(generators, shape.features, shape.width),
        "W_out": 0.1 * matrix(generators, shape.width, shape.features),
    }


def stack(generators: Generators, blocks: int, inputs: int, outputs: int) -> Tensor:
    """A matrix for each block, N(0, 1 / inputs), (seeds, blocks, inputs, outputs)."""
    return normal(generators, blocks, inputs, outputs, std=inputs**-0.5)


def filled(generators: Generators, value: float, *shape: int) -> Tensor:
    """The same number for all seeds, (seeds, *shape)."""
    return torch.full((len(generators), *shape), value)


def norm(shape: Shape, generators: Generators, *blocks: int, shift: bool = False) -> Parameters:
    """The scale of a norm, 1, and with `shift`, of a layer norm, its shift, 0; nothing where there
    is to be none."""
    if not shape.norm:
        return {}
    size = (*blocks, shape.width)
    return {"norm": filled(generators, 1.0, *size)} | (
        {"shift": filled(generators, 0.0, *size)} if shift else {}
    )


def named(block: str, parameters: Parameters) -> Parameters:
    """The parameters under the name of their block."""
    return {f"{block}.{name}": tensor for name, tensor in parameters.items()}


def block_parameters(p: Parameters, block: str, index: int) -> Parameters:
    """One seed's parameters of a block, of several of its kind the one at `index`."""
    return {
        name.removeprefix(f"{block}."): each[index]
        for name, each in p.items()
        if name.startswith(f"{block}.")
    }


def answered_tokens(last: bool) -> slice:
    """The tokens at which there is an answer."""
    return slice(-1, None) if last else slice(None)


Hidden = Float[Tensor, "*rest width"]


def normalised(p: Parameters, u: Hidden) -> Hidden:
    """What a block reads: `u` over its root mean square, or where there is a shift the layer norm;
    `u` itself without a norm."""
    if "norm" not in p:
        return u
    if "shift" in p:
        u = u - u.mean(-1, keepdim=True)
    scaled = u * (u.square().mean(-1, keepdim=True) + EPSILON).rsqrt() * p["norm"]
    return scaled + p["shift"] if "shift" in p else scaled


def split(x: Float[Tensor, "*rest both"]) -> Float[Tensor, "*rest heads head"]:
    """The heads of a vector."""
    return x.unflatten(-1, (HEADS, -1))


def convolved(
    x: Float[Tensor, "tasks T d"], kernel: Float[Tensor, "K d"]
) -> Float[Tensor, "tasks T d"]:
    """Each channel's last K tokens, weighted; the newest token's weight is the last."""
    T, K = x.shape[1], len(kernel)
    padded = pad(x, (0, 0, K - 1, 0))  # (tasks, T + K - 1, d)
    return torch.stack([padded[:, i : i + T] * row for i, row in enumerate(kernel)]).sum(0)


def newest(
    recent: Float[Tensor, "tasks K d"], x: Float[Tensor, "tasks d"]
) -> Float[Tensor, "tasks K d"]:
    """The last K tokens once `x` has come."""
    return torch.cat([recent[:, 1:], x[:, None]], 1)


def feed_forward(shape: Shape, generators: Generators, blocks: int) -> Parameters:
    """The feed-forward layer of a transformer, four times as wide, with biases (Vaswani et al.
    2017, Section 3.3). What is added to a token begins the smaller the more is added, as in GPT-2.
    """
    wide, adds = EXPANSION * shape.width, (2 * shape.layers) ** -0.5
    return named("mlp", {
        **norm(shape, generators, blocks, shift=True),
        "W_1": stack(generators, blocks, shape.width, wide),
        "b_1": filled(generators, 0.0, blocks, wide),
        "W_2": adds * stack(generators, blocks, wide, shape.width),
        "b_2": filled(generators, 0.0, blocks, shape.width),
    })  # fmt: skip


def fed_forward(p: Parameters, u: Hidden) -> Hidden:
    """What it adds to `u`; between its matrices a GELU, as in GPT-2."""
    return gelu(normalised(p, u) @ p["W_1"] + p["b_1"]) @ p["W_2"] + p["b_2"]


def gated_layer(shape: Shape, generators: Generators, blocks: int, expansion: int) -> Parameters:
    """A gated feed-forward layer (GeGLU, SwiGLU: Shazeer 2020), without biases."""
    wide = expansion * shape.width
    return named("mlp", {
        **norm(shape, generators, blocks),
        "W_1": stack(generators, blocks, shape.width, wide),
        "W_g": stack(generators, blocks, shape.width, wide),
        "W_2": stack(generators, blocks, wide, shape.width),
    })  # fmt: skip
