"""What is on stage: a short sequence with both heads, and the three memories."""

from dataclasses import replace
from functools import partial

import numpy as np

from icl_core import figures
from icl_core.experiment import CannotDraw, Panel, Run
from icl_core.figures import Predictions
from icl_core.papers.birth.induction.read_run import weights_at
from icl_core.papers.birth.induction.settings import View
from icl_core.papers.birth.shared.draw import NAMES, READ, right
from icl_core.papers.birth.shared.probes import OVER, memory_scores, recall
from icl_core.papers.birth.shared.sequence import Reading, Shown, boxes, choose, read
from icl_core.papers.birth.shared.train import task_of

EXAMPLE = "abcXabcXab"
STORES = {
    "W_K1": "which position is one back",
    "W_K2": "which character is the query's own",
    "W_O2": "which character to say",
}


def first(run: Run, view: View) -> Panel:
    """Layer 1's attention on the sequence."""
    sequence, reading = _reading(run, view)
    if reading.attention1 is None:
        raise CannotDraw("this model has one layer")
    back = float(np.mean(np.diagonal(reading.attention1, -1)))
    return Panel(
        f"Layer 1 looks one back: {back:.0%}",
        "Each row is a query and shows where it looks. A trained first layer has a stripe beside the diagonal; before "
        "training every row is spread out evenly.",
        figures.small_attention(reading.attention1, sequence.characters),
    )


def second(run: Run, view: View) -> Panel:
    """Layer 2's attention on the sequence, and the predicted characters."""
    sequence, reading = _reading(run, view)
    inside, hits = sequence.in_context.numpy(), right(reading, sequence)
    best = [sequence.task.characters[token] for token in reading.probabilities.argmax(1)]
    told = Predictions(best, reading.probabilities.max(1), hits, inside)
    marked = [box for box in boxes(sequence) if inside[box[0]] and box[2] == "correct output"]
    return Panel(
        f"Layer 2 looks at what came next: {int(hits[inside].sum())} of {int(inside.sum())} right",
        "In the row of a repeated character the outlined cell is what followed it before. An induction head looks "
        "there and says that character, written at the right. Without one the rows are spread out.",
        figures.small_attention(reading.attention2, sequence.characters, marked, told),
    )


def _reading(run: Run, view: View) -> tuple[Shown, Reading]:
    task = task_of(run.config)
    text = view.sequence or (EXAMPLE if set(EXAMPLE) <= set(task.characters) else "")
    sequence = choose(task, view if view.sequence or not text else replace(view, sequence=text))
    return sequence, read(weights_at(run, run.snapshot_at(view)), sequence, run.config.layers)


def _memory(name: str, run: Run, view: View) -> Panel:
    """A memory as readings of all pairs, on one scale for all snapshots."""
    task, last = task_of(run.config), len(run.snapshot_steps) - 1
    found = memory_scores(name, weights_at(run, run.snapshot_at(view)), task)
    limit = float(memory_scores(name, weights_at(run, last), task).matrix.abs().max()) or 1.0
    return Panel(
        f"{NAMES[name]}, {STORES[name]}: {recall(found.matrix, OVER[name]):.0%} right",
        READ[name][1] + " Before training it is noise.",
        figures.small_map(
            found.matrix.numpy(), (found.rows, found.columns), (found.row_kind, found.column_kind), "score", limit
        ),
    )


w_k1, w_k2, w_o2 = (partial(_memory, name) for name in ("W_K1", "W_K2", "W_O2"))
