"""A model shaped like GPT-NeoX, read from top to bottom: layer norm, rotary positions on a part of
each head, and a feed-forward layer beside the heads. The Pythia models are such.

    x = w_E(z_t)
    in every layer   x += b_O + sum_h W_O^h z^h + W_out gelu(W_in n'(y) + b_in) + b_out
                     z^h_t = sum_s A^h[t, s] (W_V^h n(x_s) + b_V^h)
                     A^h = softmax((R_t q_t)^T (R_s k_s) / sqrt(d_H)) over s <= t
                     q = W_Q^h n(x) + b_Q^h,  k = W_K^h n(x) + b_K^h
    logits = W_U n(x)

with n(x) = gain * (x - mean(x)) / sqrt(var(x) + epsilon) + bias, its own for each place; y is the
stream before the layer where both read in parallel, and what the heads have left of it otherwise.
R_t turns the first dimensions of a head only.
"""

from dataclasses import dataclass

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
    turned,
)


def expected(shape: Shape) -> dict[str, tuple[int, ...]]:
    """Return the shape of every tensor by its name in the file."""
    d = shape.d
    inside = {
        "input_layernorm.weight": (d,),
        "input_layernorm.bias": (d,),
        "attention.query_key_value.weight": (3 * d, d),
        "attention.query_key_value.bias": (3 * d,),
        "attention.dense.weight": (d, d),
        "attention.dense.bias": (d,),
        "post_attention_layernorm.weight": (d,),
        "post_attention_layernorm.bias": (d,),
        "mlp.dense_h_to_4h.weight": (shape.hidden, d),
        "mlp.dense_h_to_4h.bias": (shape.hidden,),
        "mlp.dense_4h_to_h.weight": (d, shape.hidden),
        "mlp.dense_4h_to_h.bias": (d,),
    }
    tensors = {
        "gpt_neox.embed_in.weight": (shape.N, d),
        "gpt_neox.final_layer_norm.weight": (d,),
        "gpt_neox.final_layer_norm.bias": (d,),
    }
    for layer in range(shape.layers):
        tensors |= {f"gpt_neox.layers.{layer}.{name}": size for name, size in inside.items()}
    if not shape.tied:
        tensors["embed_out.weight"] = (shape.N, d)
    return tensors


@dataclass(frozen=True)
class NeoX:
    """A model shaped like GPT-NeoX; see `model` for what its methods give."""

    shape: Shape
    weights: Weights

    def embed(self, tokens: Int[Tensor, "batch T"]) -> Stream:
        """Return the stream before layer 1."""
        return self.weights["gpt_neox.embed_in.weight"][tokens]

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
            after_heads = x + self.write(layer, z)
            y = x if self.shape.parallel else after_heads
            x = after_heads + self.feed_forward(layer, y)
        if keep:
            kept.streams.append(x)
        return kept._replace(logits=self.unembed(x))

    def read(self, layer: int, x: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
        """Return n(x), which the heads of a layer read."""
        return self._norm(x, f"layers.{layer - 1}.input_layernorm")

    def read_part(self, layer: int, part: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
        """Return what n makes of a part of the stream, but for 1 / sqrt(var(x)) and the bias."""
        gain = self.weights[f"gpt_neox.layers.{layer - 1}.input_layernorm.weight"]
        return (part - part.mean(-1, keepdim=True)) * gain

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
        """Return queries or keys as they are at these positions."""
        return turned(vectors, positions, self.shape.base, self.shape.rotated)

    def output(self, layer: int, head: int) -> Float[Tensor, "d d_H"]:
        """Return W_O of one head."""
        at = (head - 1) * self.shape.d_H
        weight = self.weights[f"gpt_neox.layers.{layer - 1}.attention.dense.weight"]
        return weight[:, at : at + self.shape.d_H]

    def write(self, layer: int, z: HeadOutputs) -> Stream:
        """Return b_O + sum_h W_O^h z^h."""
        # heads side by side: (batch, H, T, d_H) to (batch, T, d)
        return self._linear(z.transpose(1, 2).flatten(2), layer, "attention.dense")

    def feed_forward(self, layer: int, x: Stream) -> Stream:
        """Return what the feed-forward layer adds to the stream."""
        r = self._norm(x, f"layers.{layer - 1}.post_attention_layernorm")
        hidden = F.gelu(self._linear(r, layer, "mlp.dense_h_to_4h"))  # (batch, T, hidden)
        return self._linear(hidden, layer, "mlp.dense_4h_to_h")

    def unembed(
        self, x: Float[Tensor, "*batch d"], tokens: Int[Tensor, "n"] | None = None
    ) -> Float[Tensor, "*batch logits"]:
        """Return the logits of the next token: of all, or of some `tokens`."""
        name = "gpt_neox.embed_in.weight" if self.shape.tied else "embed_out.weight"
        W_U = self.weights[name] if tokens is None else self.weights[name][tokens]
        return self._norm(x, "final_layer_norm") @ W_U.T

    def _third(self, layer: int, r: Float[Tensor, "batch T d"], index: int) -> HeadOutputs:
        """Return queries, keys or values: of every head's three the one with this index."""
        product = self._linear(r, layer, "attention.query_key_value")  # (batch, T, 3 d)
        # head by head q, k, v: (batch, T, H, 3, d_H)
        by_head = product.unflatten(2, (self.shape.heads, 3, self.shape.d_H))
        return by_head[:, :, :, index].transpose(1, 2)

    def _linear(self, r: Tensor, layer: int, name: str) -> Tensor:
        full = f"gpt_neox.layers.{layer - 1}.{name}"
        return r @ self.weights[f"{full}.weight"].T + self.weights[f"{full}.bias"]

    def _norm(self, x: Float[Tensor, "*batch d"], name: str) -> Float[Tensor, "*batch d"]:
        gain = self.weights[f"gpt_neox.{name}.weight"]
        bias = self.weights[f"gpt_neox.{name}.bias"]
        return F.layer_norm(x, x.shape[-1:], gain, bias, self.shape.epsilon)
