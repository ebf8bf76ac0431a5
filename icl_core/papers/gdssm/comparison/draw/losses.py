"""The comparison with other models of sequences (Figures 4 C and 6): their losses; also of a run still going."""

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from icl_core import figures
from icl_core.experiment import Panel, Run
from icl_core.figures import Curve, mean_of
from icl_core.figures.style import DASHES, PAPER, TICKS, axis, colour, layout
from icl_core.papers.gdssm.comparison import comparison_tasks
from icl_core.papers.gdssm.comparison.draw import style
from icl_core.papers.gdssm.comparison.metrics import NEAR
from icl_core.papers.gdssm.comparison.models import Learner, learners


def ends(run: Run, view: Any) -> Panel:
    """The loss of every model at the end, every seed a dot."""
    found, loss = learners(run.config), run["judged/loss"]  # [seeds, models]
    shown, rows = style.limits(run, loss), len(found)
    figure = go.Figure(layout=layout(120 + 40 * rows, {"t": 70}, showlegend=False))
    _lines(run, figure, 40 * rows)
    for index, each in enumerate(found):
        figure.add_trace(_dots(each.name, index, loss[:, index], shown[1]))
        if not np.isfinite(loss[:, index]).all():
            here = {"x": 1, "xref": "paper", "xanchor": "right", "y": index, "yanchor": "middle", "bgcolor": PAPER}
            figure.add_annotation(text="diverged", showarrow=False, **here)
    ticks = [style.short(each.name).replace("transformer, ", "transformer,<br>") for each in found]
    figure.update_xaxes(axis("loss at the query", range=list(shown), showgrid=False))
    figure.update_yaxes(axis(range=[rows - 0.5, -0.5], tickvals=list(range(rows)), ticktext=ticks))  # the first on top
    return Panel(
        _reached(run),
        f"Every seed is a dot; the same {comparison_tasks.JUDGED[1]:,} fresh tasks for all. Look who lies at the "
        "grey line of one step of gradient descent or left of it. A model that learned nothing from its prompt lies at "
        "predicting zero.",
        figure,
        data=_table(run),
        note=f"{style.few(run)} parameters in the GD-SSM, {style.many(run)} in each of the others."
        + style.told(style.short(each.name) for each in style.diverged(run))
        + style.beyond(run, loss),
    )


def _lines(run: Run, figure: go.Figure, height: int) -> None:
    """The reference lines with their names above the plot, each so high that no other line crosses it."""
    for level, (label, value, kind) in enumerate(style.levels(*style.evaluated(run))):
        y, left = 1 + (14 + 19 * level) / height, level == 0  # the line of predicting zero is the rightmost
        line = {"color": colour(kind), "width": 2, "dash": DASHES[kind]}
        figure.add_shape(type="line", x0=value, x1=value, yref="paper", y0=0, y1=y, line=line, layer="below")
        side = {"xanchor": "right", "xshift": -3} if left else {"xanchor": "left", "xshift": 3}
        where = {"x": value, "y": y, "yref": "paper", "yanchor": "middle", "font": {"size": TICKS}}
        figure.add_annotation(text=label, showarrow=False, **where, **side)


def _dots(name: str, index: int, losses: np.ndarray, edge: float) -> go.Scatter:
    """One model's seeds in its row; one too far off stands at the edge, as an arrow."""
    spread = np.linspace(-0.12, 0.12, len(losses)) if len(losses) > 1 else np.zeros(1)
    seen = np.isfinite(losses)
    arrows = [("triangle-right" if value > edge else style.STYLES[name][2]) for value in losses[seen]]
    at = {"x": np.minimum(losses[seen], edge), "y": index + spread[seen]}
    dots = go.Scatter(**at, mode="markers", marker=style.marker(name, 11, symbol=arrows), name=name, cliponaxis=False)
    hover = [f"{name}: {value:.4g}" for value in losses[seen]]
    return dots.update(text=hover, hovertemplate="%{text}<extra></extra>")


