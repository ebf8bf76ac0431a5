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
def circuit(weights: Weights, tokens: Int[Tensor, "T"], heads: int) -> Circuit:
    """The model on a sequence, in double precision."""
    W = {name: each.double() for name, each in weights.items()}
    sources = {CHARACTER: W["W_E"][tokens], POSITION: W["P"][: len(tokens)]}
    x, parts, maps = sources[CHARACTER] + sources[POSITION], [], []
    for layer in range(1, layers_of(W) + 1):
        attention = attend(W, layer, read(W, x[None], f"attention{layer}"), heads)[1][0]
        parts.append(_part(W, f"attention{layer}", layer, x, _heads(W, layer, attention)))
        maps.append(attention)
        x = _after(x, parts[-1])
        if f"W_in{layer}" in W:
            parts.append(_part(W, f"mlp{layer}", FEED, x, _feed(W, layer, x)))
            x = _after(x, parts[-1])
    return Circuit(
        sources, tuple(parts), _part(W, "out", FEED, x, lambda s: s @ W["W_U"].T), tuple(maps)
    )


def _after(x: Stream, part: Part) -> Stream:
    return x + part.apply(x) + (0.0 if part.constant is None else part.constant)


def _part(W: Weights, where: str, layer: int, x: Stream, of: Linear) -> Part:
    """What reads the stream under layer norm, if there is one, with the scale that it has on x."""
    if f"gain_{where}" not in W:
        return Part(layer, of)
    gain, bias = W[f"gain_{where}"], W[f"bias_{where}"]
    scale = (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()  # as F.layer_norm has it
    return Part(
        layer, lambda s: of((s - s.mean(-1, keepdim=True)) / scale * gain), of(bias.expand_as(x))
    )


def _heads(W: Weights, layer: int, attention: Float[Tensor, "H T T"]) -> Linear:
    """What all heads of a layer write, wherever they look."""

    def write(stream: Stream) -> Stream:
        values = (
            (stream @ W[f"W_V{layer}"].T).unflatten(1, (len(attention), -1)).transpose(0, 1)
        )  # (H, T, d/H)
        return (attention @ values).transpose(0, 1).flatten(1) @ W[f"W_O{layer}"].T

    return write


def _feed(W: Weights, layer: int, x: Stream) -> Linear:
    """A feed-forward layer with the units that are on for x."""
    inside, outside = W[f"W_in{layer}"], W[f"W_out{layer}"]
    on = read(W, x[None], f"mlp{layer}")[0] @ inside.T > 0
    return lambda stream: (stream @ inside.T * on) @ outside.T


@torch.no_grad()
def read_with(
    name: str, head: int, heads: int, weights: Weights, task: Task, most: int | None = None
) -> Blocks:
    """The readings of the keys of a head, counted from 0, or of W_O2, with all parts of the stream
    of two layers. As in the probes, layer norm is left out, and all heads together make the copy
    and write the output."""
    parts = {"w_E": weights["W_E"], "p": weights["P"]}
    if name != "W_K1":
        parts |= {
            f"R¹ {part}": each @ (weights["W_O1"] @ weights["W_V1"]).T
            for part, each in parts.items()
        }
    if name == "W_O2":
        written = {
            part: each @ (weights["W_O2"] @ weights["W_V2"]).T for part, each in parts.items()
        }
        return block_products({"w_U": weights["W_U"]}, written, task, most)
    layer = name[-1]

    def of_head(matrix: str) -> dict[str, Tensor]:
        return {
            part: (each @ weights[matrix].T).chunk(heads, 1)[head] for part, each in parts.items()
        }

    return block_products(of_head(f"W_Q{layer}"), of_head(f"W_K{layer}"), task, most)
