"""Stage panels that several experiments share: a short sequence with both heads, and the memories
as maps."""

from dataclasses import replace
from typing import Any

import numpy as np

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.visitor import TextInput
from icl_core.figures import Predictions
from icl_core.figures.character_labels import typed_form
from icl_core.figures.heatmaps import block_means_of
from icl_core.papers.birth.shared import head_maps
from icl_core.papers.birth.shared import sequence as sequences
from icl_core.papers.birth.shared.draw import NAMES, formed, right
from icl_core.papers.birth.shared.head_maps import LONGEST, Heads
from icl_core.papers.birth.shared.probes import Scores
from icl_core.papers.birth.shared.sequence import Reading, Shown, choose
from icl_core.papers.birth.shared.task import Task
from icl_core.papers.birth.shared.train import task_of


def _example(run: Run, view: Any) -> str:
    """Return the text that the stage shows to a visitor who has typed none."""
    text, _ = sequences.on_stage(task_of(run.config))
    return typed_form(text)


TYPED = TextInput(
    "sequence",
    "Your text",
    _example,
    "What repeats, such as “hotshots”: a character that comes again has been followed by something "
    "before. Enter shows what the model makes of it; an empty field goes back to the example.",
)
ROW_AND_COLUMN = {  # what a memory's rows and columns are, as the maps of attention say it
    "W_K1": ("position", "position"),
    "W_K2": ("character", "character before"),
    "W_O2": ("output", "character"),
}


def on_stage(task: Task, view: Any, most: int = LONGEST) -> Shown:
    """Return the visitor's own sequence, at most so many characters of it, or a word or an
    example."""
    if view.sequence:
        return choose(task, replace(view, sequence=view.sequence[:most]))
    sequence, triggers = sequences.on_stage(task)
    return choose(task, replace(view, sequence=sequence, marked=view.marked or triggers))


def first(reading: Reading, sequence: Shown) -> Panel:
    """Draw layer 1's attention on the sequence."""
    return head_maps.first(heads(reading, sequence))


def second(reading: Reading, sequence: Shown) -> Panel:
    """Draw the last layer's attention on the sequence, and the predicted characters."""
    return head_maps.second(heads(reading, sequence))


def heads(reading: Reading, sequence: Shown) -> Heads:
    """Return what the maps show of a sequence."""
    in_context = sequence.in_context.numpy()
    characters = sequence.task.characters
    best = [characters[token] for token in reading.probabilities.argmax(1)]
    predictions = Predictions(
        best, reading.probabilities.max(1), right(reading, sequence), in_context
    )
    tokens = zip(sequence.inputs.tolist(), in_context, strict=True)
    truth = [characters[sequence.truth[token]] if is_known else None for token, is_known in tokens]
    return Heads(sequence.characters, reading.attention1, reading.attention2, predictions, truth)


def memory(name: str, scores: Scores, last: Scores, finding: str, more: str) -> Panel:
    """Draw a memory as readings of all pairs, with `finding` after its name and `more` after the
    caption; `last` gives the scale, which all snapshots share."""
    matrix, rows, columns = square(scores)
    limit = figures.largest_magnitude(block_means_of(*square(last))[0])
    figure = figures.small_map(
        matrix,
        (rows, columns),
        (scores.row_kind, scores.column_kind),
        "score",
        limit,
        ROW_AND_COLUMN[name],
    )
    return Panel(f"{NAMES[name]} {finding}", f"{formed(name)} {more}", figure)


def square(scores: Scores) -> tuple[np.ndarray, list[str], list[str]]:
    """Return a memory's readings and labels. Those of positions get a blank row for the first,
    which has none before it, and a blank column for the last, which has none after it: so both
    sides count alike."""
    matrix = scores.matrix.numpy()
    if scores.rows == scores.columns:
        return matrix, scores.rows, scores.columns
    labels = [scores.columns[0], *scores.rows]
    return np.pad(matrix, ((1, 0), (0, 1)), constant_values=np.nan), labels, labels
