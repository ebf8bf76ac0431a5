"""The full transformer as a circuit on one sequence (`shared/circuit.py`), and what its matrices
read of the stream.

A ReLU without biases is linear in what it reads while the same units are on, and layer norm is
while its scale is the same; both are kept as they are on the sequence. What layer norm's biases add
is a path of its own.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from icl_core.papers.birth.shared.blocks import Blocks, block_products
from icl_core.papers.birth.shared.circuit import CHARACTER, FEED, POSITION, Circuit, Part, Stream
from icl_core.papers.birth.shared.full.model import Weights, attend, layers_of, read
from icl_core.papers.birth.shared.task import Task

Linear = Callable[[Stream], Tensor]


@torch.no_grad()
def full_circuit(weights: Weights, tokens: Int[Tensor, "T"], heads: int) -> Circuit:
    """Return the circuit of the model on a sequence, in double precision."""
    W = {name: tensor.double() for name, tensor in weights.items()}
    sources = {CHARACTER: W["W_E"][tokens], POSITION: W["P"][: len(tokens)]}  # (T, d) each
    x = sources[CHARACTER] + sources[POSITION]  # (T, d)
    parts: list[Part] = []
    maps: list[Tensor] = []
    for layer in range(1, layers_of(W) + 1):
        _, attention = attend(W, layer, read(W, x[None], f"attention{layer}"), heads)
        attention = attention[0]  # (1, H, T, T) to (H, T, T)
        parts.append(_part(W, f"attention{layer}", layer, x, _heads(W, layer, attention)))
        maps.append(attention)
        x = _after(x, parts[-1])
        if f"W_in{layer}" in W:
            parts.append(_part(W, f"mlp{layer}", FEED, x, _feed(W, layer, x)))
            x = _after(x, parts[-1])
    unembedding = _part(W, "out", FEED, x, lambda stream: stream @ W["W_U"].T)
    return Circuit(sources, tuple(parts), unembedding, tuple(maps))


def _after(x: Stream, part: Part) -> Stream:
    """Return the stream x with what a part adds to it."""
    return x + part.apply(x) + (0.0 if part.constant is None else part.constant)


def _part(W: Weights, where: str, layer: int, x: Stream, linear: Linear) -> Part:
    """Return the part that applies `linear` to the stream under the layer norm `where`, if there is
    one, with the scale that it has on x."""
    if f"gain_{where}" not in W:
        return Part(layer, linear)
    gain = W[f"gain_{where}"]
    bias = W[f"bias_{where}"]
    scale = (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()  # (T, 1), as in F.layer_norm

    def apply(stream: Stream) -> Tensor:
        return linear((stream - stream.mean(-1, keepdim=True)) / scale * gain)

    return Part(layer, apply, linear(bias.expand_as(x)))


def _heads(W: Weights, layer: int, attention: Float[Tensor, "H T T"]) -> Linear:
    """Return the map from a stream to what all heads of a layer write, which look where `attention`
    says."""

    def write(stream: Stream) -> Stream:
        values = stream @ W[f"W_V{layer}"].T  # (T, d)
        values = values.unflatten(1, (len(attention), -1)).transpose(0, 1)  # (H, T, d/H)
        outputs = (attention @ values).transpose(0, 1).flatten(1)  # (T, d)
        return outputs @ W[f"W_O{layer}"].T

    return write


def _feed(W: Weights, layer: int, x: Stream) -> Linear:
    """Return the map of a feed-forward layer with the units that are on for x."""
    W_in = W[f"W_in{layer}"]
    W_out = W[f"W_out{layer}"]
    is_on = read(W, x[None], f"mlp{layer}")[0] @ W_in.T > 0  # (T, 4 d)
    return lambda stream: (stream @ W_in.T * is_on) @ W_out.T


@torch.no_grad()
def read_with(
    name: str, head: int, heads: int, weights: Weights, task: Task, most: int | None = None
) -> Blocks:
    """Return the readings of W_K1, W_K2 or W_O2 with all parts of the stream of two layers.

    head   counted from 0, whose keys are read; all heads together where the matrix is W_O2
    heads  heads a layer
    most   characters and positions at most; None: all

    As in the probes, layer norm is left out, and all heads together make the copy and write the
    output.
    """
    parts = {"w_E": weights["W_E"], "p": weights["P"]}  # (N, d), (T, d)
    if name != "W_K1":
        copy = weights["W_O1"] @ weights["W_V1"]  # (d, d)
        parts |= {f"R¹ {part}": vectors @ copy.T for part, vectors in parts.items()}
    if name == "W_O2":
        output = weights["W_O2"] @ weights["W_V2"]  # (d, d)
        outputs = {part: vectors @ output.T for part, vectors in parts.items()}
        return block_products({"w_U": weights["W_U"]}, outputs, task, most)
    layer = name[-1]

    def of_head(matrix: str) -> dict[str, Tensor]:
        """Return what a head's rows of a matrix make of the parts, [rows, d/H] each."""
        W = weights[matrix]  # (d, d)
        return {part: (vectors @ W.T).chunk(heads, 1)[head] for part, vectors in parts.items()}

    return block_products(of_head(f"W_Q{layer}"), of_head(f"W_K{layer}"), task, most)
