"""The models of sines side by side: their losses, trained layers beside constructed ones, also over
many seeds (Figure 4 B), and how training came to them."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract import statistics
from icl_core.contract.experiment import CannotDraw, Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Curve, mean_of
from icl_core.figures.style import INK, PAPER, axis, colour, layout, legend
from icl_core.papers.gdssm.nonlinear.claims import losses_of
from icl_core.papers.gdssm.nonlinear.settings import BENT, FIGURE_4B, STRAIGHT, variant
from icl_core.papers.gdssm.nonlinear.train import ZERO
from icl_core.papers.gdssm.nonlinear.words import WORDS
from icl_core.training.several_seeds import padded

IDEAL = "ideal"
KINDS = ("construction", "trained")
UNDER = 12  # letters that fit under a bar
ROWS = ("constructed", "trained", "constructed, gated", "trained, gated")  # of Figure 4 B
SPREAD = 0.3  # of a row's height to either side, over which its dots are spread by rank


def bars(run: Run, view: Any) -> Panel:
    """Draw a bar for every model, with its loss when the labels in its prompt are zeros."""
    zero, ideal = (float(run[f"baseline/{name}"][0]) for name in ("zero", "ideal"))
    # trained layers have a drawer of their own
    ids = [id for id in run.names("variants") if variant(id).layers != "trained"]
    means, hidden = _means(run, ids)
    steps = "one step" if run.config.layers == 1 else f"{run.config.layers} steps"
    levels = [("predicting zero", zero, "floor"), (steps, ideal, "gradient descent")]
    models = [variant(id) for id in ids]
    figure = figures.bars(
        [model.label for model in models],
        means,
        "loss at the end",
        kinds=[model.colour for model in models],
        lines=levels,
        y_range=(0, 1.15 * max(zero, *means, *hidden)),
        text="none",
        height=figures.SEAT,
    )
    texts = ["<br>".join(wrap(model.label, UNDER)) for model in models]
    figure.update_xaxes(tickvals=list(range(len(texts))), ticktext=texts, tickangle=0)
    for text in figure.layout["annotations"]:
        text.update(x=0.99, xanchor="right")  # where no bar is as high
    figure.data[0].update(showlegend=False)
    figure.add_trace(_diamonds(figure.data[0]["x"], hidden)).update_layout(showlegend=True)
    table = {"model": [model.label for model in models], "loss": means, "labels hidden": hidden}
    return WORDS.panel(
        "losses",
        run,
        view,
        figures.seated(figure, figures.HALF),
        data=pd.DataFrame(table).round(5),
    )


def bars_of_all(run: Run, view: Any) -> Panel:
    """Draw a bar for every model, with its seeds, and with the loss that it has when the labels in
    its prompt are zeros."""
    ids = run.names("variants")
    means, hidden = _means(run, ids)
    table = {
        "model": [variant(id).label for id in ids],
        "loss": means,
        "labels hidden": hidden,
        "worst seed": [float(run[f"evaluated/{id}"].max()) for id in ids],
    }
    return WORDS.panel(
        "bars", run, view, _bars(run, means, hidden), data=pd.DataFrame(table).round(5)
    )


def _means(run: Run, ids: Sequence[str]) -> tuple[list[float], list[float]]:
    """Return the loss of every model, as the mean over seeds, and that with labels hidden."""
    seeing, hidden = (
        [float(run[f"evaluated/{id}{which}"].mean()) for id in ids] for which in ("", "/blind")
    )
    return seeing, hidden


def trained_and_constructed(run: Run, view: Any) -> Panel:
    """Draw Figure 4 B: trained layers beside constructed ones, behind the same linear embedding,
    with the gated unit and without."""
    missing = set(FIGURE_4B) - set(run.names("variants"))
    if missing:
        raise CannotDraw(f"This run holds no model “{variant(min(missing)).label}”.")
    means = [float(run[f"evaluated/{id}"].mean()) for id in FIGURE_4B]
    zero = float(run["baseline/zero"][0])
    figure = figures.bars(
        list(ROWS),
        means,
        "loss at the query",
        kinds=[*KINDS, *KINDS],
        text="none",
        y_range=(0, 1.18 * max(zero, *means)),
        height=420,
    )
    bar = figure.data[0].update(showlegend=False)
    figure.add_trace(_seeds(run, bar["x"], FIGURE_4B))
    _write(figure, bar["x"], means, zero)
    _level(figure, run, IDEAL)
    plain, plain_trained, gated, gated_trained = means
    return WORDS.panel(
        "beside",
        run,
        view,
        figure,
        data=pd.DataFrame({"model": ROWS, "loss": means}).round(5),
        plain=plain,
        plain_trained=plain_trained,
        gated=gated,
        gated_trained=gated_trained,
    )


def _bars(run: Run, means: list[float], hidden: list[float]) -> Figure:
    """Draw a bar for every model, its seeds as dots, and its loss without labels as a diamond."""
    models = [variant(id) for id in run.names("variants")]
    zero = float(run["baseline/zero"][0])
    figure = figures.bars(
        [model.label for model in models],
        means,
        "loss at the query",
        kinds=[model.colour for model in models],
        text="none",
        y_range=(0, 1.18 * max(zero, *means, *hidden)),
        height=420,
    )
    bar = figure.data[0].update(showlegend=False)
    figure.add_trace(_seeds(run, bar["x"], [model.id for model in models]))
    figure.add_trace(_diamonds(bar["x"], hidden))
    _write(figure, bar["x"], means, zero)
    _level(figure, run)
    return figure


def _seeds(run: Run, labels: Sequence[str], ids: Sequence[str]) -> Trace:
    """Draw the losses of single seeds, over the bars of the models `ids`."""
    rows = np.stack([run[f"evaluated/{id}"] for id in ids]).astype(float)  # [models, seeds]
    x = np.repeat(labels, rows.shape[1])
    dots = {"size": 7, "color": PAPER, "line": {"color": INK, "width": 1.5}}
    return Trace(
        x=x.tolist(), y=rows.ravel().tolist(), mode="markers", marker=dots, name="single seeds"
    )


def _diamonds(labels: Sequence[str], hidden: Sequence[float]) -> Trace:
    """Draw what models lose when the labels in their prompts are zeros."""
    marker = {
        "size": 13,
        "symbol": "diamond-open",
        "color": INK,
        "line": {"color": INK, "width": 2},
    }
    return Trace(
        x=list(labels), y=list(hidden), mode="markers", marker=marker, name="labels hidden"
    )


def _write(figure: Figure, labels: Sequence[str], values: Sequence[float], zero: float) -> None:
    """Write every bar's number, in the bar or, where there is no room, above it."""
    for label, value in zip(labels, values, strict=True):
        inside = value > 0.3 * zero
        where = (
            {"y": value / 2, "yanchor": "middle"}
            if inside
            else {"y": value, "yanchor": "bottom", "yshift": 8}
        )
        figure.add_annotation(x=label, text=f"{value:.4f}", showarrow=False, bgcolor=PAPER, **where)


