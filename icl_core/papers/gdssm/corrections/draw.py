"""The printed formulas beside those that give gradient descent: gains, step lengths, a table."""

from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures import Curve, number_text
from icl_core.papers.gdssm.corrections.run import best_gain, gain
from icl_core.papers.gdssm.corrections.words import WORDS

SMALL = 12  # pixels of the type of the names
NARROW = 11  # characters that fit under a bar
CURVES = {  # of one step: name and colour
    "right": ("corrected", "construction"),
    "Q": ("Q as printed", "layer 2"),
    "odd": ("a window at every token", "layer 3"),
}


def gains(run: Run, view: Any) -> Panel:
    """Draw what each formula gains, beside the corrected one."""
    bars = (
        ("one step", "construction", best_gain(run, "right")),
        ("Q as printed", "layer 2", best_gain(run, "Q")),
        ("a window at every token", "layer 3", best_gain(run, "odd")),
        ("two steps", "construction", float(run["gain/right"])),
        ("W and Wᵀ mixed", "gradient descent", float(run["gain/mixed"])),
    )
    labels = [label for label, _, _ in bars]
    kinds = [kind for _, kind, _ in bars]
    values = [value for _, _, value in bars]
    data = pd.DataFrame({"formula": labels, "gain": values}).round(5)
    return WORDS.panel("gains", run, view, figures.seated(_bars(labels, kinds, values)), data=data)


def _bars(labels: list[str], kinds: list[str], values: list[float]) -> Figure:
    """Draw a bar for every formula, with its number above it."""
    figure = figures.bars(
        labels, values, "gain over predicting zero", kinds=kinds, text="none", y_range=(0, 1.12)
    )
    texts = ["<br>".join(wrap(label, NARROW)) for label in labels]
    figure.update_xaxes(
        tickvals=list(range(len(texts))), ticktext=texts, tickangle=0, tickfont={"size": SMALL}
    )
    for index, value in enumerate(values):
        where = {"x": index, "y": value, "yanchor": "bottom", "yshift": 2, "showarrow": False}
        figure.add_annotation(text=number_text(value, 2 if value > 0.1 else 3), **where)
    return figure


def lengths(run: Run, view: Any) -> Panel:
    """Draw the gain of one step against its length: a parabola for each formula."""
    times = np.linspace(-1, 3, 81)
    rows = {
        label: np.array([gain(run, name, t) for t in times]) for name, (label, _) in CURVES.items()
    }
    series = [Curve(label, times, rows[label], kind) for label, kind in CURVES.values()]
    series.append(Curve("predicting zero", times, np.zeros_like(times), "floor"))
    figure = figures.curves(
        series, "length of the step, times the best", "gain",
        y_range=(-1.6, max(0.8, 1.12 * float(rows["corrected"].max()))), at=view.times,
    )  # fmt: skip
    data = pd.DataFrame({"length": times} | rows).round(4)
    return WORDS.panel("lengths", run, view, figures.seated(figure, figures.HALF), data=data)


def table(run: Run, view: Any) -> Panel:
    """Return the table of words.md: a row for every formula."""
    return WORDS.panel("table", run, view)