def _table(run: Run) -> pd.DataFrame:
    found, mean = learners(run.config), run["judged/loss"].mean(0)
    return pd.DataFrame(
        {
            "model": [each.name for each in found],
            "parameters": run["size/parameters"],
            "width": [size or None for size in run["size/width"]],
            "state": [size or None for size in run["size/state"]],
            "rate": style.column(run["chosen/rate"], missing="none"),
            "loss": style.column(mean, 4),
            "over one step": style.column(mean / float(run["baseline/one"][0]), 4),
        }
    )


def _reached(run: Run) -> str:
    found, loss = learners(run.config), run["judged/loss"].mean(0)
    near = [style.short(m.name) for m, each in zip(found, loss, strict=True) if each <= NEAR * run["baseline/one"][0]]
    if not near:
        return "Nobody reaches one step of gradient descent"
    if len(near) == len(found):
        return "All models reach one step of gradient descent"
    return f"As good as one step of gradient descent: {'; '.join(near)}"


def training(run: Run, view: Any) -> Panel:
    """The loss of every model over its training; also of a run that is still going."""
    x = np.asarray(run.tensors.get("curve/step", [0]))
    names = [each.name for each in learners(run.config) if f"curve/{each.name}" in run.tensors]
    losses = {name: np.asarray(run.tensors[f"curve/{name}"]) for name in names}
    single = [
        Curve(f"{name}, seed {i + 1}", x, row, style.STYLES[name][0], "dot")
        for name, rows in losses.items() for i, row in enumerate(rows) if view.single_seeds
    ]  # fmt: skip
    series = [Curve(name, x, rows, *style.STYLES[name][:2], band="minmax") for name, rows in losses.items()]
    zero, one, two = style.known(run, comparison_tasks.WATCHED)
    figure = figures.curves(
        [*single, *series] or [Curve("none yet", x, np.full(len(x), np.nan))],
        "training step",
        "loss at the query",
        y_range=(0.92 * min([two, *(rows[np.isfinite(rows)].min() for rows in losses.values())]), 1.12 * zero),
        lines=style.levels(zero, one, two),
        height=460,
    )
    return Panel(
        _late(x, losses, zero) if run.finished else f"{len(names)} of {len(learners(run.config))} models so far",
        f"{comparison_tasks.WATCHED[1]} held-out tasks, the same for all curves and lines; the band reaches from "
        "the lowest to the highest seed. Look for plateaus: a model that finds the mechanism falls suddenly, one "
        "that does not stays level. Who learns slowly may be learning still.",
        figure,
        data=pd.DataFrame({"step": x} | {name: mean_of(rows).round(4) for name, rows in losses.items()}),
        note=style.told(_when(x, losses, each) for each in style.diverged(run)).strip() if run.finished else "",
    )


def _when(x: np.ndarray, losses: dict[str, np.ndarray], each: Learner) -> str:
    """A model that diverged, with the last step at which it was seen."""
    if each.name not in losses:
        return f"{style.short(each.name)} at every rate"
    seen = np.flatnonzero(np.isfinite(losses[each.name]).any(0))
    return f"{style.short(each.name)} after step {int(x[seen[-1]]):,}"


def _late(x: np.ndarray, losses: dict[str, np.ndarray], zero: float) -> str:
    """Who left the plateau when: the first evaluation at which a tenth of predicting zero is gained."""
    left = {}
    for name, rows in losses.items():
        under = np.flatnonzero(mean_of(rows) < 0.9 * zero)
        if len(under):
            left[name] = int(x[under[0]])
    if not left:
        return "No model leaves predicting zero"
    order = sorted(left, key=left.__getitem__)
    first, last = order[0], order[-1]
    never = len(losses) - len(left)
    stay = f"; {never} never" * (never > 0)
    if first == last:
        return f"{first} alone leaves predicting zero, by step {left[first]:,}"
    return f"{first} leaves predicting zero by step {left[first]:,}, {last} by {left[last]:,}{stay}"
