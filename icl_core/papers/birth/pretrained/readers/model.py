"""What all readers share: the size of a model, what a forward pass gives, and what may be put in
the place of what its heads do.

A reader is a value with the weights by name and these methods. Layers and heads count from 1, as in
the full transformer; r is what a layer's heads read of the stream x, z what they give.

    embed(tokens)               x before layer 1                          [batch, T, d]
    onward(x, first, …)         the layers from `first` on, and unembed   Pass; with `last`, logits
                                of so many last positions alone
    unembed(x, tokens)          logits of the next token, of some or all  [batch, N]

and for single vectors, n of them:

    read(layer, x)              r                                         [n, d]
    read_part(layer, part)      r of a part of x, but for the norm's scale and bias
    attend(layer, r, position)  queries, keys and values at a position    [n, H, d_H] each, keys and
                                values of a group repeated; a score is query · key
    write(layer, z)             what all heads add to the stream, without biases  [n, d]
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
HeadVectors = Float[Tensor, "n H d_H"]


@dataclass(frozen=True)
class Shape:
    """The size of a model.

    architecture  its family, as `transformers` names it
    layers, heads heads a layer
    d             width of the stream
    N             rows of the unembedding: tokens, and rows that are none
    T             most positions
    windows       of each layer, how many positions its heads look back on; 0 where on all
    without_maps  the layers that have no attention to read, counted from 1: their maps and outputs
                  are zero. Where all are, there are no heads, and `heads` is 1
    """

    architecture: str
    layers: int
    heads: int
    d: int
    N: int
    T: int
    windows: tuple[int, ...]
    without_maps: tuple[int, ...] = ()


class Facts(NamedTuple):
    """What the beginnings of a model's files say: its family and size; `tokens` stand for text, and
    `numbers` are in its tensors."""

    architecture: str
    layers: int
    heads: int
    d: int
    N: int
    tokens: int
    numbers: int


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
    def onward(
        self,
        x: Tensor,
        first: int = 1,
        change: Change = NO_CHANGE,
        keep: bool = False,
        last: int = 0,
    ) -> Pass: ...
    def unembed(self, x: Tensor, tokens: Tensor | None = None) -> Tensor: ...
    def read(self, layer: int, x: Tensor) -> Tensor: ...
    def read_part(self, layer: int, part: Tensor) -> Tensor: ...
    def attend(self, layer: int, r: Tensor, position: int) -> tuple[Tensor, Tensor, Tensor]: ...
    def write(self, layer: int, z: Tensor) -> Tensor: ...


@torch.no_grad()
def forward(
    model: Reader, tokens: Int[Tensor, "batch T"], change: Change = NO_CHANGE, keep: bool = False
) -> Pass:
    """Return the logits of sequences; with `keep` the maps, head outputs and streams, too."""
    return model.onward(model.embed(tokens), 1, change, keep)
