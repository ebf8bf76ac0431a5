"""The full transformer of Figures 2, 10 and 11, read from top to bottom. L layers of H heads, each
d/H wide:

    x = w_E(z_t) + p_t
    in every layer   x += sum_h W_O^h z^h,   z^h_t = sum_s A^h[t, s] W_V^h x_s
                     A^h = softmax((W_Q^h x_t)^T (W_K^h x_s) / sqrt(d/H)) over s <= t
                     x += W_out relu(W_in x)
    logits = W_U x

With layer norm, attention, feed-forward layer and unembedding read LN(x) in place of x. The
feed-forward layer reads what attention has written, as the paper says; the authors' code gives it
the input of its block. Only layer norm has biases. The weights tell how many layers there are, and
whether with feed-forward layers and layer norm.
"""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

Weights = Mapping[str, Tensor]  # by name; those of layer 1 end in 1, of layer 2 in 2, …
HeadOutputs = Float[Tensor, "batch H T d_H"]
# of a layer's number and its z, what goes on in its place
Change = Callable[[int, HeadOutputs], HeadOutputs]
EMBEDDINGS = ("W_E", "P")
WIDER = 4  # the hidden layer of the feed-forward layer, times d


class Pass(NamedTuple):
    """What a model makes of sequences; of each layer the attention maps, the head outputs z, and
    the stream before it."""

    logits: Float[Tensor, "batch T N"]
    attention: list[Float[Tensor, "batch H T T"]]
    outputs: list[HeadOutputs]
    streams: list[Float[Tensor, "batch T d"]]


def initialise(
    N: int,
    d: int,
    T: int,
    layers: int,
    generator: torch.Generator,
    scale: str = "code",
    mlp: bool = True,
    layer_norm: bool = False,
) -> dict[str, Tensor]:
    """Return random weights, float32, on the generator's device.

    scale "paper": every entry of every matrix N(0, 1/columns), embeddings N(0, 1/d).
    scale "code": the authors' defaults: W_E and P N(0, 1); all others uniform on +-1/sqrt(columns).
    """
    where = {"generator": generator, "device": generator.device}

    def matrix(rows: int, columns: int) -> Float[Tensor, "rows columns"]:
        if scale == "paper":
            return columns**-0.5 * torch.randn(rows, columns, **where)
        return columns**-0.5 * (2 * torch.rand(rows, columns, **where) - 1)

    spread = d**-0.5 if scale == "paper" else 1.0
    weights = {"W_E": spread * torch.randn(N, d, **where), "P": spread * torch.randn(T, d, **where)}
    for layer in range(1, layers + 1):
        weights |= {f"{name}{layer}": matrix(d, d) for name in ("W_Q", "W_K", "W_V", "W_O")}
        if mlp:
            weights |= {f"W_in{layer}": matrix(WIDER * d, d), f"W_out{layer}": matrix(d, WIDER * d)}
    weights["W_U"] = matrix(N, d)
    if layer_norm:
        parts = []
        for layer in range(1, layers + 1):
            parts.append(f"attention{layer}")
            if mlp:
                parts.append(f"mlp{layer}")
        for name in (*parts, "out"):
            weights |= {f"gain_{name}": torch.ones(d), f"bias_{name}": torch.zeros(d)}
    return weights


def layers_of(weights: Weights) -> int:
    """Return how many layers there are."""
    return sum(name.startswith("W_Q") for name in weights)


def forward(
    weights: Weights, tokens: Int[Tensor, "batch T"], heads: int, change: Change | None = None
) -> Pass:
    """Return the logits of the next token at every position, all attention maps (rows are queries)
    and all head outputs.

    `change` may put something else in the place of a layer's head outputs, before W_O: an ablation,
    a patch. The sequences may be shorter than the T positions that the weights hold.
    """
    x = weights["W_E"][tokens] + weights["P"][: tokens.shape[1]]  # (batch, T, d)
    maps = []
    outputs = []
    streams = []
    for layer in range(1, layers_of(weights) + 1):
        z, attention = attend(weights, layer, read(weights, x, f"attention{layer}"), heads)
        if change:
            z = change(layer, z)  # (batch, H, T, d/H)
        streams.append(x)
        x = after_heads(weights, layer, x, z)
        maps.append(attention)
        outputs.append(z)
    return Pass(logits_of(weights, x), maps, outputs, streams)


def after_heads(
    weights: Weights, layer: int, x: Float[Tensor, "batch T d"], z: HeadOutputs
) -> Float[Tensor, "batch T d"]:
    """Return the stream after a layer whose heads have written z into the stream x before it."""
    # heads side by side: (batch, H, T, d/H) to (batch, T, d)
    x = x + z.transpose(1, 2).flatten(2) @ weights[f"W_O{layer}"].T
    if f"W_in{layer}" in weights:
        hidden = F.relu(read(weights, x, f"mlp{layer}") @ weights[f"W_in{layer}"].T)
        x = x + hidden @ weights[f"W_out{layer}"].T  # from (batch, T, 4d)
    return x


def logits_of(weights: Weights, x: Float[Tensor, "batch T d"]) -> Float[Tensor, "batch T N"]:
    """Return the logits of the next token, of the stream after the last layer."""
    return read(weights, x, "out") @ weights["W_U"].T


def attend(
    weights: Weights, layer: int, x: Float[Tensor, "batch T d"], heads: int
) -> tuple[HeadOutputs, Float[Tensor, "batch H T T"]]:
    """Return what the heads of a layer read, and where."""
    T, d = x.shape[1:]
    q, k, v = (
        (x @ weights[f"{name}{layer}"].T)
        .unflatten(2, (heads, d // heads))
        .transpose(1, 2)  # (batch, H, T, d/H)
        for name in ("W_Q", "W_K", "W_V")
    )
    scores = q @ k.mT / math.sqrt(d // heads)  # (batch, H, T, T), queries are rows
    future = torch.ones(T, T, dtype=torch.bool, device=x.device).triu(1)
    attention = scores.masked_fill(future, -torch.inf).softmax(-1)
    return attention @ v, attention


def read(weights: Weights, x: Float[Tensor, "*batch d"], where: str) -> Float[Tensor, "*batch d"]:
    """Return the stream as a part reads it: under layer norm, if there is one."""
    if f"gain_{where}" not in weights:
        return x
    return F.layer_norm(x, x.shape[-1:], weights[f"gain_{where}"], weights[f"bias_{where}"])
