"""The comparison with other models of sequences (Figures 4 C and 6); also of a run that is still going."""

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from icl_core import figures
from icl_core.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.figures.curves import references
from icl_core.figures.style import INK, axis, colour, layout
from icl_core.papers.gdssm import closed_forms
from icl_core.papers.gdssm.comparison_learning import JUDGED
from icl_core.papers.gdssm.inspection import mean_of
from icl_core.papers.gdssm.learners import Learner, learners

NEAR = 1.05  # times gradient descent's loss: as good
LOOKS = {  # colour, dash, marker
    "GD-SSM, 1 layer": ("trained", "solid", "circle"),
    "GD-SSM, 2 layers": ("trained", "dash", "circle-open"),
    "S5": ("layer 1", "solid", "square"),
    "Mamba": ("layer 2", "solid", "diamond"),
    "Griffin": ("layer 3", "solid", "triangle-up"),
    "Linear transformer, 1 layer": ("layer 4", "solid", "x"),
    "Linear transformer, 2 layers": ("layer 4", "dash", "x-open"),
    "Softmax transformer, 1 layer": ("layer 5", "solid", "star"),
    "Softmax transformer, 2 layers": ("layer 5", "dash", "star-open"),
}
SEED = 0.35  # how strong a single seed is drawn


def ends(run: Run, view: Any) -> Panel:
    """The loss of every model at the end, every seed a dot."""
    found, loss = learners(run.config), run["judged/loss"]  # [seeds, models]
    one, zero = float(run["baseline/one"][0]), float(run["baseline/zero"][0])
    figure = go.Figure(layout=layout(400, {"t": 20, "b": 90}, showlegend=False))
    for place, each in enumerate(found):
        kind, _, marker = LOOKS[each.name]
        look = {"size": 11, "color": colour(kind), "symbol": marker, "line": {"width": 2, "color": colour(kind)}}
        spread = np.linspace(-0.12, 0.12, len(loss)) if len(loss) > 1 else np.zeros(1)
        dots = go.Scatter(x=place + spread, y=loss[:, place], mode="markers", marker=look, name=each.name)
        figure.add_trace(dots.update(hovertemplate=each.name + ": %{y:.4g}<extra></extra>"))
    low, high = min(float(run["baseline/two"][0]), float(loss.min())), max(zero, float(loss.max()))
    ticks = [_short(each).replace(", ", ",<br>").replace(" transformer", "<br>transf.") for each in found]
    figure.update_xaxes(axis(tickvals=list(range(len(found))), ticktext=ticks, tickangle=0, showgrid=False))
    figure.update_xaxes(range=[-0.5, len(found) - 0.5])
    room = 0.08 * (high - low)
    figure.update_yaxes(axis("loss at the query", range=[low - room, high + room]))
    figure.update_layout(references(_references(run)))
    mean = loss.mean(0)
    table = pd.DataFrame(
        {
            "model": [each.name for each in found],
            "parameters": run["size/parameters"],
            "width": [size or None for size in run["size/width"]],
            "state": [size or None for size in run["size/state"]],
            "rate": run["chosen/rate"],
            "loss": mean.round(4),
            "over one step": (mean / one).round(4),
        }
    )
    return Panel(
        _reached(found, mean, one),
        f"Every seed is a dot; the same {JUDGED[1]:,} fresh tasks for all. Look who lies at the dashed line of one "
        "step of gradient descent or below it. A model that learned nothing from its prompt lies at predicting zero.",
        figure,
        data=table,
        note=f"{_few(run)} parameters in the GD-SSM, {_many(run)} in each of the others.",
    )


