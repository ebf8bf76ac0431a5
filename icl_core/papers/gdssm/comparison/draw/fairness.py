"""What makes the comparison fair: the numbers of parameters, and the learning rates that were
tried."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Curve, references
from icl_core.figures.style import INK, TICKS, axis, layout, note
from icl_core.papers.gdssm.comparison.draw.losses import (
    loss_range,
    models_beyond,
    number_column,
    reference_lines,
)
from icl_core.papers.gdssm.comparison.load_run import Entry, entries
from icl_core.papers.gdssm.comparison.words import WORDS
from icl_core.papers.gdssm.shared.sequence_models import Model, train
from icl_core.papers.gdssm.shared.sequence_models.settings import UNDECIDED
from icl_core.papers.gdssm.shared.sequence_models.training_end import levels

LEAST = 0.9  # log10 of the fewest parameters shown


def parameters(run: Run, view: Any) -> Panel:
    """Draw the loss against the number of parameters, a dot a model."""
    loss = run["evaluated/loss"].mean(0)  # (models,)
    sizes = run["size/parameters"]
    limits = loss_range(run, loss)
    most = float(np.log10(sizes.max())) + 0.25
    models = entries(run)
    finite = [entry for entry in models if np.isfinite(entry.loss)]
    figure = Figure(
        [_dot(entry, limits[1]) for entry in finite], layout(380, {"t": 26}, showlegend=False)
    )
    ticks = {"tickvals": [10, 100, 1000, 10000], "ticktext": ["10", "100", "1,000", "10,000"]}
    figure.update_xaxes(axis("parameters (log scale)", type="log", range=[LEAST, most], **ticks))
    figure.update_yaxes(axis("loss at the query", range=list(limits)))
    _names(run, figure, [entry for entry in finite if not entry.baseline], (limits[1], most))
    labels = [entry.model.label for entry in models]
    data = pd.DataFrame({"model": labels, "parameters": sizes, "loss": number_column(loss, 4)})
    return WORDS.panel("parameters", run, view, figure, data=data, beyond=models_beyond(run, loss))


def _dot(entry: Entry, edge: float) -> Trace:
    """Return the dot of a model that stayed finite; one too far off stands at the edge, as an
    arrow."""
    is_beyond = entry.loss > edge
    at = edge if is_beyond else entry.loss
    arrow = {"symbol": "triangle-up"} if is_beyond else {}
    hover = f"{entry.model.label}: %{{x}} parameters, loss {entry.loss:.4g}<extra></extra>"
    dot = Trace(
        x=[entry.parameters], y=[at], mode="markers", name=entry.model.label, hovertemplate=hover
    )
    return dot.update(marker=entry.model.marker(12, **arrow), cliponaxis=False)


def _names(run: Run, figure: Figure, own: list[Entry], edges: tuple[float, float]) -> None:
    """Write names: of the lines, away from the GD-SSM's dots; of these, each towards the side that
    has more room; of the others. `edges` are the largest loss shown and log10 of the most
    parameters."""
    edge, most = edges
    across = references(reference_lines(*levels(run)))
    one_layer = np.log10(entries(run)[0].parameters)  # its dot is near its line
    if one_layer > LEAST + 0.35 * (most - LEAST):
        across["annotations"] = [text | {"x": 0.01} for text in across["annotations"]]
    figure.update_layout(across)
    for entry in own:
        x = np.log10(entry.parameters)
        y = min(entry.loss, edge)
        side = {"xanchor": "right" if 2 * x > LEAST + most else "left", "font": {"size": TICKS}}
        # clear of the names of the lines, which stand above them
        below = {"yanchor": "top", "yshift": -6}
        figure.add_annotation(x=x, y=y, text=entry.model.label, showarrow=False, **side, **below)
    figure.add_annotation(**note("the others", 1, 1, xanchor="right", yanchor="bottom"))


def learning_rates(run: Run, view: Any) -> Panel:
    """Draw the loss at every learning rate that was tried, the chosen one with a ring."""
    models = [entry.model for entry in entries(run)]
    x = run["tuned/rate"]
    losses = run["tuned/loss"]  # (models, rates)
    decided = run["chosen/decided"] > 0
    columns = {f"{rate:g}": number_column(losses[:, i]) for i, rate in enumerate(x)}
    return WORDS.panel(
        "rates",
        run,
        view,
        _tuned(run, models),
        data=pd.DataFrame({"model": [model.label for model in models]} | columns),
        tried=len(x),
        at_either_end=int(np.isin(run["chosen/rate"][decided], x[[0, -1]]).sum()),
        undecided=", ".join(
            model.short for model, is_one in zip(models, decided, strict=True) if not is_one
        ),
        undecided_rate=UNDECIDED,
        diverged_at=", ".join(_lost(run, models)),
    )


def _tuned(run: Run, models: list[Model]) -> Figure:
    """Draw a line a model over the learning rates, with a ring at the chosen one."""
    x = run["tuned/rate"]
    losses = run["tuned/loss"]  # (models, rates)
    zero = train.levels(run.config, train.TUNED_ON)[0]
    series = [
        Curve(model.label, x, row, model.colour, model.dash, markers=True)
        for model, row in zip(models, losses, strict=True)
    ]
    clipped = np.minimum(losses, 1.3 * zero)
    low = min(zero, float(clipped.min()))
    high = max(zero, float(clipped.max()))
    room = 0.1 * (high - low)  # for a ring at either end
    figure = figures.curves(
        series,
        "learning rate",
        "loss after the tuning",
        log_x=True,
        x_range=(0.8 * x[0], 1.25 * x[-1]),
        y_range=(low - room, high + room),
        lines=[("predicting zero", zero, "floor")],
    )
    ring = {"size": 18, "color": "rgba(0,0,0,0)", "line": {"color": INK, "width": 2}}
    points = [
        (rate, float(row[x == rate][0]))
        for rate, row in zip(run["chosen/rate"], losses, strict=True)
        if np.isfinite(rate)
    ]
    finite = [point for point in points if np.isfinite(point[1])]  # not where all diverged
    at = np.array(finite).reshape(-1, 2)
    figure.add_trace(Trace(x=at[:, 0], y=at[:, 1], mode="markers", marker=ring, hoverinfo="skip"))
    figure.update_layout(showlegend=False)
    return figure.update_xaxes(tickvals=x, ticktext=[f"{rate:g}" for rate in x])


def _lost(run: Run, models: list[Model]) -> Iterator[str]:
    """Yield the learning rates that diverged: "Mamba at 0.01 and 0.03", "S5 at every rate"."""
    for model, row in zip(models, ~np.isfinite(run["tuned/loss"]), strict=True):
        if row.any():
            rates = " and ".join(f"{rate:g}" for rate in run["tuned/rate"][row])
            yield f"{model.short} at {'every rate' if row.all() else rates}"
