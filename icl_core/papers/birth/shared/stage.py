"""What both experiments have on stage: a short sequence with both heads, and the memories as maps."""

from dataclasses import replace
from typing import Any

import numpy as np

from icl_core import figures
from icl_core.experiment import CannotDraw, Panel
from icl_core.figures import Predictions
from icl_core.figures.coarse import coarse
from icl_core.papers.birth.shared.draw import NAMES, READ, right
from icl_core.papers.birth.shared.probes import Scores
from icl_core.papers.birth.shared.sequence import Reading, Shown, boxes, choose, example
from icl_core.papers.birth.shared.task import Task

LONGEST = 24  # characters that a small map can name


def on_stage(task: Task, view: Any) -> Shown:
    """The visitor's own sequence, as much of it as a small map can name, or an example."""
    if view.sequence:
        return choose(task, replace(view, sequence=view.sequence[:LONGEST]))
    sequence, triggers = example(task)
    return choose(task, replace(view, sequence=sequence, marked=view.marked or triggers))


def first(reading: Reading, sequence: Shown) -> Panel:
    """Layer 1's attention on the sequence."""
    if reading.attention1 is None:
        raise CannotDraw("this model has one layer")
    back = float(np.mean(np.diagonal(reading.attention1, -1)))
    return Panel(
        f"Layer 1 · looks one back: {back:.0%}",
        "Each row is a query and shows where it looks. A layer that looks one back has a stripe beside the diagonal; "
        "without it every row is spread out evenly.",
        figures.small_attention(reading.attention1, sequence.characters),
    )


def second(reading: Reading, sequence: Shown) -> Panel:
    """The last layer's attention on the sequence, and the predicted characters."""
    inside, hits = sequence.in_context.numpy(), right(reading, sequence)
    best = [sequence.task.characters[token] for token in reading.probabilities.argmax(1)]
    told = Predictions(best, reading.probabilities.max(1), hits, inside)
    marked = [box for box in boxes(sequence) if inside[box[0]] and box[2] == "correct output"]
    layer, count = "Layer 1" if reading.attention1 is None else "Layer 2", int(inside.sum())
    found = f"what followed: {int(hits[inside].sum())} of {count} right" if count else "nothing comes again"
    return Panel(
        f"{layer} · {found}",
        "Where what follows can be known, the outlined cell in the row is what followed before. An induction head "
        "looks there and says that character, written at the right with a mark. Without one the rows are spread out. "
        f"Of a longer sequence these are the first {LONGEST} characters.",
        figures.small_attention(reading.attention2, sequence.characters, marked, told),
    )


def memory(name: str, found: Scores, last: Scores, said: str, more: str) -> Panel:
    """A memory as readings of all pairs; `last` gives the scale, which all snapshots share."""
    matrix, rows, columns = _square(found)
    limit = figures.largest(coarse(*_square(last))[0])
    return Panel(
        f"{NAMES[name]} · {said}",
        f"{READ[name][1]} {more}",
        figures.small_map(matrix, (rows, columns), (found.row_kind, found.column_kind), "score", limit),
    )


def _square(found: Scores) -> tuple[np.ndarray, list[str], list[str]]:
    """A memory's readings and labels. Those of positions get a blank row for the first, which has none before it, and
    a blank column for the last, which has none after it: so both sides count alike."""
    matrix = found.matrix.numpy()
    if found.rows == found.columns:
        return matrix, found.rows, found.columns
    every = [found.columns[0], *found.rows]
    return np.pad(matrix, ((1, 0), (0, 1)), constant_values=np.nan), every, every