def training(run: Run, view: Any) -> Panel:
    """The loss of every model over its training; also of a run that is still going."""
    x = np.asarray(run.tensors.get("curve/step", [0]))
    names = [each.name for each in learners(run.config) if f"curve/{each.name}" in run.tensors]
    losses = {name: np.asarray(run.tensors[f"curve/{name}"]) for name in names}
    single = [
        Curve(f"{name}, seed {i + 1}", x, row, LOOKS[name][0], "dot")
        for name, rows in losses.items() for i, row in enumerate(rows) if view.single_seeds
    ]  # fmt: skip
    series = [Curve(name, x, rows, *LOOKS[name][:2], band="minmax") for name, rows in losses.items()]
    zero = _expected(run)[0]
    low = min([_expected(run)[2], *(float(np.nanmin(rows)) for rows in losses.values())])
    figure = figures.curves(
        [*single, *series] or [Curve("none yet", x, np.full(len(x), np.nan))],
        "training step",
        "loss at the query",
        y_range=(0.92 * low, 1.12 * zero),
        lines=_references(run),
        height=460,
    )
    late = _late(x, losses, zero)
    return Panel(
        late if run.finished else f"{len(names)} of {len(learners(run.config))} models so far",
        "Held-out tasks, the same for all; the band reaches from the lowest to the highest seed. Look for plateaus: a "
        "model that finds the mechanism falls suddenly, one that does not stays level. Who learns slowly may be "
        "learning still.",
        figure,
        data=pd.DataFrame({"step": x} | {name: mean_of(rows).round(4) for name, rows in losses.items()}),
    )


def parameters(run: Run, view: Any) -> Panel:
    """Loss against the number of parameters."""
    found, loss, many = learners(run.config), run["judged/loss"].mean(0), run["size/parameters"]
    figure = go.Figure(layout=layout(380, {"t": 20}, showlegend=False))
    for each, x, y in zip(found, many, loss, strict=True):
        kind, _, marker = LOOKS[each.name]
        look = {"size": 12, "color": colour(kind), "symbol": marker, "line": {"width": 2, "color": colour(kind)}}
        hover = each.name + ": %{x} parameters, loss %{y:.4g}<extra></extra>"
        figure.add_trace(go.Scatter(x=[x], y=[y], mode="markers", marker=look, name=each.name, hovertemplate=hover))
        if not each.rival:
            above = {
                "showarrow": False,
                "xanchor": "left",
                "yanchor": "bottom",
                "yshift": 6,
            }  # clear of the line of one step
            figure.add_annotation(x=np.log10(x), y=y, text=each.name, **above)
    figure.add_annotation(x=np.log10(many[-1]), y=1, yref="paper", text="the others", showarrow=False, yanchor="bottom")
    room = 0.08 * (run["baseline/zero"][0] - min(loss.min(), run["baseline/two"][0]))
    figure.update_xaxes(axis("parameters (log scale)", type="log", range=[0.9, np.log10(many.max()) + 0.25]))
    figure.update_xaxes(tickvals=[10, 100, 1000, 10000], ticktext=["10", "100", "1,000", "10,000"])
    low, high = min(loss.min(), run["baseline/two"][0]), max(loss.max(), run["baseline/zero"][0])
    figure.update_yaxes(axis("loss at the query", range=[low - room, high + room]))
    figure.update_layout(references(_references(run)))
    return Panel(
        f"{_few(run)} parameters of the right kind against {_many(run)}",
        "The GD-SSM multiplies tokens with each other and keeps the sum: with that built in there is hardly anything "
        "left to learn. The others could not be made so small: letting a token in and out takes more. Were it a matter "
        "of size, blue would lie highest.",
        figure,
        data=pd.DataFrame({"model": [m.name for m in found], "parameters": many, "loss": loss.round(4)}),
    )


