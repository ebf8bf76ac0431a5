"""The circuit of the trained transformer on a short sequence (`shared/circuit.py`): streams,
arrows, paths, and what its matrices read of the stream.

A ReLU without biases is linear in what it reads while the same units are on, and layer norm is
while its scale is the same; both are kept as they are on the sequence. What layer norm's biases add
is a path of its own.
"""

from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor

from icl_core.contract.experiment import Panel, Run
from icl_core.papers.birth.shared import circuit
from icl_core.papers.birth.shared.blocks import Blocks, block_products, drawn
from icl_core.papers.birth.shared.circuit import CHARACTER, FEED, POSITION, Circuit, Part, Stream
from icl_core.papers.birth.shared.draw import on_stage
from icl_core.papers.birth.shared.full.model import Weights, attend, forward, layers_of, read
from icl_core.papers.birth.shared.sequence import Shown, typed
from icl_core.papers.birth.shared.task import Task
from icl_core.papers.birth.shared.train import task_of
from icl_core.papers.birth.transformer.load_run import final_weights, last_heads
from icl_core.papers.birth.transformer.settings import View
from icl_core.papers.birth.transformer.words import WORDS

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
        parts.append(_part(W, f"attention{layer}", layer, x, _heads_write(W, layer, attention)))
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


def _heads_write(W: Weights, layer: int, attention: Float[Tensor, "H T T"]) -> Linear:
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


def _sequence(run: Run, view: View) -> Shown:
    """Return the visitor's own sequence or the run's example, as much of it as a diagram can
    name."""
    if view.sequence:
        return on_stage(task_of(run.config), view, circuit.NAMED)
    characters = run.names("sequence")
    in_context = run["example/in_context"]  # (T)
    triggers = dict.fromkeys(characters[at] for at in in_context.nonzero()[0].tolist())
    text = "".join(characters[: circuit.NAMED])
    return typed(task_of(run.config), text, "".join(triggers))


def streams(run: Run, view: View) -> Panel:
    """Draw the streams on the sequence and the arrows that end in one position, of one head a
    layer."""
    sequence = _sequence(run, view)
    weights = final_weights(run)
    whole = full_circuit(weights, sequence.inputs, run.config.heads)
    at = circuit.followed(sequence, view.followed)
    heads = best(run)
    predictions = _predictions(run, weights, sequence)
    trace = circuit.traced(whole, predictions, sequence, at, heads)
    names = " and ".join(f"{layer}.{head + 1}" for layer, head in enumerate(heads, start=1))
    left_out = WORDS.text("left_out", run, view, names=names)
    return circuit.arrows(trace, WORDS.text("when", head=""), left_out)


def _predictions(run: Run, weights: dict[str, torch.Tensor], sequence: Shown) -> list[int]:
    """Return the likeliest next token at every position."""
    with torch.no_grad():
        outcome = forward(weights, sequence.inputs[None], run.config.heads)
    return outcome.logits[0].argmax(-1).tolist()


def best(run: Run) -> tuple[int, int]:
    """Return the head of layer 1 that looks one back most, and the head of layer 2 that finds most
    of what followed, both counted from 0 in their layer."""
    heads = last_heads(run)
    previous = [head.previous for head in heads if head.name.startswith("1.")]
    followers = [head.found for head in heads if head.name.startswith("2.")]
    return previous.index(max(previous)), followers.index(max(followers))


def paths(run: Run, view: View) -> Panel:
    """Draw what every path adds to two logits."""
    sequence = _sequence(run, view)
    whole = full_circuit(final_weights(run), sequence.inputs, run.config.heads)
    at = circuit.followed(sequence, view.followed)
    also_fixed = WORDS.text("also_fixed", run, view)
    return circuit.paths(whole, sequence, at, WORDS.text("when", head=""), also_fixed)


def blocks(run: Run, view: View) -> Panel:
    """Draw a matrix read with all that it meets; of W_K, the head that looks back most clearly."""
    task = task_of(run.config)
    head = best(run)[0 if view.read == "W_K1" else 1]
    read = partial(read_with, view.read, head, run.config.heads, final_weights(run), task)
    is_of_head = run.config.heads > 1 and view.read != "W_O2"
    when = WORDS.text("when", head=f"{view.read[-1]}.{head + 1}" if is_of_head else "")
    return drawn(view.read, read, task, when)
