"""A forward pass in numbers: what both layers and the output make of one position of
the sequence."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from icl_core.contract.experiment import Panel, Run
from icl_core.figures import visible_characters
from icl_core.papers.birth.induction.load_run import at_step, weights_at
from icl_core.papers.birth.induction.settings import View
from icl_core.papers.birth.shared.sequence import choose_first, read
from icl_core.papers.birth.shared.train import task_of

LISTED = 3  # of the largest numbers
COLUMNS = ["what happens", "where or what", "share"]


def draw(run: Run, view: View) -> Panel:
    """Draw the largest weights of both layers, and the likeliest next characters, at the position
    asked for."""
    task = task_of(run.config)
    snapshot = run.snapshot_at(view)
    sequence = choose_first(task, view)
    reading = read(weights_at(run, snapshot), sequence, run.config.layers)
    tokens = [
        f"{index} '{each}'" for index, each in enumerate(visible_characters(sequence.characters), 1)
    ]
    at = min(view.position, len(tokens)) - 1
    layers = {"layer 1": reading.attention1, "layer 2": reading.attention2}
    if reading.attention1 is None:
        layers = {"layer 1": reading.attention2}
    looks = {
        name: _largest(f"{name} looks at", tokens[: at + 1], each[at])
        for name, each in layers.items()
    }
    says = _largest(
        "the model says",
        [f"'{each}'" for each in visible_characters(task.characters)],
        reading.probabilities[at],
    )
    last = list(layers)[-1]
    (_, key, weight) = looks[last][0]
    (_, answer, chance) = says[0]
    return Panel(
        f"After {tokens[at]}, {last} looks at {key} ({weight:.2f}) and the model says {answer} "
        f"({chance:.2f})",
        "One row of each map in numbers, and the likeliest next characters. In an induction head "
        "layer 2 looks at what followed the same character before, and the model says that "
        "character. In an untrained model the shares are spread out.",
        table=pd.DataFrame(
            [*(row for rows in looks.values() for row in rows), *says], columns=COLUMNS
        ),
        note=f"{at_step(run, view)}, position {at + 1} of {len(tokens)}.",
    )


def _largest(what: str, names: Sequence[str], shares: np.ndarray) -> list[tuple[str, str, float]]:
    """Return the largest shares, with the names of what has them."""
    first = np.argsort(-shares[: len(names)], kind="stable")[:LISTED]
    return [(what, names[int(index)], round(float(shares[index]), 4)) for index in first]
