"""Drawings that several experiments share: the memories' names, what is predicted on a sequence."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.figure import Figure
from icl_core.figures import Predictions, visible_characters
from icl_core.papers.birth.shared.sequence import Reading, Shown, boxes
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