def _level(figure: Figure, run: Run, but: str = "") -> None:
    """Draw the reference lines, all `but` one, named in the legend: on the lines their names would
    hide diamonds."""
    steps = "one step" if run.config.layers == 1 else f"{run.config.layers} steps"
    for name, level, kind, dash in (
        ("predicting zero", "zero", "floor", "dot"),
        ("best straight lines", "line", "floor", "longdash"),
        ("mean sine", "mean", "floor", "dashdot"),
        (f"{steps} on sin x, cos x", IDEAL, "gradient descent", "dash"),
    ):
        if level == but:
            continue
        y = float(run[f"baseline/{level}"][0])
        line = {"color": colour(kind), "width": 2, "dash": dash}
        across = {"type": "line", "xref": "x domain", "yref": "y", "x0": 0, "x1": 1}
        across |= {"y0": y, "y1": y}
        figure.add_shape(**across, line=line, name=name, showlegend=True)
    figure.update_layout(showlegend=True, legend=legend(1.02))


def many_seeds(run: Run, view: Any) -> Panel:
    """Draw Figure 4 B with a row a model and a dot a seed, the median and its exact interval."""
    rows = [losses_of(run, id) for id in FIGURE_4B]
    middles = [float(np.median(losses)) for losses in rows]
    ends = [statistics.median_interval(losses) or (float("nan"),) * 2 for losses in rows]
    table = {
        "model": ROWS,
        "median": middles,
        "from": [low for low, _ in ends],
        "to": [high for _, high in ends],
        "best": [float(losses.min()) for losses in rows],
        "worst": [float(losses.max()) for losses in rows],
        "mean": [float(losses.mean()) for losses in rows],
    }
    return WORDS.panel(
        "seeds",
        run,
        view,
        _strips(rows, middles, ends),
        data=pd.DataFrame(table).round(5),
        plain_best=float(rows[1].min()),
        gated_best=float(rows[3].min()),
        plain_median=middles[0],
        gated_median=middles[2],
    )


