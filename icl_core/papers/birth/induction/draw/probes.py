"""What given matrices achieve: there are no curves, for nothing is trained."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import number_text
from icl_core.papers.birth.induction.metrics import accuracy_at
from icl_core.papers.birth.induction.settings import View
from icl_core.papers.birth.shared.draw import KINDS, NAMES

RECALL = "curve/recall_"


def probes_panel(run: Run, view: View) -> Panel:
    """Accuracy in context and the recall of each memory, as bars."""
    accuracy = accuracy_at(run, 0)
    repeat = float(run["baseline/repeat"][0])
    recalls = {
        name: float(run[RECALL + name][0, 0]) for name in KINDS if name in run.names("probes")
    }
    labels = ["right", *map(NAMES.__getitem__, recalls)]
    kinds = ["trained", *map(KINDS.__getitem__, recalls)]
    values = np.round([accuracy, *recalls.values()], 2).tolist()
    return Panel(
        f"Right in context: {accuracy:.0%}",
        "The first bar is how often the likeliest next character is the one that the context "
        f"tells; repeating the character just read would be right {repeat:.0%} of the time. The "
        "others are recalls: the share of its pairs that each matrix gets right, asked on its "
        f"own. A matrix that stores nothing gets hardly any right.{_bigrams(run)}",
        figures.seated(figures.bars(labels, values, "share", kinds=kinds, y_range=(0, 1.05))),
        data=_table(run),
    )


def _bigrams(run: Run) -> str:
    """Return how far W_F is from the bigrams, where there is one."""
    if f"{RECALL}kl_W_F" not in run.tensors:
        return ""
    nats = number_text(float(run[f"{RECALL}kl_W_F"][0, 0]), 2)
    return f" W_F, asked alone, is {nats} nats from the bigrams."


def _table(run: Run) -> pd.DataFrame:
    """Return all probes, also those that count by frequency or compare queries."""
    values = {
        name.removeprefix(RECALL): float(run[name][0, 0])
        for name in run.tensors
        if name.startswith(RECALL)
    }
    return pd.DataFrame({"probe": list(values), "value": list(values.values())})
