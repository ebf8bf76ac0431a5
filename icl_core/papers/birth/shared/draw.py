"""What several experiments draw of a model on one sequence: where its heads look, what it predicts,
and its memories with their names."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.contract.visitor import TextInput
from icl_core.figures import Predictions, visible_characters
from icl_core.figures.character_labels import typed_form
from icl_core.figures.heatmaps import block_means_of
from icl_core.papers.birth.shared import sequence as sequences
from icl_core.papers.birth.shared.head_maps import LONGEST, Heads, first_map, second_map
from icl_core.papers.birth.shared.probes import Scores
from icl_core.papers.birth.shared.sequence import Reading, Shown, boxes, choose
from icl_core.papers.birth.shared.task import Task
from icl_core.papers.birth.shared.train import task_of
from icl_core.papers.birth.shared.words import WORDS

GREY = "#7f7f7f"  # of names that the tables below do not have
NAMES = {"W_K1": "W_K¹", "W_K2": "W_K²", "W_O2": "W_O²", "W_F": "W_F"}
KINDS = {"W_K1": "layer 1", "W_K2": "layer 2", "W_O2": "layer 3", "W_F": "layer 4"}
READ = {  # how a memory is read
    "W_K1": "pₜᵀ W_K¹ pₛ",
    "W_K2": "w_E(j)ᵀ W_K² R¹ w_E(i)",
    "W_O2": "w_U(j)ᵀ W_O² W_V² w_E(i)",
    "W_F": "w_U(j)ᵀ W_F w_E(i)",
}


def formed(name: str) -> str:
    """Return what a memory looks like once it has formed."""
    return WORDS.text(f"formed_{name}")


def maps(reading: Reading, sequence: Shown) -> Figure:
    """Return both attention maps over the strip of predicted next characters; of a model of one
    layer, its map alone."""
    characters = sequence.characters
    cells = boxes(sequence)
    if reading.attention1 is None:
        return figures.attention(reading.attention2, characters, cells)
    predictions = Predictions(
        _best(reading, sequence),
        reading.probabilities.max(1),
        right(reading, sequence),
        sequence.in_context.numpy(),
    )
    return figures.attention_pair(
        reading.attention1, reading.attention2, characters, cells, predictions
    )


def _best(reading: Reading, sequence: Shown) -> list[str]:
    """Return the likeliest next character at every position."""
    return [sequence.task.characters[token] for token in reading.probabilities.argmax(1)]


def right(reading: Reading, sequence: Shown) -> np.ndarray:
    """Return whether each prediction is what follows, [T] of bool.

    The last position of a typed sequence counts as wrong unless the output of its trigger is known
    from the context.
    """
    targets = sequence.targets.numpy()  # (T), or (T - 1) for a typed sequence
    truth = np.array([sequence.truth.get(token, -1) for token in sequence.inputs.tolist()])  # (T)
    expected = np.concatenate([targets, truth[len(targets) :]])  # (T)
    return reading.probabilities.argmax(1) == expected


def table(reading: Reading, sequence: Shown) -> pd.DataFrame:
    """Return the predictions, one row per position."""
    return pd.DataFrame(
        {
            "position": np.arange(1, len(sequence.characters) + 1),
            "character": visible_characters(sequence.characters),
            "in context": sequence.in_context.numpy(),
            "predicted": visible_characters(_best(reading, sequence)),
            "probability": reading.probabilities.max(1).round(4),
        }
    )


def _typed_example(run: Run, view: Any) -> str:
    """Return the text that the stage shows to a visitor who has typed none."""
    text, _ = sequences.on_stage(task_of(run.config))
    return typed_form(text)


TYPED = TextInput(
    "sequence",
    "Your text",
    _typed_example,
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


def first_of(reading: Reading, sequence: Shown) -> Panel:
    """Draw layer 1's attention on the sequence."""
    return first_map(heads(reading, sequence))


def second_of(reading: Reading, sequence: Shown) -> Panel:
    """Draw the last layer's attention on the sequence, and the predicted characters."""
    return second_map(heads(reading, sequence))


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
