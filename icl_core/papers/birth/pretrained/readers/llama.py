"""A model shaped like Llama, read from top to bottom: RMS norm, rotary positions, keys and values
shared by groups of heads. SmolLM2 is one.

    x = w_E(z_t)
    in every layer   x += sum_h W_O^h z^h,   z^h_t = sum_s A^h[t, s] W_V^g n(x_s)
                     A^h = softmax((R_t W_Q^h n(x_t))^T (R_s W_K^g n(x_s)) / sqrt(d_H)) over s <= t
                     x += W_down (silu(W_gate n(x)) * W_up n(x))
    logits = W_U n(x)

with n(x) = gain * x / sqrt(mean(x^2) + epsilon), a gain for each place; g the group of head h; R_t
the rotation of position t. Nothing has a bias.
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
    turned,
)


def expected(shape: Shape) -> dict[str, tuple[int, ...]]:
    """Return the shape of every tensor by its name in the file."""
    d = shape.d
    inside = {
        "input_layernorm.weight": (d,),
        "self_attn.q_proj.weight": (shape.heads * shape.d_H, d),
        "self_attn.k_proj.weight": (shape.key_heads * shape.d_H, d),
        "self_attn.v_proj.weight": (shape.key_heads * shape.d_H, d),
        "self_attn.o_proj.weight": (d, shape.heads * shape.d_H),
        "post_attention_layernorm.weight": (d,),
        "mlp.gate_proj.weight": (shape.hidden, d),
        "mlp.up_proj.weight": (shape.hidden, d),
        "mlp.down_proj.weight": (d, shape.hidden),
    }
    tensors = {"model.embed_tokens.weight": (shape.N, d), "model.norm.weight": (d,)}
    for layer in range(shape.layers):
        tensors |= {f"model.layers.{layer}.{name}": size for name, size in inside.items()}
    if not shape.tied:
        tensors["lm_head.weight"] = (shape.N, d)
    return tensors


@dataclass(frozen=True)
class Llama:
    """A model shaped like Llama; see `model` for what its methods give."""

    shape: Shape
    weights: Weights

    def embed(self, tokens: Int[Tensor, "batch T"]) -> Stream:
        """Return the stream before layer 1."""
        return self.weights["model.embed_tokens.weight"][tokens]

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
        return self._norm(x, f"model.layers.{layer - 1}.input_layernorm.weight")

    def read_part(self, layer: int, part: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
        """Return what n makes of a part of the stream, but for 1 / sqrt(mean(x^2))."""
        return part * self._part(layer, "input_layernorm")

    def queries(self, layer: int, r: Float[Tensor, "batch T d"]) -> HeadOutputs:
        """Return W_Q r of every head."""
        return self._by_head(r @ self._part(layer, "self_attn.q_proj").T)

    def keys(self, layer: int, r: Float[Tensor, "batch T d"]) -> HeadOutputs:
        """Return W_K r of every head's group."""
        return self._of_groups(r @ self._part(layer, "self_attn.k_proj").T)

    def values(self, layer: int, r: Float[Tensor, "batch T d"]) -> HeadOutputs:
        """Return W_V r of every head's group."""
        return self._of_groups(r @ self._part(layer, "self_attn.v_proj").T)

    def rotate(
        self, vectors: Float[Tensor, "*batch T d_H"], positions: Int[Tensor, "T"]
    ) -> Float[Tensor, "*batch T d_H"]:
        """Return queries or keys as they are at these positions."""
        return turned(vectors, positions, self.shape.base, self.shape.rotated)

    def output(self, layer: int, head: int) -> Float[Tensor, "d d_H"]:
        """Return W_O of one head."""
        at = (head - 1) * self.shape.d_H
        return self._part(layer, "self_attn.o_proj")[:, at : at + self.shape.d_H]

    def write(self, layer: int, z: HeadOutputs) -> Stream:
        """Return sum_h W_O^h z^h."""
        # heads side by side: (batch, H, T, d_H) to (batch, T, H · d_H)
        return z.transpose(1, 2).flatten(2) @ self._part(layer, "self_attn.o_proj").T

    def feed_forward(self, layer: int, x: Stream) -> Stream:
        """Return what the feed-forward layer adds to the stream."""
        r = self._norm(x, f"model.layers.{layer - 1}.post_attention_layernorm.weight")
        gate = F.silu(r @ self._part(layer, "mlp.gate_proj").T)  # (batch, T, hidden)
        hidden = gate * (r @ self._part(layer, "mlp.up_proj").T)
        return hidden @ self._part(layer, "mlp.down_proj").T

    def unembed(
        self, x: Float[Tensor, "*batch d"], tokens: Int[Tensor, "n"] | None = None
    ) -> Float[Tensor, "*batch logits"]:
        """Return the logits of the next token: of all, or of some `tokens`."""
        name = "model.embed_tokens.weight" if self.shape.tied else "lm_head.weight"
        W_U = self.weights[name] if tokens is None else self.weights[name][tokens]
        return self._norm(x, "model.norm.weight") @ W_U.T

    def _part(self, layer: int, name: str) -> Tensor:
        return self.weights[f"model.layers.{layer - 1}.{name}.weight"]

    def _norm(self, x: Float[Tensor, "*batch d"], name: str) -> Float[Tensor, "*batch d"]:
        mean_square = x.square().mean(-1, keepdim=True)
        return self.weights[name] * x * torch.rsqrt(mean_square + self.shape.epsilon)

    def _by_head(self, vectors: Float[Tensor, "batch T all"]) -> Float[Tensor, "batch H T d_H"]:
        """Return vectors side by side as one a head."""
        return vectors.unflatten(2, (-1, self.shape.d_H)).transpose(1, 2)

    def _of_groups(self, vectors: Float[Tensor, "batch T all"]) -> Float[Tensor, "batch H T d_H"]:
        """Return vectors of the groups, each repeated for the heads of its group."""
        grouped = self._by_head(vectors)  # (batch, groups, T, d_H)
        return grouped.repeat_interleave(self.shape.heads // self.shape.key_heads, 1)
