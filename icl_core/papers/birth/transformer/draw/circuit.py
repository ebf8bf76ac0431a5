"""The circuit of the trained transformer on a short sequence: streams, arrows, paths, and what its
matrices read."""

from functools import partial

import torch

from icl_core.contract.experiment import Panel, Run
from icl_core.papers.birth.shared import circuit
from icl_core.papers.birth.shared.blocks import drawn
from icl_core.papers.birth.shared.draw import on_stage
from icl_core.papers.birth.shared.full.model import forward
from icl_core.papers.birth.shared.sequence import Shown, typed
from icl_core.papers.birth.shared.train import task_of
from icl_core.papers.birth.transformer.circuit_trace import full_circuit, read_with
from icl_core.papers.birth.transformer.load_run import final_weights, last_heads
from icl_core.papers.birth.transformer.settings import View
from icl_core.papers.birth.transformer.words import WORDS


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
