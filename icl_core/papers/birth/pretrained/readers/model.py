"""What all readers share: the size of a model, what a forward pass gives, and what may be put in
the place of what its heads do.

A reader is a value with the weights, under the names that they have in the file, and these methods.
Layers and heads count from 1, as in the full transformer; r is what a layer's heads read of the
stream x.

    embed(tokens)               x before layer 1                          [batch, T, d]
    read(layer, x)              r = norm(x)                               [batch, T, d]
    read_part(layer, part)      what the norm makes of a part of x, but for its scale
    queries(layer, r)           W_Q r, before its rotation                [batch, H, T, d_H]
    keys(layer, r), values(…)   W_K r and W_V r, those of a group repeated for each of its heads
    rotate(vectors, positions)  queries or keys at these positions; as they are without rotations
    output(layer, head)         W_O of one head                           [d, d_H]
    write(layer, z)             what all heads add to the stream          [batch, T, d]
    unembed(x, tokens)          logits of the next token, of some or all  [batch, T, N]
    onward(x, first, …)         the layers from `first` on, and unembed   Pass
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

Weights = Mapping[str, Tensor]
Maps = Float[Tensor, "batch H T T"]
HeadOutputs = Float[Tensor, "batch H T d_H"]
Stream = Float[Tensor, "batch T d"]


@dataclass(frozen=True)
class Shape:
    """The size of a model.

    architecture  "llama", "gpt2" or "gpt_neox"
    layers, heads, key_heads
                  heads a layer, and of how many groups they share keys and values
    d, d_H        width of the stream and of a head
    hidden        width inside a feed-forward layer
    N             number of tokens
    T             most positions
    epsilon       added under the root of its norms
    base          of the rotations' frequencies; 0 without rotations
    rotated       dimensions of a head that rotate
    tied          whether W_U is W_E
    activation    of its feed-forward layers: "silu", "gelu", "gelu_new" or "relu"
    parallel      whether a feed-forward layer reads what the heads of its layer read
    """

    architecture: str
    layers: int
    heads: int
    key_heads: int
    d: int
    d_H: int
    hidden: int
    N: int
    T: int
    epsilon: float
    base: float
    rotated: int
    tied: bool
    activation: str
    parallel: bool = False


class Change(NamedTuple):
    """What goes on in the place of what a layer's heads do: functions of the layer's number and of
    its attention maps, or of its head outputs z. None leaves them as they are."""

    attention: Callable[[int, Maps], Maps] | None = None
    outputs: Callable[[int, HeadOutputs], HeadOutputs] | None = None


NO_CHANGE = Change()


class Pass(NamedTuple):
    """What a model makes of sequences: the logits, and where asked for, of each layer the attention
    maps and the head outputs z, as they went on, and the stream before each layer and after the
    last."""

    logits: Float[Tensor, "batch T N"]
    attention: list[Maps]
    outputs: list[HeadOutputs]
    streams: list[Stream]


@runtime_checkable
class Reader(Protocol):
    """A model that has been read, see above."""

    @property
    def shape(self) -> Shape: ...
    @property
    def weights(self) -> Weights: ...
    def embed(self, tokens: Int[Tensor, "batch T"]) -> Tensor: ...
    def read(self, layer: int, x: Tensor) -> Tensor: ...
    def read_part(self, layer: int, part: Tensor) -> Tensor: ...
    def queries(self, layer: int, r: Tensor) -> Tensor: ...
    def keys(self, layer: int, r: Tensor) -> Tensor: ...
    def values(self, layer: int, r: Tensor) -> Tensor: ...
    def rotate(self, vectors: Tensor, positions: Tensor) -> Tensor: ...
    def output(self, layer: int, head: int) -> Tensor: ...
    def write(self, layer: int, z: Tensor) -> Tensor: ...
    def unembed(self, x: Tensor, tokens: Tensor | None = None) -> Tensor: ...
    def onward(
        self, x: Tensor, first: int = 1, change: Change = NO_CHANGE, keep: bool = False
    ) -> Pass: ...


@torch.no_grad()
def forward(
    model: Reader, tokens: Int[Tensor, "batch T"], change: Change = NO_CHANGE, keep: bool = False
) -> Pass:
    """Return the logits of sequences; with `keep` the maps, head outputs and streams, too."""
    return model.onward(model.embed(tokens), 1, change, keep)


def attend(
    model: Reader, layer: int, r: Float[Tensor, "batch T d"], change: Change
) -> tuple[Maps, HeadOutputs]:
    """Return where the heads of a layer look and what they read there, with what `change` puts in
    their place.

        A[t, s] = softmax over s <= t of (R_t q_t)^T (R_s k_s) / sqrt(d_H)
        z_t = sum_s A[t, s] v_s
    """
    T = r.shape[1]
    positions = torch.arange(T)
    q = model.rotate(model.queries(layer, r), positions)  # (batch, H, T, d_H)
    k = model.rotate(model.keys(layer, r), positions)
    scores = q @ k.mT / model.shape.d_H**0.5  # (batch, H, T, T), queries are rows
    future = torch.ones(T, T, dtype=torch.bool).triu(1)
    maps = scores.masked_fill(future, -torch.inf).softmax(-1)
    if change.attention:
        maps = change.attention(layer, maps)
    z = maps @ model.values(layer, r)  # (batch, H, T, d_H)
    if change.outputs:
        z = change.outputs(layer, z)
    return maps, z


def turned(
    vectors: Float[Tensor, "*batch T d_H"],
    positions: Int[Tensor, "T"],
    base: float,
    rotated: int,
) -> Float[Tensor, "*batch T d_H"]:
    """Return vectors with their first `rotated` dimensions turned by their positions.

    Dimensions i and i + rotated/2 make a plane, which turns by base^(−2i / rotated) a position.
    """
    half = rotated // 2
    speeds = base ** (-torch.arange(half, dtype=torch.float32) / half)  # (half,) radians a position
    angles = positions[:, None] * speeds  # (T, half)
    first = vectors[..., :half]
    second = vectors[..., half:rotated]
    turned_parts = (
        first * angles.cos() - second * angles.sin(),
        second * angles.cos() + first * angles.sin(),
        vectors[..., rotated:],
    )
    return torch.cat(turned_parts, -1)
