"""What makes the comparison fair: the numbers of parameters, and the rates that were tried."""

from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.experiment import Panel, Run
from icl_core.figure import Figure, Trace
from icl_core.figures import Curve, references
from icl_core.figures.style import INK, TICKS, axis, layout
from icl_core.papers.gdssm.comparison.draw import style
from icl_core.papers.gdssm.comparison.read_run import entries, levels, levels_on
from icl_core.papers.gdssm.comparison.train import TUNED_ON

LEAST = 0.9  # log10 of the fewest parameters shown


def parameters(run: Run, view: Any) -> Panel:
    """Loss against the number of parameters."""
    loss, sizes = run["evaluated/loss"].mean(0), run["size/parameters"]
    most = float(np.log10(sizes.max())) + 0.25
    figure = Figure(_dots(run, loss), layout(380, {"t": 26}, showlegend=False))
    figure.update_xaxes(axis("parameters (log scale)", type="log", range=[LEAST, most]))
    figure.update_xaxes(tickvals=[10, 100, 1000, 10000], ticktext=["10", "100", "1,000", "10,000"])
    figure.update_yaxes(axis("loss at the query", range=list(style.limits(run, loss))))
    _names(run, figure, loss, most)
    labels = [each.label for each in entries(run)]
    return Panel(
        f"{style.few(run)} parameters of the right kind against {style.many(run)}",
        "The GD-SSM multiplies tokens with each other and keeps the sum: with that built in there is hardly anything "
        "left to learn. The others could not be made so small: letting a token in and out takes more. Were it a matter "
        "of size, blue would lie highest.",
        figure,
        data=pd.DataFrame({"model": labels, "parameters": sizes, "loss": style.column(loss, 4)}),
        note=(style.told(each.short for each in style.diverged(run)) + style.beyond(run, loss)).strip(),
    )


def _dots(run: Run, loss: np.ndarray) -> list[Trace]:
    """A dot a model that stayed finite; one too far off stands at the edge, as an arrow."""
    edge, found = style.limits(run, loss)[1], []
    for each in entries(run):
        x, y = run["size/parameters"][each.place], loss[each.place]
        if np.isfinite(y):
            at, more = (edge, {"symbol": "triangle-up"}) if y > edge else (y, {})
            hover = f"{each.label}: %{{x}} parameters, loss {y:.4g}<extra></extra>"
            dot = Trace(x=[x], y=[at], mode="markers", name=each.label, hovertemplate=hover, cliponaxis=False)
            found.append(dot.update(marker=style.marker(each.model, 12, **more)))
    return found


def _names(run: Run, figure: Figure, loss: np.ndarray, most: float) -> None:
    """Names the lines, away from the GD-SSM's dots; these, each towards the side that has more room; the others."""
    across, sizes = references(style.lines(*levels(run))), np.log10(run["size/parameters"])
    if sizes[0] > LEAST + 0.35 * (most - LEAST):  # the dot of one layer, near its line
        across["annotations"] = [text | {"x": 0.01} for text in across["annotations"]]
    figure.update_layout(across)
    for each in entries(run):
        x, y = sizes[each.place], loss[each.place]
        if not each.baseline and np.isfinite(y):
            side = {"xanchor": "right" if 2 * x > LEAST + most else "left", "font": {"size": TICKS}}
            clear = {"yanchor": "top", "yshift": -6}  # of the names of the lines, which stand above them
            y = min(y, style.limits(run, loss)[1])
            figure.add_annotation(x=x, y=y, text=each.label, showarrow=False, **side, **clear)
    top = {"x": 1, "xref": "paper", "xanchor": "right", "y": 1, "yref": "paper", "yanchor": "bottom"}
    figure.add_annotation(text="the others", showarrow=False, **top)


def rates(run: Run, view: Any) -> Panel:
    """The loss at every rate that was tried, the chosen one with a ring."""
    found, x, tuned, chosen = entries(run), run["tuned/rate"], run["tuned/loss"], _chosen(run)[0]
    edge = int(sum(rate in (x[0], x[-1]) for rate in chosen))
    columns = {f"{rate:g}": style.column(tuned[:, i]) for i, rate in enumerate(x)}
    return Panel(
        f"{len(x)} rates tried with every model, for {run.config.tuning:,} steps each",
        "One seed, the same tasks and steps at every rate. The ring is the rate that trains all seeds. A model whose "
        "ring lies at either end might do better at a rate that was not tried"
        + (f": here {edge} of {len(found)}." if edge else "; here none."),
        _tuned(run),
        data=pd.DataFrame({"model": [each.label for each in found]} | columns),
        note="Colours as above." + style.told(_lost(run)),
    )


def _tuned(run: Run) -> Figure:
    x, tuned, zero = run["tuned/rate"], run["tuned/loss"], levels_on(run, TUNED_ON)[0]
    styled = [(each.label, tuned[each.place], each.model) for each in entries(run)]
    series = [Curve(label, x, row, model.colour, model.dash, markers=True) for label, row, model in styled]
    seen = np.minimum(tuned, 1.3 * zero)
    low, high = min(zero, float(seen.min())), max(zero, float(seen.max()))
    room = 0.1 * (high - low)  # for a ring at either end
    figure = figures.curves(
        series, "learning rate", "loss after the tuning", log_x=True, x_range=(0.8 * x[0], 1.25 * x[-1]),
        y_range=(low - room, high + room),
        lines=[("predicting zero", zero, "floor")],
    )  # fmt: skip
    ring = {"size": 18, "color": "rgba(0,0,0,0)", "line": {"color": INK, "width": 2}}
    chosen, best = _chosen(run)
    figure.add_trace(Trace(x=chosen, y=best, mode="markers", marker=ring, hoverinfo="skip"))
    figure.update_layout(showlegend=False)
    return figure.update_xaxes(tickvals=x, ticktext=[f"{each:g}" for each in x])


def _chosen(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """The rates chosen and the losses there, of the models that have one: not where all rates diverged."""
    has = np.isfinite(run["chosen/rate"])
    return run["chosen/rate"][has], run["tuned/loss"].min(1)[has]


def _lost(run: Run) -> list[str]:
    """The rates that diverged: "Mamba at 0.01 and 0.03", "S5 at every rate"."""
    named = []
    for each in entries(run):
        row = run["tuned/loss"][each.place]
        at = [f"{rate:g}" for rate in run["tuned/rate"][~np.isfinite(row)]]
        if at:
            named.append(f"{each.short} at {' and '.join(at) if len(at) < len(row) else 'every rate'}")
    return named
