"""What the authors' blocks are made of: read-in and read-out, norms, heads, a short convolution,
feed-forward layers; and how several layers stand in one model.

A model of several layers has the first one's parameters under their names, and those of all others
stacked under `further.<name>`, (seeds, layers - 1, ...): more layers change no weight of the first.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import gelu, pad

from icl_core.papers.gdssm.shared.weights import Generators, Parameters, matrix, normal, uniform

HEADS = 4
CONVOLVED = 4  # tokens of the convolution
EXPANSION = 4  # of a transformer's feed-forward layer, times the width
EPSILON = 1e-6  # of a norm
FURTHER = "further"  # the layers after the first


@dataclass(frozen=True)
class Shape:
    """What a model is built for.

    features   the size of a token; there are up to `positions` of them
    width      hidden numbers
    layers     of a Griffin, groups of blocks
    norm       whether its blocks begin with a norm, which hides the size of what they read
    heads      of attention and of the gated delta network
    bias       whether the read-in and the read-out add a vector
    whole      whether S5's norm is taken over all tasks and tokens, as in its authors' code
    """

    features: int
    width: int
    layers: int
    positions: int
    norm: bool
    heads: int = HEADS
    bias: bool = False
    whole: bool = False

    @property
    def head(self) -> int:
        """The size of each head, rounded up, so that every width has as many."""
        return math.ceil(self.width / self.heads)


def in_and_out(shape: Shape, generators: Generators) -> Parameters:
    """Draw what lets a token in and, small at first, an answer out."""
    return {
        "W_in": matrix(generators, shape.features, shape.width),
        "W_out": 0.1 * matrix(generators, shape.width, shape.features),
    }


def biases(shape: Shape, generators: Generators) -> Parameters:
    """Draw what the read-in adds, U(-1, 1) / sqrt(features) as torch's nn.Linear draws it, and the
    read-out, zero, as it begins small; nothing without a bias."""
    if not shape.bias:
        return {}
    between = 2 * uniform(generators, shape.width) - 1  # -1 and 1
    return {
        "b_in": between * shape.features**-0.5,
        "b_out": filled(generators, 0.0, shape.features),
    }


def read_in(p: Parameters, tokens: Float[Tensor, "*rest f"]) -> Float[Tensor, "*rest width"]:
    """Return the hidden numbers of tokens."""
    u = tokens @ p["W_in"]
    return u + p["b_in"] if "b_in" in p else u


def read_out(p: Parameters, u: Float[Tensor, "*rest width"]) -> Float[Tensor, "*rest f"]:
    """Return the answers at hidden numbers."""
    answers = u @ p["W_out"]
    return answers + p["b_out"] if "b_out" in p else answers


def further(shape: Shape, draw: Callable[[], Parameters]) -> Parameters:
    """Draw the parameters of the layers after the first, each anew, without read-in and
    read-out."""
    layers = [draw() for _ in range(shape.layers - 1)]
    names = [name for name in (layers[0] if layers else ()) if name not in ("W_in", "W_out")]
    # (seeds, ...) of each layer to (seeds, layers - 1, ...)
    stacked = {name: torch.stack([layer[name] for layer in layers], 1) for name in names}
    return named(FURTHER, stacked)


def layers_of(p: Parameters) -> list[Parameters]:
    """Return one seed's parameters of every layer, the first one's among those of the whole
    model."""
    stacked = [tensor for name, tensor in p.items() if name.startswith(f"{FURTHER}.")]
    count = len(stacked[0]) if stacked else 0
    return [p, *(block_parameters(p, FURTHER, index) for index in range(count))]


def asked_of(last: bool, layer: int, layers: int) -> slice:
    """Return the tokens that a layer has to give: only the last layer may leave out all but the
    last."""
    return answered_tokens(last and layer == layers - 1)


def stack(generators: Generators, blocks: int, inputs: int, outputs: int) -> Tensor:
    """Draw a matrix for each block, N(0, 1 / inputs), (seeds, blocks, inputs, outputs)."""
    return normal(generators, blocks, inputs, outputs, std=inputs**-0.5)


def filled(generators: Generators, value: float, *shape: int) -> Tensor:
    """Return the same number for all seeds, (seeds, *shape)."""
    return torch.full((len(generators), *shape), value)


def norm(shape: Shape, generators: Generators, *blocks: int, shift: bool = False) -> Parameters:
    """Return the scale of a norm, 1, and with `shift`, of a layer norm, its shift, 0; nothing where
    there is to be none."""
    if not shape.norm:
        return {}
    size = (*blocks, shape.width)
    parameters = {"norm": filled(generators, 1.0, *size)}
    if shift:
        parameters["shift"] = filled(generators, 0.0, *size)
    return parameters


def named(block: str, parameters: Parameters) -> Parameters:
    """Return the parameters under the name of their block."""
    return {f"{block}.{name}": tensor for name, tensor in parameters.items()}


def block_parameters(p: Parameters, block: str, index: int) -> Parameters:
    """Return one seed's parameters of a block, of several of its kind the one at `index`."""
    return {
        name.removeprefix(f"{block}."): tensor[index]
        for name, tensor in p.items()
        if name.startswith(f"{block}.")
    }


