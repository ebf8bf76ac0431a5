"""A model shaped like Llama, read from top to bottom: RMS norm, rotary positions, keys and values
shared by groups of heads. The planted model is one; SmolLM2 has the same shape.

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
    HeadVectors,
    Pass,
    Shape,
    Stream,
    Weights,
)


@dataclass(frozen=True)
class Llama:
    """A model shaped like Llama; see `model` for what its methods give.

    weights  by the names that `transformers` gives them
    heads    a layer, each of width d_H
    T        most positions
    base     of the rotations' frequencies
    epsilon  added under the root of its norms
    """

    weights: Weights
    layers: int
    heads: int
    d_H: int
    T: int
    base: float
    epsilon: float

    @property
    def shape(self) -> Shape:
        """The size of the model."""
        N, d = self.weights["model.embed_tokens.weight"].shape
        return Shape("llama", self.layers, self.heads, d, N, self.T, (0,) * self.layers)

    def embed(self, tokens: Int[Tensor, "batch T"]) -> Stream:
        """Return the stream before layer 1."""
        return self.weights["model.embed_tokens.weight"][tokens]

    def onward(
        self,
        x: Stream,
        first: int = 1,
        change: Change = NO_CHANGE,
        keep: bool = False,
        last: int = 0,
    ) -> Pass:
        """Return what the layers from `first` on make of the stream before them; with `last`,
        logits of so many last positions alone."""
        kept = Pass(x, [], [], [])
        T = x.shape[1]
        positions = torch.arange(T)
        future = torch.ones(T, T, dtype=torch.bool).triu(1)
        for layer in range(first, self.layers + 1):
            if keep:
                kept.streams.append(x)
            r = self.read(layer, x)
            q = self._turned(self._by_head(layer, "q_proj", r), positions)  # (batch, H, T, d_H)
            k = self._turned(self._by_head(layer, "k_proj", r), positions)
            scores = q @ k.mT / self.d_H**0.5  # (batch, H, T, T), queries are rows
            maps = scores.masked_fill(future, -torch.inf).softmax(-1)
            if change.attention:
                maps = change.attention(layer, maps)
            z = maps @ self._by_head(layer, "v_proj", r)  # (batch, H, T, d_H)
            if change.outputs:
                z = change.outputs(layer, z)
            if keep:
                kept.attention.append(maps)
                kept.outputs.append(z)
            x = x + self.write(layer, z.transpose(1, 2))
            x = x + self._feed_forward(layer, x)
        if keep:
            kept.streams.append(x)
        return kept._replace(logits=self.unembed(x[:, -last:]))

    def read(self, layer: int, x: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
        """Return n(x), which the heads of a layer read."""
        return self._norm(x, f"model.layers.{layer - 1}.input_layernorm.weight")

    def read_part(self, layer: int, part: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """Return what n makes of a part of the stream, but for 1 / sqrt(mean(x^2))."""
        return part * self._part(layer, "input_layernorm")

    def attend(
        self, layer: int, r: Float[Tensor, "n d"], position: int
    ) -> tuple[HeadVectors, HeadVectors, HeadVectors]:
        """Return queries, keys and values of every head at a position."""
        positions = torch.full((len(r),), position)
        q, k, v = (self._by_head(layer, f"{name}_proj", r[None])[0] for name in "qkv")
        q = self._turned(q, positions) / self.d_H**0.5  # (H, n, d_H)
        return q.transpose(0, 1), self._turned(k, positions).transpose(0, 1), v.transpose(0, 1)

    def write(self, layer: int, z: Float[Tensor, "*batch H d_H"]) -> Float[Tensor, "*batch d"]:
        """Return sum_h W_O^h z^h."""
        # heads side by side: (*batch, H, d_H) to (*batch, H · d_H)
        return z.flatten(-2) @ self._part(layer, "self_attn.o_proj").T

    def unembed(
        self, x: Float[Tensor, "*batch d"], tokens: Int[Tensor, "n"] | None = None
    ) -> Float[Tensor, "*batch logits"]:
        """Return the logits of the next token: of all, or of some `tokens`."""
        W_U = self.weights["lm_head.weight"]
        return self._norm(x, "model.norm.weight") @ (W_U if tokens is None else W_U[tokens]).T

    def _feed_forward(self, layer: int, x: Stream) -> Stream:
        r = self._norm(x, f"model.layers.{layer - 1}.post_attention_layernorm.weight")
        gate = F.silu(r @ self._part(layer, "mlp.gate_proj").T)  # (batch, T, hidden)
        return (gate * (r @ self._part(layer, "mlp.up_proj").T)) @ self._part(
            layer, "mlp.down_proj"
        ).T

    def _by_head(
        self, layer: int, name: str, r: Float[Tensor, "batch T d"]
    ) -> Float[Tensor, "batch H T d_H"]:
        """Return queries, keys or values of every head; those of a group for each of its heads."""
        vectors = r @ self._part(layer, f"self_attn.{name}").T
        grouped = vectors.unflatten(2, (-1, self.d_H)).transpose(1, 2)  # (batch, groups, T, d_H)
        return grouped.repeat_interleave(self.heads // grouped.shape[1], 1)

    def _turned(
        self, vectors: Float[Tensor, "*batch T d_H"], positions: Int[Tensor, "T"]
    ) -> Float[Tensor, "*batch T d_H"]:
        """Return queries or keys turned by their positions: dimensions i and i + d_H/2 make a
        plane, which turns by base^(−2i / d_H) a position."""
        half = self.d_H // 2
        speeds = self.base ** (
            -torch.arange(half, dtype=torch.float32) / half
        )  # radians a position
        angles = positions[:, None] * speeds  # (T, half)
        first = vectors[..., :half]
        second = vectors[..., half:]
        turned = (
            first * angles.cos() - second * angles.sin(),
            second * angles.cos() + first * angles.sin(),
        )
        return torch.cat(turned, -1)

    def _part(self, layer: int, name: str) -> Tensor:
        return self.weights[f"model.layers.{layer - 1}.{name}.weight"]

    def _norm(self, x: Float[Tensor, "*batch d"], name: str) -> Float[Tensor, "*batch d"]:
        mean_square = x.square().mean(-1, keepdim=True)
        return self.weights[name] * x * torch.rsqrt(mean_square + self.epsilon)
