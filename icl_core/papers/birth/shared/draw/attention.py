"""Where both layers look on a sequence, and what is predicted there (Figure 2)."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.experiment import Panel, Run
from icl_core.figures import Predictions, characters
from icl_core.papers.birth.shared.read_run import Reading, Shown, boxes, read, shown, weights_at
from icl_core.papers.birth.shared.settings import View


def draw(run: Run, view: View) -> Panel:
    """Both attention maps with their boxes, over the strip of predicted next characters."""
    sequence = shown(run, view)
    snapshot = run.snapshot_at(view)
    reading = read(weights_at(run, snapshot), sequence, run.config.layers)
    figure = _figure(reading, sequence)
    return Panel(
        _title(reading, sequence, run.snapshot_steps[snapshot], view),
        "Each row is a query and shows where it looks. In layer 1 look for the stripe beside the diagonal: every "
        "character attends to the one before it. In layer 2 look along the rows of repeated characters: an induction "
        "head attends to what followed them earlier, the boxed cells. Before training every row is spread out evenly.",
        figure,
        data=table(reading, sequence),
        note=_note(sequence, view),
    )


def _figure(reading: Reading, sequence: Shown):
    if reading.attention1 is None:
        return figures.attention(reading.attention2, sequence.characters, boxes(sequence))
    return figures.attention_pair(
        reading.attention1, reading.attention2, sequence.characters, boxes(sequence), predictions(reading, sequence)
    )


def predictions(reading: Reading, sequence: Shown) -> Predictions:
    """The likeliest next character at every position."""
    best = reading.probabilities.argmax(1)
    names = [sequence.task.characters[token] for token in best]
    return Predictions(names, reading.probabilities.max(1), right(reading, sequence), sequence.in_context.numpy())


def right(reading: Reading, sequence: Shown) -> np.ndarray:
    """Whether each prediction is what follows, [T]; a typed sequence's last position counts as wrong unless its
    trigger's output is known from the context."""
    best = reading.probabilities.argmax(1)
    follows = sequence.targets.numpy()
    known = np.array([sequence.truth.get(token, -1) for token in sequence.inputs.tolist()])
    follows = np.concatenate([follows, known[len(follows) :]])
    return best == follows


def _title(reading: Reading, sequence: Shown, step: int, view: View) -> str:
    inside = sequence.in_context.numpy()
    if not inside.any():
        return f"Step {step}: no trigger has come twice yet"
    hits = int(right(reading, sequence)[inside].sum())
    looked = sum(reading.attention2[q, k] for q, k, kind in boxes(sequence) if kind == "correct output" and inside[q])
    return (
        f"Step {step}: layer 2 puts {looked / inside.sum():.0%} of its attention on the right output; "
        f"{hits} of {int(inside.sum())} predictions right"
    )


def _note(sequence: Shown, view: View) -> str:
    names = ", ".join(
        f"{a} → {b}" if b else a
        for a, b in zip(
            characters([sequence.task.characters[t] for t in sequence.triggers.tolist()]),
            characters(
                [
                    sequence.task.characters[sequence.truth[t]] if t in sequence.truth else ""
                    for t in sequence.triggers.tolist()
                ]
            ),
            strict=True,
        )
    )
    return f"Triggers and what follows them here: {names}" if names else "This sequence has no trigger."


def table(reading: Reading, sequence: Shown) -> pd.DataFrame:
    """The predictions, a row a position."""
    best = reading.probabilities.argmax(1)
    return pd.DataFrame(
        {
            "position": np.arange(1, len(best) + 1),
            "character": characters(sequence.characters),
            "in context": sequence.in_context.numpy(),
            "predicted": characters([sequence.task.characters[token] for token in best]),
            "probability": reading.probabilities.max(1).round(4),
        }
    )
