"""What else the three steps have stored: the spurious pairs of eq. 16, and positions."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.papers.birth.shared.proof_model import both_stored
from icl_core.papers.birth.steps.gradient_steps import task_of
from icl_core.papers.birth.steps.load_run import weights_after
from icl_core.papers.birth.steps.metrics import placed, tau
from icl_core.papers.birth.steps.settings import View

PARTS = {
    "none": "nowhere (proof)",
    "values": "the values",
    "keys": "the keys",
    "query": "the query",
    "all": "everywhere",
}


def spurious(run: Run, view: View) -> Panel:
    """Draw the two kinds of pairs that the step on W_O² stores: the right ones and the spurious
    ones of eq. 16."""
    weights = weights_after(run, 3, "batch")
    right, mean = (readings.numpy() for readings in both_stored(weights))  # (N, N) each
    ratio = float(run["spurious/ratio"].mean())
    characters = figures.visible_characters(task_of(run.config).characters)
    return Panel(
        f"The spurious pairs are {ratio:.2f} times as strong as the right ones; eq. 16 says "
        f"{tau(run):.2f}",
        "On the left what W_O² says of a character, on the right what it says of the mean that "
        "layer 1 has made of it. Before layer 1 has learned, this mean holds the right "
        "character too, so its pairs are stored as well. If only the right pairs were stored, "
        "the map at the right would be grey.",
        figures.maps(
            ["a character", "its copy by layer 1"],
            [right, mean],
            characters,
            characters,
            "reading",
            row_title="output",
            column_title="input",
            columns=2,
        ),
        data=pd.DataFrame(
            {"character": characters, "right": np.diag(right), "spurious": np.diag(mean)}
        ).round(4),
    )


def positions(run: Run, view: View) -> Panel:
    """Draw the share of right answers by where the stream holds positions."""
    shares = {name: float(values.mean()) for name, values in placed(run).items()}
    labels = [PARTS.get(name, name) for name in shares]
    kinds = ["trained" if name == "none" else "layer 4" for name in shares]
    worst = min(("values", "keys", "query"), key=lambda name: shares[name])
    why = (
        ": all sequences end at T, so W_K² has learned to match p_T with every character"
        if worst == "query"
        else ""
    )
    return Panel(
        f"With positions back in the stream, {shares['none']:.0%} right become {shares['all']:.0%}",
        "After its three steps, in its order, the proof reads characters alone. Each bar puts "
        "positions back into a part of what layer 2 reads. Most harm is done by "
        f"{PARTS[worst]}{why}. If positions did not matter, the bars would be equal.",
        figures.bars(
            labels, list(shares.values()), "answers right", kinds=kinds, y_range=(0, 1.05)
        ),
        data=pd.DataFrame({"positions": labels, "right": list(shares.values())}),
    )
