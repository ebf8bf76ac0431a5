"""What the model makes of a sequence, a visitor's own or a sample: where both layers look and what
is predicted (Figure 2), and the forward pass at one position in numbers."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from icl_core.contract.experiment import Panel, Run
from icl_core.figures import visible_characters
from icl_core.papers.birth.induction.load_run import weights_at
from icl_core.papers.birth.induction.settings import View
from icl_core.papers.birth.induction.words import WORDS
from icl_core.papers.birth.shared.draw import maps, right, table
from icl_core.papers.birth.shared.sequence import Shown, boxes, choose_first, read
from icl_core.papers.birth.shared.train import task_of

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
