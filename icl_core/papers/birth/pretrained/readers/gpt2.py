"""A model shaped like GPT-2, read from top to bottom: layer norm, learned positions, one matrix for
queries, keys and values.

    x = w_E(z_t) + p_t
    in every layer   x += b_O + sum_h W_O^h z^h,   z^h_t = sum_s A^h[t, s] (W_V^h n(x_s) + b_V^h)
                     A^h = softmax(q_t^T k_s / sqrt(d_H)) over s <= t
                     q = W_Q^h n(x) + b_Q^h,  k = W_K^h n(x) + b_K^h
                     x += W_out gelu(W_in n(x) + b_in) + b_out
    logits = W_U n(x)

with n(x) = gain * (x - mean(x)) / sqrt(var(x) + epsilon) + bias, its own for each place. The file
holds its matrices transposed: a row an input.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from icl_core.papers.birth.pretrained.readers.model import (
    NO_CHANGE,
    Change,
    HeadOutputs,
    Pass,
    Shape,
    Stream,
    Weights,
    attend,
)


def gelu_new(x: Tensor) -> Tensor:
    """Return GPT-2's approximation of gelu, by tanh."""
    return F.gelu(x, approximate="tanh")


ACTIVATIONS = {
    "gelu_new": gelu_new,
    "gelu": lambda x: F.gelu(x),
    "relu": lambda x: F.relu(x),
}


def expected(shape: Shape) -> dict[str, tuple[int, ...]]:
    """Return the shape of every tensor by its name in the file."""
    d = shape.d
    inside = {
        "ln_1.weight": (d,),
        "ln_1.bias": (d,),
        "attn.c_attn.weight": (d, 3 * d),
        "attn.c_attn.bias": (3 * d,),
        "attn.c_proj.weight": (d, d),
        "attn.c_proj.bias": (d,),
        "ln_2.weight": (d,),
        "ln_2.bias": (d,),
        "mlp.c_fc.weight": (d, shape.hidden),
        "mlp.c_fc.bias": (shape.hidden,),
        "mlp.c_proj.weight": (shape.hidden, d),
        "mlp.c_proj.bias": (d,),
    }
    tensors = {
        "wte.weight": (shape.N, d),
        "wpe.weight": (shape.T, d),
        "ln_f.weight": (d,),
        "ln_f.bias": (d,),
    }
    for layer in range(shape.layers):
        tensors |= {f"h.{layer}.{name}": size for name, size in inside.items()}
    if not shape.tied:
        tensors["lm_head.weight"] = (shape.N, d)
    return tensors


@dataclass(frozen=True)
class GPT2:
    """A model shaped like GPT-2; see `model` for what its methods give."""

    shape: Shape
    weights: Weights

    def embed(self, tokens: Int[Tensor, "batch T"]) -> Stream:
        """Return the stream before layer 1."""
        return self.weights["wte.weight"][tokens] + self.weights["wpe.weight"][: tokens.shape[1]]

    def onward(
        self, x: Stream, first: int = 1, change: Change = NO_CHANGE, keep: bool = False
    ) -> Pass:
        """Return what the layers from `first` on make of the stream before them."""
        kept = Pass(x, [], [], [])
        for layer in range(first, self.shape.layers + 1):
            maps, z = attend(self, layer, self.read(layer, x), change)
            if keep:
                kept.attention.append(maps)
                kept.outputs.append(z)
                kept.streams.append(x)
            x = x + self.write(layer, z)
            x = x + self.feed_forward(layer, x)
        if keep:
            kept.streams.append(x)
        return kept._replace(logits=self.unembed(x))

    def read(self, layer: int, x: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
        """Return n(x), which the heads of a layer read."""
        return self._norm(x, f"h.{layer - 1}.ln_1")

    def read_part(self, layer: int, part: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
        """Return what n makes of a part of the stream, but for 1 / sqrt(var(x)) and the bias."""
        return (part - part.mean(-1, keepdim=True)) * self.weights[f"h.{layer - 1}.ln_1.weight"]

    def queries(self, layer: int, r: Float[Tensor, "batch T d"]) -> HeadOutputs:
        """Return W_Q r + b_Q of every head."""
        return self._third(layer, r, 0)

    def keys(self, layer: int, r: Float[Tensor, "batch T d"]) -> HeadOutputs:
        """Return W_K r + b_K of every head."""
        return self._third(layer, r, 1)

    def values(self, layer: int, r: Float[Tensor, "batch T d"]) -> HeadOutputs:
        """Return W_V r + b_V of every head."""
        return self._third(layer, r, 2)

    def rotate(
        self, vectors: Float[Tensor, "*batch T d_H"], positions: Int[Tensor, "T"]
    ) -> Float[Tensor, "*batch T d_H"]:
        """Return queries or keys as they are: positions are in the stream."""
        return vectors

    def output(self, layer: int, head: int) -> Float[Tensor, "d d_H"]:
        """Return W_O of one head."""
        at = (head - 1) * self.shape.d_H
        return self.weights[f"h.{layer - 1}.attn.c_proj.weight"][at : at + self.shape.d_H].T

    def write(self, layer: int, z: HeadOutputs) -> Stream:
        """Return b_O + sum_h W_O^h z^h."""
        # heads side by side: (batch, H, T, d_H) to (batch, T, d)
        return self._linear(z.transpose(1, 2).flatten(2), f"h.{layer - 1}.attn.c_proj")

    def feed_forward(self, layer: int, x: Stream) -> Stream:
        """Return what the feed-forward layer adds to the stream."""
        r = self._norm(x, f"h.{layer - 1}.ln_2")
        hidden = ACTIVATIONS[self.shape.activation](self._linear(r, f"h.{layer - 1}.mlp.c_fc"))
        return self._linear(hidden, f"h.{layer - 1}.mlp.c_proj")  # from (batch, T, hidden)

    def unembed(
        self, x: Float[Tensor, "*batch d"], tokens: Int[Tensor, "n"] | None = None
    ) -> Float[Tensor, "*batch logits"]:
        """Return the logits of the next token: of all, or of some `tokens`."""
        name = "wte.weight" if self.shape.tied else "lm_head.weight"
        W_U = self.weights[name] if tokens is None else self.weights[name][tokens]
        return self._norm(x, "ln_f") @ W_U.T

    def _third(self, layer: int, r: Float[Tensor, "batch T d"], index: int) -> HeadOutputs:
        """Return queries, keys or values: the first, second or last third of one product."""
        at = slice(index * self.shape.d, (index + 1) * self.shape.d)
        name = f"h.{layer - 1}.attn.c_attn"
        product = r @ self.weights[f"{name}.weight"][:, at] + self.weights[f"{name}.bias"][at]
        return product.unflatten(2, (-1, self.shape.d_H)).transpose(1, 2)

    def _linear(self, r: Tensor, name: str) -> Tensor:
        return r @ self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def _norm(self, x: Float[Tensor, "*batch d"], name: str) -> Float[Tensor, "*batch d"]:
        centred = x - x.mean(-1, keepdim=True)
        variance = centred.square().mean(-1, keepdim=True)
        unit = centred * torch.rsqrt(variance + self.shape.epsilon)
        return unit * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]
