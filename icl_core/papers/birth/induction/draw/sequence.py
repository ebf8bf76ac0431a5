"""What the model makes of one sequence: on stage, both heads, the three memories, and how the
numbers of their maps are made; its circuit; and on a visitor's own or a sample, where both layers
look, what is predicted (Figure 2), and the forward pass at one position in numbers."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from icl_core.contract.experiment import Panel, Run
from icl_core.contract.explanation import Map
from icl_core.contract.visitor import IN_PLACE
from icl_core.figures import visible_characters
from icl_core.papers.birth.induction import grafted
from icl_core.papers.birth.induction.draw.matrices import shown
from icl_core.papers.birth.induction.grafted import PANELS, heads, reading
from icl_core.papers.birth.induction.load_run import at_step, weights_at
from icl_core.papers.birth.induction.settings import Config, View
from icl_core.papers.birth.induction.words import WORDS
from icl_core.papers.birth.shared import circuit, draw, explanations
from icl_core.papers.birth.shared.blocks import SHOWN, blocks_of, drawn
from icl_core.papers.birth.shared.circuit import simplified
from icl_core.papers.birth.shared.draw import NAMES, maps, on_stage, right, table
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.probes import OVER, memory_scores, recall
from icl_core.papers.birth.shared.sequence import Reading, Shown, boxes, choose_first, read
from icl_core.papers.birth.shared.train import task_of


def first(run: Run, view: View) -> Panel:
    """Draw layer 1's attention on the sequence."""
    return draw.first_map(heads(run, view), _replaced(run.config, view, "W_K1"))


def second(run: Run, view: View) -> Panel:
    """Draw layer 2's attention on the sequence, and the predicted characters."""
    return draw.second_map(heads(run, view), _replaced(run.config, view, *NAMES))


def _replaced(config: Config, view: View, *names: str) -> str:
    """Return what of some matrices is replaced, as a title says it; empty if nothing is."""
    parts = [NAMES[name] for name in grafted.wanted(config, view) if name in names]
    return "" if not parts else parts[0] if len(parts) == 1 else str(len(parts))


def _memory(name: str, run: Run, view: View) -> Panel:
    """Draw a memory as readings of all pairs, with the share of them that it gets right; in its
    place what the view puts there, on the trained memory's scale."""
    task = task_of(run.config)
    last = len(run.snapshot_steps) - 1
    weights = grafted.weights_shown(run, view)
    scores, end = (memory_scores(name, model, task) for model in (weights, weights_at(run, last)))
    if name == "W_K2" and run.config.layers == 1:
        scores = scores._replace(column_kind="key")
    share = recall(scores.matrix, OVER[name])
    asked = WORDS.text("asked", run, view, matrix=list(PANELS).index(name))
    shape = {"pairs": len(scores.rows), "zero": not scores.matrix.any()}
    finding = WORDS.text("finding", run, view, asked=asked, recall=share, **shape)
    copies = name != "W_K2" or run.config.layers == 2
    more = WORDS.text("before_it_forms", run, view, copies=copies, **shape)
    panel = draw.memory(name, scores, end, finding, more)
    part = grafted.wanted(run.config, view).get(name)
    if part is None:
        return panel
    numbers = {"matrix": NAMES[name], "part": list(IN_PLACE).index(part), "recall": share}
    return replace(panel, title=WORDS.text("memory_replaced", run, view, **numbers))


def _memory_cells(name: str, run: Run, view: View) -> list[Map]:
    """Return how the readings of a memory are made."""
    return explanations.memory(name, grafted.weights_shown(run, view), task_of(run.config))


def _attention_cells(layer: int, run: Run, view: View) -> list[Map]:
    """Return how the attention of a layer is made."""
    return explanations.attention(layer, *reading(run, view))


w_k1, w_k2, w_o2 = (partial(_memory, name) for name in ("W_K1", "W_K2", "W_O2"))
first_cells, second_cells = (partial(_attention_cells, layer) for layer in (1, 2))
w_k1_cells, w_k2_cells, w_o2_cells = (
    partial(_memory_cells, name) for name in ("W_K1", "W_K2", "W_O2")
)


def _reading(run: Run, view: View) -> tuple[Reading, Weights, Shown]:
    """Return what the trained model makes of the stage's sequence, as much of it as a diagram can
    name; the model, and the sequence."""
    sequence = on_stage(task_of(run.config), view, circuit.NAMED)
    weights = weights_at(run, run.snapshot_at(view))
    return read(weights, sequence, run.config.layers), weights, sequence