def rates(run: Run, view: Any) -> Panel:
    """The loss at every rate that was tried, the chosen one with a ring."""
    found, x, tried = learners(run.config), run["tuned/rate"], run["tuned/loss"]
    series = [Curve(m.name, x, row, *LOOKS[m.name][:2], markers=True) for m, row in zip(found, tried, strict=True)]
    zero = _expected(run)[0]
    seen = np.minimum(tried, 1.3 * zero)
    figure = figures.curves(
        series, "learning rate", "loss after the trial", log_x=True, x_range=(0.8 * x[0], 1.25 * x[-1]),
        y_range=(0.92 * float(seen.min()), 1.05 * max(zero, float(seen.max()))),
        lines=[("predicting zero", zero, "floor")],
    )  # fmt: skip
    best = tried[np.arange(len(found)), np.searchsorted(x, run["chosen/rate"])]
    ring = {"size": 18, "color": "rgba(0,0,0,0)", "line": {"color": INK, "width": 2}}
    figure.add_trace(go.Scatter(x=run["chosen/rate"], y=best, mode="markers", marker=ring, hoverinfo="skip"))
    figure.update_traces(showlegend=False)
    figure.update_xaxes(tickvals=x, ticktext=[f"{each:g}" for each in x])
    edge = int(sum(rate in (x[0], x[-1]) for rate in run["chosen/rate"]))
    return Panel(
        f"{len(x)} rates tried with every model, for {run.config.tuning:,} steps each",
        "One seed, the same tasks and steps at every rate. The ring is the rate that trains all seeds. A model whose "
        "ring lies at either end might do better at a rate that was not tried"
        + (f": here {edge} of {len(found)}." if edge else "; here none."),
        figure,
        data=pd.DataFrame({"model": [each.name for each in found]} | {f"{r:g}": tried[:, i] for i, r in enumerate(x)}),
        note="Colours as above.",
    )


def _reached(found: tuple[Learner, ...], loss: np.ndarray, one: float) -> str:
    beyond = [_short(each) for each, value in zip(found, loss, strict=True) if value <= NEAR * one]
    if not beyond:
        return "Nobody reaches one step of gradient descent"
    if len(beyond) == len(found):
        return "All models reach one step of gradient descent"
    return f"As good as one step of gradient descent: {'; '.join(beyond)}"


def _late(x: np.ndarray, losses: dict[str, np.ndarray], zero: float) -> str:
    """Who left the plateau when: the first evaluation at which a tenth of predicting zero is gained."""
    left = {}
    for name, rows in losses.items():
        under = np.flatnonzero(mean_of(rows) < 0.9 * zero)
        if len(under):
            left[name] = int(x[under[0]])
    if not left:
        return "No model leaves predicting zero"
    first, last = min(left, key=lambda n: left[n]), max(left, key=lambda n: left[n])
    never = len(losses) - len(left)
    stay = f"; {never} never" * (never > 0)
    if first == last:
        return f"{first} alone leaves predicting zero, by step {left[first]:,}"
    return f"{first} leaves predicting zero by step {left[first]:,}, {last} by {left[last]:,}{stay}"


def _short(each: Learner) -> str:
    return each.name.replace("Linear transformer", "linear transformer").replace("Softmax", "softmax")


def _expected(run: Run) -> tuple[float, float, float]:
    """Predicting zero, the best step and the best two, in closed form: known before the training ends."""
    f, N = run.config.f, run.config.N
    return (
        closed_forms.zero_loss(f, 1.0),
        closed_forms.best_loss(f, N, 1.0),
        closed_forms.two_steps_free(f, N, 1.0).loss,
    )


def _references(run: Run) -> list[tuple[str, float, str]]:
    zero, one, two = _expected(run)
    if "baseline/one" in run.tensors:
        zero, one, two = (float(run[f"baseline/{name}"][0]) for name in ("zero", "one", "two"))
    return [("predicting zero", zero, "floor"), ("one step", one, "gradient descent"), ("two steps", two, "floor")]


def _few(run: Run) -> str:
    own = [int(n) for n, each in zip(run["size/parameters"], learners(run.config), strict=True) if not each.rival]
    return " and ".join(f"{n:,}" for n in own)


def _many(run: Run) -> str:
    many = [int(n) for n, each in zip(run["size/parameters"], learners(run.config), strict=True) if each.rival]
    return f"{min(many):,} to {max(many):,}"
