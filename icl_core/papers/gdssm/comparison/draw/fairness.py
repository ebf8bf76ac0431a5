"""What makes the comparison fair: the numbers of parameters, and the rates that were tried."""

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from icl_core import figures
from icl_core.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.figures.curves import references
from icl_core.figures.style import INK, TICKS, axis, layout
from icl_core.papers.gdssm.comparison import comparison_tasks
from icl_core.papers.gdssm.comparison.draw import style
from icl_core.papers.gdssm.comparison.models import learners

LEAST = 0.9  # log10 of the fewest parameters shown


def parameters(run: Run, view: Any) -> Panel:
    """Loss against the number of parameters."""
    found, loss, sizes = learners(run.config), run["judged/loss"].mean(0), run["size/parameters"]
    shown = style.limits(run, loss)
    figure = go.Figure(layout=layout(380, {"t": 26}, showlegend=False))
    for each, x, y in zip(found, sizes, loss, strict=True):
        if np.isfinite(y):
            at, more = (shown[1], {"symbol": "triangle-up"}) if y > shown[1] else (y, {})
            hover = f"{each.name}: %{{x}} parameters, loss {y:.4g}<extra></extra>"
            dot = go.Scatter(x=[x], y=[at], mode="markers", name=each.name, hovertemplate=hover, cliponaxis=False)
            figure.add_trace(dot.update(marker=style.marker(each.name, 12, **more)))
    most = float(np.log10(sizes.max())) + 0.25
    figure.update_xaxes(axis("parameters (log scale)", type="log", range=[LEAST, most]))
    figure.update_xaxes(tickvals=[10, 100, 1000, 10000], ticktext=["10", "100", "1,000", "10,000"])
    figure.update_yaxes(axis("loss at the query", range=list(shown)))
    _names(run, figure, loss, most)
    return Panel(
        f"{style.few(run)} parameters of the right kind against {style.many(run)}",
        "The GD-SSM multiplies tokens with each other and keeps the sum: with that built in there is hardly anything "
        "left to learn. The others could not be made so small: letting a token in and out takes more. Were it a matter "
        "of size, blue would lie highest.",
        figure,
        data=pd.DataFrame({"model": [m.name for m in found], "parameters": sizes, "loss": style.column(loss, 4)}),
        note=(style.told(style.short(each.name) for each in style.diverged(run)) + style.beyond(run, loss)).strip(),
    )


def _names(run: Run, figure: go.Figure, loss: np.ndarray, most: float) -> None:
    """Names the lines, away from the GD-SSM's dots; these, each towards the side that has more room; the others."""
    across = references(style.levels(*style.evaluated(run)))
    own = int(run["size/parameters"][0])  # the dot of one layer, near its line
    if np.log10(own) > LEAST + 0.35 * (most - LEAST):
        across["annotations"] = [text | {"x": 0.01} for text in across["annotations"]]
    figure.update_layout(across)
    for each, x, y in zip(learners(run.config), np.log10(run["size/parameters"]), loss, strict=True):
        if not each.rival and np.isfinite(y):
            side = {"xanchor": "right" if 2 * x > LEAST + most else "left", "font": {"size": TICKS}}
            clear = {"yanchor": "top", "yshift": -6}  # of the names of the lines, which stand above them
            y = min(y, style.limits(run, loss)[1])
            figure.add_annotation(x=x, y=y, text=each.name, showarrow=False, **side, **clear)
    top = {"x": 1, "xref": "paper", "xanchor": "right", "y": 1, "yref": "paper", "yanchor": "bottom"}
    figure.add_annotation(text="the others", showarrow=False, **top)


def rates(run: Run, view: Any) -> Panel:
    """The loss at every rate that was tried, the chosen one with a ring."""
    found, x, tried = learners(run.config), run["tuned/rate"], run["tuned/loss"]
    series = [
        Curve(m.name, x, row, *style.STYLES[m.name][:2], markers=True) for m, row in zip(found, tried, strict=True)
    ]
    zero = style.known(run, comparison_tasks.TUNED_ON)[0]
    seen = np.minimum(tried, 1.3 * zero)
    low, high = min(zero, float(seen.min())), max(zero, float(seen.max()))
    room = 0.1 * (high - low)  # for a ring at either end
    figure = figures.curves(
        series, "learning rate", "loss after the trial", log_x=True, x_range=(0.8 * x[0], 1.25 * x[-1]),
        y_range=(low - room, high + room),
        lines=[("predicting zero", zero, "floor")],
    )  # fmt: skip
    ring = {"size": 18, "color": "rgba(0,0,0,0)", "line": {"color": INK, "width": 2}}
    chosen = run["chosen/rate"][np.isfinite(run["chosen/rate"])]  # none where all diverged
    best = tried.min(1)[np.isfinite(run["chosen/rate"])]
    figure.add_trace(go.Scatter(x=chosen, y=best, mode="markers", marker=ring, hoverinfo="skip"))
    figure.update_traces(showlegend=False)
    figure.update_xaxes(tickvals=x, ticktext=[f"{each:g}" for each in x])
    edge = int(sum(rate in (x[0], x[-1]) for rate in chosen))
    return Panel(
        f"{len(x)} rates tried with every model, for {run.config.tuning:,} steps each",
        "One seed, the same tasks and steps at every rate. The ring is the rate that trains all seeds. A model whose "
        "ring lies at either end might do better at a rate that was not tried"
        + (f": here {edge} of {len(found)}." if edge else "; here none."),
        figure,
        data=pd.DataFrame(
            {"model": [m.name for m in found]} | {f"{r:g}": style.column(tried[:, i]) for i, r in enumerate(x)}
        ),
        note="Colours as above." + style.told(_lost(run)),
    )


def _lost(run: Run) -> list[str]:
    """The trials that diverged: "Mamba at 0.01 and 0.03", "S5 at every rate"."""
    named = []
    for each, row in zip(learners(run.config), run["tuned/loss"], strict=True):
        at = [f"{rate:g}" for rate in run["tuned/rate"][~np.isfinite(row)]]
        if at:
            named.append(f"{style.short(each.name)} at {' and '.join(at) if len(at) < len(row) else 'every rate'}")
    return named