def answered_tokens(last: bool) -> slice:
    """Return the tokens at which there is an answer."""
    return slice(-1, None) if last else slice(None)


Hidden = Float[Tensor, "*rest width"]
Step = Callable[[Float[Tensor, "tasks width"]], Float[Tensor, "tasks width"]]


def normalised(p: Parameters, u: Hidden) -> Hidden:
    """Return what a block reads: `u` over its root mean square, or where there is a shift the layer
    norm; `u` itself without a norm."""
    if "norm" not in p:
        return u
    if "shift" in p:
        u = u - u.mean(-1, keepdim=True)
    scaled = u * (u.square().mean(-1, keepdim=True) + EPSILON).rsqrt() * p["norm"]
    return scaled + p["shift"] if "shift" in p else scaled


def split(x: Float[Tensor, "*rest both"], heads: int) -> Float[Tensor, "*rest heads head"]:
    """Return the heads of a vector: (..., heads head) as (..., heads, head)."""
    return x.unflatten(-1, (heads, -1))


def convolved(
    x: Float[Tensor, "tasks T d"], kernel: Float[Tensor, "K d"]
) -> Float[Tensor, "tasks T d"]:
    """Return each channel's last K tokens, weighted; the newest token's weight is the last."""
    T = x.shape[1]
    K = len(kernel)
    padded = pad(x, (0, 0, K - 1, 0))  # (tasks, T + K - 1, d)
    return torch.stack([padded[:, i : i + T] * row for i, row in enumerate(kernel)]).sum(0)


def newest(
    recent: Float[Tensor, "tasks K d"], x: Float[Tensor, "tasks d"]
) -> Float[Tensor, "tasks K d"]:
    """Return the last K tokens once `x` has come."""
    return torch.cat([recent[:, 1:], x[:, None]], 1)


def feed_forward(shape: Shape, generators: Generators, blocks: int) -> Parameters:
    """Draw the feed-forward layer of a transformer, four times as wide, with biases (Vaswani et al.
    2017, Section 3.3). What is added to a token begins the smaller the more is added, as in
    GPT-2."""
    wide = EXPANSION * shape.width
    adds = (2 * shape.layers) ** -0.5
    return named("mlp", {
        **norm(shape, generators, blocks, shift=True),
        "W_1": stack(generators, blocks, shape.width, wide),
        "b_1": filled(generators, 0.0, blocks, wide),
        "W_2": adds * stack(generators, blocks, wide, shape.width),
        "b_2": filled(generators, 0.0, blocks, shape.width),
    })  # fmt: skip


def fed_forward(p: Parameters, u: Hidden) -> Hidden:
    """Return what that layer adds to `u`; between its matrices a GELU, as in GPT-2."""
    return gelu(normalised(p, u) @ p["W_1"] + p["b_1"]) @ p["W_2"] + p["b_2"]


def gated_layer(shape: Shape, generators: Generators, blocks: int, expansion: int) -> Parameters:
    """Draw a gated feed-forward layer (GeGLU, SwiGLU: Shazeer 2020), without biases."""
    wide = expansion * shape.width
    return named("mlp", {
        **norm(shape, generators, blocks),
        "W_1": stack(generators, blocks, shape.width, wide),
        "W_g": stack(generators, blocks, shape.width, wide),
        "W_2": stack(generators, blocks, wide, shape.width),
    })  # fmt: skip
