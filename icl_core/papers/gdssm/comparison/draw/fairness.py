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
from icl_core.papers.gdssm.comparison.draw import style
from icl_core.papers.gdssm.comparison.load_run import Entry, entries
from icl_core.papers.gdssm.shared.sequence_models import Model, train
from icl_core.papers.gdssm.shared.sequence_models.settings import UNDECIDED
from icl_core.papers.gdssm.shared.sequence_models.style import marker
from icl_core.papers.gdssm.shared.sequence_models.training_end import levels

LEAST = 0.9  # log10 of the fewest parameters shown


def parameters(run: Run, view: Any) -> Panel:
    """Loss against the number of parameters."""
    loss, sizes = run["evaluated/loss"].mean(0), run["size/parameters"]
    shown, most = style.limits(run, loss), float(np.log10(sizes.max())) + 0.25
    found, ticks = (
        entries(run),
        {"tickvals": [10, 100, 1000, 10000], "ticktext": ["10", "100", "1,000", "10,000"]},
    )
    finite = [each for each in found if np.isfinite(each.loss)]
    figure = Figure(
        [_dot(each, shown[1]) for each in finite], layout(380, {"t": 26}, showlegend=False)
    )
    figure.update_xaxes(axis("parameters (log scale)", type="log", range=[LEAST, most], **ticks))
    figure.update_yaxes(axis("loss at the query", range=list(shown)))
    _names(run, figure, [each for each in finite if not each.baseline], (shown[1], most))
    labels = [each.model.label for each in found]
    return Panel(
        "{} parameters against {}".format(*style.counts(run)),
        "The GD-SSM multiplies tokens with each other and keeps the sum. With that built in, "
        "hardly anything is left to learn. The others cannot be made so small, because it takes "
        "more to let a token in and out. If the number of parameters decided, the GD-SSM (blue) "
        "would lose most, since it has the fewest." + style.outside_range_sentence(run, loss),
        figure,
        data=pd.DataFrame({"model": labels, "parameters": sizes, "loss": style.column(loss, 4)}),
    )


def _dot(each: Entry, edge: float) -> Trace:
    """A model that stayed finite; one too far off stands at the edge, as an arrow."""
    at, more = (edge, {"symbol": "triangle-up"}) if each.loss > edge else (each.loss, {})
    hover = f"{each.model.label}: %{{x}} parameters, loss {each.loss:.4g}<extra></extra>"
    dot = Trace(
        x=[each.parameters], y=[at], mode="markers", name=each.model.label, hovertemplate=hover
    )
    return dot.update(marker=marker(each.model, 12, **more), cliponaxis=False)


def _names(run: Run, figure: Figure, own: list[Entry], edges: tuple[float, float]) -> None:
    """Names the lines, away from the GD-SSM's dots; these, each towards the side that has more
    room; the others."""
    edge, most = edges
    across = references(style.lines(*levels(run)))
    if np.log10(entries(run)[0].parameters) > LEAST + 0.35 * (
        most - LEAST
    ):  # the dot of one layer, near its line
        across["annotations"] = [text | {"x": 0.01} for text in across["annotations"]]
    figure.update_layout(across)
    for each in own:
        x, y = np.log10(each.parameters), min(each.loss, edge)
        side = {"xanchor": "right" if 2 * x > LEAST + most else "left", "font": {"size": TICKS}}
        clear = {
            "yanchor": "top",
            "yshift": -6,
        }  # of the names of the lines, which stand above them
        figure.add_annotation(x=x, y=y, text=each.model.label, showarrow=False, **side, **clear)
    figure.add_annotation(**note("the others", 1, 1, xanchor="right", yanchor="bottom"))


def learning_rates(run: Run, view: Any) -> Panel:
    """The loss at every learning rate that was tried, the chosen one with a ring."""
    models, x, tuned = [each.model for each in entries(run)], run["tuned/rate"], run["tuned/loss"]
    decided = run["chosen/decided"] > 0
    edge = int(np.isin(run["chosen/rate"][decided], x[[0, -1]]).sum())
    columns = {f"{rate:g}": style.column(tuned[:, i]) for i, rate in enumerate(x)}
    return Panel(
        f"{len(x)} rates tried with every model, for {run.config.tuning:,} steps each",
        "One seed, with the same tasks and steps at every rate. A ring marks the rate that then "
        "trains all seeds. A model whose ring lies at either end might do better at a rate that "
        "was not tried"
        + (f": here {edge} of {len(models)}." if edge else "; here none.")
        + _undecided(
            [each.short for each, is_one in zip(models, decided, strict=True) if not is_one]
        ),
        _tuned(run, models),
        data=pd.DataFrame({"model": [each.label for each in models]} | columns),
        note="Colours are those of the models' names in the first panel."
        + style.diverged_sentence(_lost(run, models)),
    )


def _undecided(names: list[str]) -> str:
    """Which models have no rate of their own, in a sentence."""
    if not names:
        return ""
    return (
        f" No rate was chosen where none had left predicting zero: {UNDECIDED:g} trains "
        f"{', '.join(names)}."
    )


def _tuned(run: Run, models: list[Model]) -> Figure:
    x, tuned, zero = (
        run["tuned/rate"],
        run["tuned/loss"],
        train.levels(run.config, train.TUNED_ON)[0],
    )
    styled = zip(models, tuned, strict=True)
    series = [
        Curve(each.label, x, row, each.colour, each.dash, markers=True) for each, row in styled
    ]
    seen = np.minimum(tuned, 1.3 * zero)
    low, high = min(zero, float(seen.min())), max(zero, float(seen.max()))
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
    chosen = run["chosen/rate"]
    ringed = [
        (rate, float(row[x == rate][0]))
        for rate, row in zip(chosen, tuned, strict=True)
        if np.isfinite(rate)
    ]
    at = np.array([each for each in ringed if np.isfinite(each[1])]).reshape(
        -1, 2
    )  # not where all diverged
    figure.add_trace(Trace(x=at[:, 0], y=at[:, 1], mode="markers", marker=ring, hoverinfo="skip"))
    figure.update_layout(showlegend=False)
    return figure.update_xaxes(tickvals=x, ticktext=[f"{each:g}" for each in x])


def _lost(run: Run, models: list[Model]) -> Iterator[str]:
    """The learning rates that diverged: "Mamba at 0.01 and 0.03", "S5 at every rate"."""
    for each, row in zip(models, ~np.isfinite(run["tuned/loss"]), strict=True):
        if row.any():
            at = " and ".join(f"{rate:g}" for rate in run["tuned/rate"][row])
            yield f"{each.short} at {'every rate' if row.all() else at}"
