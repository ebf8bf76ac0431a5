"""What is measured over each training, one curve a length."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve, mean_of
from icl_core.papers.birth.length.arrival_times import LEVELS
from icl_core.papers.birth.length.settings import OPTIMISERS, View

NAMES = {
    "accuracy": "accuracy in context",
    "W_K2": "recall of W_K²",
    "W_K1": "recall of W_K¹ early",
}
REACHES = {"accuracy": "accuracy is", "W_K2": "W_K² recalls", "W_K1": "W_K¹ early recalls"}
FIRST = "accuracy"  # the measure of the first panel


def accuracy(run: Run, view: View) -> Panel:
    """Accuracy in context."""
    return _panel(
        run,
        view,
        "accuracy",
        "How often the likeliest next character is the one that the context tells.",
    )


def w_k2(run: Run, view: View) -> Panel:
    """Draw what W_K2 recalls."""
    return _panel(
        run, view, "W_K2", "The share of characters whose copy W_K² tells from all others."
    )


def w_k1(run: Run, view: View) -> Panel:
    """Draw what W_K1 recalls of its early positions."""
    says = (
        "The share of positions in the first quarter at which W_K¹ finds the one before. The "
        "longer the sequence, the more there are, and the more keys compete."
    )
    return _panel(run, view, "W_K1", says)


def _panel(run: Run, view: View, measure: str, says: str) -> Panel:
    # [seeds, lengths, evaluations]
    curves = run[f"curve/{measure}_{view.optimiser_shown}"]
    level = LEVELS[measure]
    series = [
        Curve(f"T = {length}", run["curve/step"], curves[:, index], f"layer {index + 1}")
        for index, length in enumerate(run["task/lengths"])
    ]
    waited = [(f"{level:.0%}", level, "floor")]
    ends = mean_of(curves[:, -1])[-1]
    ending = f"{ends:.0%} at T = {run['task/lengths'][-1]}"
    told = f"{REACHES[measure]} {ending}" if run.finished else f"{NAMES[measure]}, so far"
    name = NAMES[measure]
    figure = figures.curves(
        series, "training step", name, y_range=(0, 1.02), lines=waited, height=figures.SEAT
    )
    if measure != FIRST:  # which names the lengths for its row
        figure.update_layout(showlegend=False)
    return Panel(
        f"With {OPTIMISERS[view.optimiser_shown]} {told}",
        f"{says} The mean over seeds with its spread. The dotted line is the level that is waited "
        "for. If nothing were learned, the curves would stay where they begin.",
        figures.seated(figure),
        data=pd.DataFrame(
            {"step": run["curve/step"]} | {each.name: np.round(each.mean(), 4) for each in series}
        ),
    )