def streams(run: Run, view: View) -> Panel:
    """Draw the streams on the sequence, and the arrows that end in one position."""
    outcome, weights, sequence = _reading(run, view)
    at = circuit.followed(sequence, view.followed)
    linear = simplified(weights, sequence.inputs, run.config.layers)
    best = outcome.probabilities.argmax(1).tolist()
    return circuit.arrows(circuit.traced(linear, best, sequence, at), at_step(run, view))


def paths(run: Run, view: View) -> Panel:
    """Draw what every path adds to two logits."""
    _, weights, sequence = _reading(run, view)
    linear = simplified(weights, sequence.inputs, run.config.layers)
    at = circuit.followed(sequence, view.followed)
    return circuit.paths(linear, sequence, at, at_step(run, view), "")


def blocks(run: Run, view: View) -> Panel:
    """Draw a matrix read with all that it meets."""
    weights, end = (
        weights_at(run, at) for at in (run.snapshot_at(view), len(run.snapshot_steps) - 1)
    )
    name = shown(run, view.read)
    task = task_of(run.config)
    last = blocks_of(name, end, task, SHOWN)
    return drawn(name, partial(blocks_of, name, weights, task), task, at_step(run, view), last)


LISTED = 3  # of the largest numbers
COLUMNS = ["what happens", "where or what", "share"]


def attention(run: Run, view: View) -> Panel:
    """Draw both attention maps with their boxes, over the strip of predicted next characters."""
    sequence = choose_first(task_of(run.config), view)
    snapshot = run.snapshot_at(view)
    reading = read(weights_at(run, snapshot), sequence, run.config.layers)
    inside = sequence.in_context.numpy()
    known = int(inside.sum())
    looked = sum(
        reading.attention2[q, k]
        for q, k, kind in boxes(sequence)
        if kind == "correct output" and inside[q]
    )
    return WORDS.panel(
        "attention",
        run,
        view,
        maps(reading, sequence),
        data=table(reading, sequence),
        known=known,
        looked=looked / max(1, known),
        hits=int(right(reading, sequence)[inside].sum()),
        triggers=_triggers(sequence),
    )


def _triggers(sequence: Shown) -> str:
    """Return the triggers of a sequence and what follows them there."""
    triggers = sequence.triggers.tolist()
    known = [
        sequence.task.characters[sequence.truth[t]] if t in sequence.truth else "" for t in triggers
    ]
    pairs = zip(
        visible_characters([sequence.task.characters[t] for t in triggers]),
        visible_characters(known),
        strict=True,
    )
    return ", ".join(f"{a} → {b}" if b else a for a, b in pairs)


def forward(run: Run, view: View) -> Panel:
    """Draw the largest weights of both layers, and the likeliest next characters, at the position
    asked for."""
    task = task_of(run.config)
    snapshot = run.snapshot_at(view)
    sequence = choose_first(task, view)
    reading = read(weights_at(run, snapshot), sequence, run.config.layers)
    tokens = [
        f"{index} '{letter}'"
        for index, letter in enumerate(visible_characters(sequence.characters), 1)
    ]
    at = min(view.position, len(tokens)) - 1
    layers = {"layer 1": reading.attention1, "layer 2": reading.attention2}
    if reading.attention1 is None:
        layers = {"layer 1": reading.attention2}
    looks = {
        name: _largest(f"{name} looks at", tokens[: at + 1], attention[at])
        for name, attention in layers.items()
    }
    says = _largest(
        "the model says",
        [f"'{letter}'" for letter in visible_characters(task.characters)],
        reading.probabilities[at],
    )
    (_, key, weight) = looks[list(layers)[-1]][0]
    (_, answer, probability) = says[0]
    rows = [*(row for rows in looks.values() for row in rows), *says]
    return WORDS.panel(
        "forward",
        run,
        view,
        table=pd.DataFrame(rows, columns=COLUMNS),
        query=tokens[at],
        key=key,
        weight=weight,
        answer=answer,
        probability=probability,
        at=at + 1,
        count=len(tokens),
    )


def _largest(what: str, names: Sequence[str], shares: np.ndarray) -> list[tuple[str, str, float]]:
    """Return the largest shares, with the names of what has them."""
    first = np.argsort(-shares[: len(names)], kind="stable")[:LISTED]
    return [(what, names[int(index)], round(float(shares[index]), 4)) for index in first]
