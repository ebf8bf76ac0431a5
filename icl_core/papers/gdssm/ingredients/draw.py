"""Where each layer ends, beside what it can do at best; its training; and what is left without
each part."""

from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Trace
from icl_core.figures import Curve, mean_of, number_text
from icl_core.figures.style import INK
from icl_core.papers.gdssm.ingredients.metrics import left
from icl_core.papers.gdssm.ingredients.settings import variant
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
    return Panel(
        f"Window of 2 gains {left(run, 'two')}, of 1 {left(run, 'one')}, fixed "
        f"{left(run, 'fixed')}",
        "A bar is a trained layer without one part, and the line across it is the best that its "
        "construction can do on the same tasks. The gain is what one step of gradient descent is "
        "below predicting zero. If a part did not matter, its bar would be as low as the first.",
        figures.seated(figure.update_layout(showlegend=True), figures.HALF),
        data=pd.DataFrame(
            {"layer": [variant(id).label for id in ids], "loss": means, "constructed": best}
        ).round(5),
    )


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
    return Panel(
        _trained(run, list(rows)),
        "The loss on held-out tasks. A layer with a path to the query's label leaves the dotted "
        "line, that of predicting zero; one without stays on it however long it trains."
        + (" The bands are the spread over seeds." if run.config.seeds > 1 else ""),
        figures.seated(figure, figures.HALF),
        data=pd.DataFrame(
            {"step": x} | {variant(id).label: mean_of(losses) for id, losses in rows.items()}
        ).round(5),
    )


def _trained(run: Run, ids: list[str]) -> str:
    """Return which layers have left predicting zero."""
    if not ids:
        return "Nothing trained yet"
    zero = closed_forms.zero_loss(run.config.f)
    last = {id: mean_of(run.tensors[f"curve/{id}"])[-1:] for id in ids}
    off = [variant(id).label for id, loss in last.items() if loss.size and loss[0] < 0.97 * zero]
    return f"{len(off)} of {len(ids)} layers have left predicting zero"


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
            left(run, id),
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
    return Panel(
        "Two parts carry all of the gain: products in the window, and the product with the query",
        "Losses are shares of predicting zero. Exact is the expected loss of the construction in "
        "closed form; constructed and trained are on the same tasks. A product has to do with the "
        "query's label only if it is odd in the query's x and even in every other x: it takes y, "
        "its own x, and the query. Where no such product is left, nothing can be learned.",
        table=frame,
        data=frame,
    )
