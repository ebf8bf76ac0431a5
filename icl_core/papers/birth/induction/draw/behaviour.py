"""What the model does, position by position and output by output, over held-out sequences."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.papers.birth.induction import attention_scores
from icl_core.papers.birth.induction.load_run import at_step
from icl_core.papers.birth.induction.settings import View
from icl_core.papers.birth.shared.gradient import share
from icl_core.papers.birth.shared.train import task_of

RANGES = {
    "never": (-1.0, 0.0),
    "under 1%": (0.0, 0.01),
    "1 to 5%": (0.01, 0.05),
    "over 5%": (0.05, 1.0),
}


def stripe(run: Run, view: View) -> Panel:
    """Layer 1's attention on the position before, by position."""
    snapshot = run.snapshot_at(view)
    mass = attention_scores.at_snapshot(run, snapshot).previous[:, 1:].mean(0).numpy()
    at = np.arange(2, len(mass) + 2)
    series = [
        Curve("attention on the position before", at, mass, "layer 1"),
        Curve("spread evenly", at, 1 / at, figures.colour("seed"), "dot"),
    ]
    half = at[mass >= 0.5]
    reach = f"to position {half[-1]}" if len(half) else "nowhere"
    return Panel(
        f"{at_step(run, view)}: layer 1 finds the previous character {reach}",
        "The share of layer 1's attention on the position before, the mean over held-out "
        "sequences. Its title names the last position with more than half. If all positions were "
        "stored alike, the line would be flat. Early positions are used most: the first "
        "occurrence of a trigger is usually early, and all later queries look there.",
        figures.curves(series, "position", "attention", y_range=(0, 1.02)),
        data=pd.DataFrame({"position": at, "attention": mass}),
    )


def copying(run: Run, view: View) -> Panel:
    """Draw how often an output is copied, by how likely it is as a bigram; beside the best
    predictor."""
    snapshot = run.snapshot_at(view)
    task = task_of(run.config)
    readout = attention_scores.at_snapshot(run, snapshot)
    batch = readout.batch
    likely = task.bigram[batch.inputs, batch.targets]  # [sequences, T]
    rows = []
    for name, (low, high) in RANGES.items():
        where = batch.in_context & (likely > low) & (likely <= high)
        for who, right in (
            ("model", readout.right),
            ("best predictor", attention_scores.best_right(run)),
        ):
            rows.append((name, who, *share(right, where), int(where.sum())))
    data = pd.DataFrame(rows, columns=["bigram", "who", "right", "standard error", "positions"])
    labels = [f"{name}" if who == "model" else f"{name}: best" for name, who, *_ in rows]
    kinds = ["trained" if who == "model" else figures.colour("seed") for _, who, *_ in rows]
    model = data[(data.who == "model") & (data.positions > 0)].set_index("bigram").right
    ends = [f"{word} {model[name]:.0%}" for name, word in _ENDS.items() if name in model]
    return Panel(
        "Right in context, by how often the text has the pair: "
        f"{', '.join(ends) or 'see the bars'}",
        "How often the prediction in context is right, by π_b(o|q): how often the output o "
        "follows the trigger q in ordinary text. A model that only copies does not care. Pale "
        "bars: the best predictor, which knows π_b, π_u and all that stands before, but not which "
        "characters are triggers.",
        figures.bars(
            labels,
            data.right.tolist(),
            "right in context",
            errors=data["standard error"].tolist(),
            kinds=kinds,
            y_range=(0, 1.1),
        ),
        note=f"{at_step(run, view)}.",
        data=data,
    )


_ENDS = {"never": "never", "over 5%": "often"}
