"""Where each layer ends, beside what it can do at best; its training; and what is left without
each part."""

from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Trace
from icl_core.contract.number_text import percent
from icl_core.figures import Curve, mean_of, number_text
from icl_core.figures.style import INK
from icl_core.papers.gdssm.ingredients.claims import gain_that_counts
from icl_core.papers.gdssm.ingredients.settings import variant
from icl_core.papers.gdssm.ingredients.words import WORDS
from icl_core.papers.gdssm.shared import closed_forms
from icl_core.training.several_seeds import padded

UNDER = 7  # letters that fit under a bar
LEVELS = (("predicting zero", "zero", "floor"), ("one step", "one", "gradient descent"))
LEFT_OUT = {
    "all": "y xᵀ of each pair, read by the query",
    "two": "y xᵀ of each pair, and as many x yᵀ that do not belong together",
    "one": "y yᵀ and x xᵀ: none holds an x with its own y",
    "fixed": "y xᵀ of each pair, never multiplied with the query",
    "forgets": "y xᵀ of the last pair, read by the query",
    "keeps": "y xᵀ of each pair, read by the query",
}


def ends(run: Run, view: Any) -> Panel:
    """Draw a bar a layer, with the best that it can do."""
    ids = run.names("variants")
    unit = float(run["baseline/zero"][0]) if view.relative else 1.0
    means = [float(run[f"evaluated/{id}"].mean()) / unit for id in ids]
    best = [float(run[f"constructed/{id}"][0]) / unit for id in ids]
    lines = [(name, float(run[f"baseline/{id}"][0]) / unit, kind) for name, id, kind in LEVELS]
    figure = figures.bars(
        [variant(id).label for id in ids],
        means,
        "share of predicting zero" if view.relative else "loss at the end",
        kinds=[variant(id).colour for id in ids],
        lines=lines,
        text="none",
        y_range=(0, 1.2 * lines[0][1]),
        height=figures.SEAT,
    )
    for text in figure.layout["annotations"]:
        text.update(x=0.99, xanchor="right")
    texts = ["<br>".join(wrap(variant(id).label, UNDER)) for id in ids]
    figure.update_xaxes(tickvals=list(range(len(texts))), ticktext=texts, tickangle=0)
    bar = figure.data[0].update(showlegend=False)
    figure.add_trace(_marks(bar["x"], best))
    figure = figures.seated(figure.update_layout(showlegend=True), figures.HALF)
    labels = [variant(id).label for id in ids]
    data = pd.DataFrame({"layer": labels, "loss": means, "constructed": best}).round(5)
    return WORDS.panel("ends", run, view, figure, data=data)


def _marks(labels: list[str], best: list[float]) -> Trace:
    """Return a line across each bar at its construction."""
    marker = {"symbol": "line-ew", "size": 34, "line": {"color": INK, "width": 3}}
    return Trace(x=list(labels), y=best, mode="markers", marker=marker, name="its construction")


def training(run: Run, view: Any) -> Panel:
    """Draw the loss of every layer over its training; also of a run that is still going."""
    x = np.asarray(run.tensors.get("curve/step", [0]))
    ids = run.names("variants") if "names/variants" in run.tensors else []
    rows = {
        id: padded(np.reshape(run.tensors[f"curve/{id}"], (run.config.seeds, -1)), len(x))
        for id in ids
        if f"curve/{id}" in run.tensors
    }
    series = [
        Curve(variant(id).label, x, losses, variant(id).colour) for id, losses in rows.items()
    ]
    zero = closed_forms.zero_loss(run.config.f)
    figure = figures.curves(
        series or [Curve("none yet", x, x + np.nan)],
        "training step",
        "loss",
        y_range=(0, 1.25 * zero),
        lines=[("predicting zero", zero, "floor")],
        height=figures.SEAT,
    )
    means = {id: mean_of(losses) for id, losses in rows.items()}
    ends = [mean_of(run.tensors[f"curve/{id}"])[-1:] for id in rows]
    return WORDS.panel(
        "training",
        run,
        view,
        figures.seated(figure, figures.HALF),
        data=pd.DataFrame({"step": x} | {variant(id).label: y for id, y in means.items()}).round(5),
        left=sum(bool(loss.size) and bool(loss[0] < 0.97 * zero) for loss in ends),
        drawn=len(rows),
    )


def table(run: Run, view: Any) -> Panel:
    """Tabulate a row a layer: what is taken away, what its state then holds, and what is left."""
    ids = run.names("variants")
    zero = closed_forms.zero_loss(run.config.f)
    rows = [
        (
            variant(id).label,
            variant(id).what,
            LEFT_OUT.get(id, ""),
            number_text(float(run[f"exact/{id}"][0]) / zero),
            number_text(float(run[f"constructed/{id}"][0] / run["baseline/zero"][0])),
            number_text(float(run[f"evaluated/{id}"].mean() / run["baseline/zero"][0])),
            percent(share) if (share := gain_that_counts(run, id)) else "nothing",
        )
        for id in ids
    ]
    columns = [
        "layer",
        "taken away",
        "what its state adds up",
        "exact",
        "constructed",
        "trained",
        "gain left",
    ]
    frame = pd.DataFrame(rows, columns=columns)
    return WORDS.panel("table", run, view, table=frame, data=frame)