def _strips(
    rows: Sequence[np.ndarray], middles: Sequence[float], ends: Sequence[tuple[float, ...]]
) -> Figure:
    """Draw the dots of each row, spread by rank, the medians and their intervals."""
    traces = [
        Trace(
            x=np.sort(losses).tolist(),
            y=(place + np.linspace(-SPREAD, SPREAD, len(losses))).tolist(),
            mode="markers",
            marker={"size": 8, "color": colour(KINDS[place % 2]), "line": {"color": PAPER}},
            name=ROWS[place],
            hovertemplate="%{x:.5f}",
        )
        for place, losses in enumerate(rows)
    ]
    figure = Figure(traces, layout(380, showlegend=False))
    for place, middle in enumerate(middles):
        line = {"color": INK, "width": 2}
        half = SPREAD + 0.08
        figure.add_shape(
            type="line", x0=middle, x1=middle, y0=place - half, y1=place + half, line=line
        )
        low, high = ends[place]
        figure.add_shape(
            type="rect", x0=low, x1=high, y0=place - half, y1=place + half,
            fillcolor=INK, opacity=0.2, line={"width": 0}, layer="below",
        )  # fmt: skip
        if place % 2 == 0:
            dash = {"color": colour("construction"), "width": 2, "dash": "dash"}
            figure.add_shape(
                type="line", x0=middle, x1=middle, y0=place, y1=place + 1 + half, line=dash
            )
    everything = np.concatenate(rows)
    room = 0.05 * float(np.ptp(everything)) or 0.001
    reach = [float(everything.min()) - room, float(everything.max()) + room]
    figure.update_xaxes(axis("loss at the query", range=reach, showgrid=False))
    figure.update_yaxes(
        axis(range=[len(rows) - 0.4, -0.6], tickvals=list(range(len(rows))), ticktext=list(ROWS))
    )
    return figure


def training(run: Run, view: Any) -> Panel:
    """Draw the loss of every model over its training; also of a run that is still going."""
    x = np.asarray(run.tensors.get("curve/step", [0]))
    ids = run.names("variants") if "names/variants" in run.tensors else []
    rows = {}
    for id in ids:
        losses = np.reshape(run.tensors.get(f"curve/{id}", []), (run.config.seeds, -1))
        rows[variant(id)] = padded(losses, len(x))
    series = [
        Curve(model.label, x, row, model.colour, model.dash)
        for model, row in rows.items()
        # at the end, trained layers have a drawer of their own
        if not (run.finished and model.layers == "trained")
    ]
    lines = [
        ("gradient descent", float(level), "gradient descent")
        for level in run.tensors.get("baseline/ideal", ())
    ]
    lines.append(("predicting zero", ZERO, "floor"))
    series = series or [Curve("none yet", x, x + np.nan)]
    at = run.step(view) if run.snapshot_steps else None
    figure = figures.curves(
        series, "training step", "loss", log_y=True, lines=lines, at=at, height=figures.SEAT
    )
    for trace in figure.data if run.finished else ():  # the panel beside names these two
        if trace.get("name") in [variant(id).label for id in (BENT, STRAIGHT)]:
            trace.update(showlegend=False)
    means = {model.label: mean_of(row) for model, row in rows.items()}
    ends = {name: mean[np.isfinite(mean)] for name, mean in means.items()}
    begun = [name for name, mean in ends.items() if len(mean)]
    return WORDS.panel(
        "training",
        run,
        view,
        figures.seated(figure, figures.HALF),
        data=pd.DataFrame({"step": x} | means).round(6),
        model=begun[-1] if begun else "",
        model_loss=float(ends[begun[-1]][-1]) if begun else float("nan"),
    )
