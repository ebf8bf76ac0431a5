"""The circuit of the trained transformer on a short sequence: streams, arrows, paths, and what its
matrices read."""

from functools import partial

import torch

from icl_core.contract.experiment import Panel, Run
from icl_core.papers.birth.shared import blocks_panel, circuit_panels
from icl_core.papers.birth.shared.full.model import forward
from icl_core.papers.birth.shared.sequence import Shown, typed
from icl_core.papers.birth.shared.stage import on_stage
from icl_core.papers.birth.shared.train import task_of
from icl_core.papers.birth.transformer.circuit_trace import circuit, read_with
from icl_core.papers.birth.transformer.load_run import final_weights, last_heads
from icl_core.papers.birth.transformer.settings import View

WHEN = "After the training"


def _sequence(run: Run, view: View) -> Shown:
    """The visitor's own sequence or the run's example, as much of it as a diagram can name."""
    if view.sequence:
        return on_stage(task_of(run.config), view, circuit_panels.NAMED)
    every, inside = run.names("sequence"), run["example/in_context"]
    triggers = dict.fromkeys(every[at] for at in inside.nonzero()[0].tolist())
    return typed(task_of(run.config), "".join(every[: circuit_panels.NAMED]), "".join(triggers))


def streams(run: Run, view: View) -> Panel:
    """The streams on the sequence and the arrows that end in one position, of one head a layer."""
    sequence, weights = _sequence(run, view), final_weights(run)
    found = circuit(weights, sequence.inputs, run.config.heads)
    at, heads = circuit_panels.followed(sequence, view.followed), best(run)
    traced = circuit_panels.traced(found, _said(run, weights, sequence), sequence, at, heads)
    names = " and ".join(f"{layer}.{head + 1}" for layer, head in enumerate(heads, start=1))
    others = (
        f" Heads {names} are drawn, those that look back most clearly."
        if run.config.heads > 1
        else ""
    )
    feeds = " What the feed-forward layers add is left out." if run.config.mlp else ""
    return circuit_panels.arrows(traced, WHEN, others + feeds)


def _said(run: Run, weights: dict[str, torch.Tensor], sequence: Shown) -> list[int]:
    with torch.no_grad():
        return (
            forward(weights, sequence.inputs[None], run.config.heads).logits[0].argmax(-1).tolist()
        )


def best(run: Run) -> tuple[int, int]:
    """Of layer 1 the head that looks one back most, of layer 2 the one that finds most of what
    followed; from 0."""
    heads = last_heads(run)
    first, second = (
        [each for each in heads if each.name.startswith(f"{layer}.")] for layer in (1, 2)
    )
    back, found = [each.previous for each in first], [each.found for each in second]
    return back.index(max(back)), found.index(max(found))


def paths(run: Run, view: View) -> Panel:
    """What every path adds to two logits."""
    sequence = _sequence(run, view)
    found = circuit(final_weights(run), sequence.inputs, run.config.heads)
    kept = [*(["the hidden units that are on"] if run.config.mlp else []),
            *(["the scale of layer norm"] if run.config.layer_norm else [])]  # fmt: skip
    also = f", with {' and '.join(kept)}" if kept else ""
    return circuit_panels.paths(
        found, sequence, circuit_panels.followed(sequence, view.followed), WHEN, also
    )


def blocks(run: Run, view: View) -> Panel:
    """A matrix read with all that it meets; of W_K, the head that looks back most clearly."""
    task, head = task_of(run.config), best(run)[0 if view.read == "W_K1" else 1]
    of = partial(read_with, view.read, head, run.config.heads, final_weights(run), task)
    layer = view.read[-1]
    where = (
        f"{WHEN}, head {layer}.{head + 1}" if run.config.heads > 1 and view.read != "W_O2" else WHEN
    )
    return blocks_panel.drawn(view.read, of, task, where)
