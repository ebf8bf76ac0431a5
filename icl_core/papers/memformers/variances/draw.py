"""What is drawn of heads with gates: losses on every variance, the gates, where they start, how
they learn."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.claims import agree
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures import Curve
from icl_core.figures.style import FAINT, INK, TICKS
from icl_core.papers.memformers.shared.draw.categories import Bar, dots, named, stacks
from icl_core.papers.memformers.shared.draw.losses import (
    NEUTRAL,
    fitted,
    over_layers,
    printed,
    roomy,
    tabled,
    window,
    written,
)
from icl_core.papers.memformers.shared.experts import RATE
from icl_core.papers.memformers.shared.load_run import curve, end, log_of, step
from icl_core.papers.memformers.variances.claims import (
    FIGURE_8,
    PRINTED,
    at_home,
    by_method,
    printed_of,
)
from icl_core.papers.memformers.variances.settings import (
    AUTHORS_RATE,
    STARTS,
    View,
    met_by,
    trained_on,
)
from icl_core.papers.memformers.variances.words import COUNTS, WORDS

# of a method, by id: name, colour, marker
METHODS = {
    "gated": ("gates for all heads", "trained", "circle"),
    "scalar": ("best head, one number", "layer 2", "square"),
    "last": ("head at home, scaled by σₕ²/σ²", "construction", "x"),
    "even": ("equal gates, not learned", "gradient descent", "diamond"),
    "alone": ("best head as it is", "layer 5", "triangle-down"),
}
# the same on the stage
SHOWN = {
    "gated": ("gates", "trained", "circle"),
    "met": ("prompts met", "trained", "line-ew-open"),
    "scalar": ("one number", "layer 2", "square"),
    "alone": ("not adapted", "layer 5", "triangle-down"),
}
# `STARTS` where there is little room
SHORT = {"even": "equal", "ones": "ones", "zeros": "zero", "last": "last"}
X = "variance σ² of the prompts"
ROOM = 0.5  # of a log-loss above all that is adapted


def comparison(run: Run, view: View) -> Panel:
    """Draw gates for all heads beside one scalar for one head, close enough to tell them apart."""
    order = _order(run)
    logs = {**by_method(run), "met": log_of(run["gate/curve"][:, :, -1])}
    floor = end(run, "baseline/floor")
    points = _points(run)
    top = max(*(float(logs[name].max()) for name in ("gated", "scalar")), *points.values()) + ROOM
    rows = [(*style, logs[name][:, order]) for name, style in SHOWN.items()]
    figure = dots(
        rows, _variances(run), min(top, float(np.log(run.config.d))), [("floor", floor, "floor")]
    )
    figure.update_xaxes(title={"text": X})
    figure.add_traces(
        printed([("gates, or the head at home", list(points.values()), INK, None)], list(points))
    )
    return WORDS.panel("comparison", run, view, fitted(figure), has_rings=bool(points))


def _points(run: Run) -> dict[float, float]:
    """Return what the authors' code prints, by the place of its variance; nothing in settings other
    than Figure 8's."""
    if not agree(run.config, FIGURE_8):
        return {}
    variances = np.sort(run["test_time/variance"]).tolist()
    return {
        float(place): printed_of(variance)
        for place, variance in enumerate(variances)
        if variance in PRINTED
    }


def _order(run: Run) -> np.ndarray:
    """Return the indices of the variances in ascending order."""
    return np.argsort(run["test_time/variance"])


def _variances(run: Run) -> list[str]:
    """Return the variances in ascending order, each with whether a head has seen it."""
    names = categories_of(run)
    return [names[index] for index in _order(run)]


def shares(run: Run, view: View) -> Panel:
    """Draw the learned gates of each variance, counted in whole steps."""
    order = _order(run)
    values = run["gate/value"][row(run, view)][order]  # [V, H]
    variance = run["test_time/variance"][order, None]
    share = values * variance / np.array(trained_on(run.config))
    total = share.sum(1)
    figure = stacked(run, [(share, values, "learned")], _variances(run), X)
    return WORDS.panel(
        "shares", run, view, named(figure, "head of"),
        least=float(total.min()), most=float(total.max()),
    )  # fmt: skip


def starts(run: Run, view: View) -> Panel:
    """Draw the gates learned from each start, on the last unseen variance."""
    seed = row(run, view)
    variance = met_by(run.config)[-1]
    names = run.names("starts")
    gates = run["start/gates"][seed]  # [starts, H]
    loss = log_of(run["start/loss"])[seed]  # [starts]
    share = gates * variance / np.array(trained_on(run.config))
    labels = [
        f"{SHORT.get(name, name)}<br>{written(value)}"
        for name, value in zip(names, loss, strict=True)
    ]
    starts = {"start": [STARTS.get(name, name) for name in names]}
    figure = stacked(run, [(share, gates, "learned")], labels, "gates start from; log-loss reached")
    apart = float(np.ptp(loss))
    return WORDS.panel(
        "starts", run, view,
        named(figure.update_layout(showlegend=False)),  # as in the panel beside
        data=pd.DataFrame(starts | _columns(run, gates) | {"log-loss": loss.round(4)}),
        variance=variance, apart=apart, same_loss=apart < COUNTS,
    )  # fmt: skip


def losses(run: Run, view: View) -> Panel:
    """Draw the log-loss on every variance, for every method of putting the heads together."""
    d = run.config.d
    logs = by_method(run)
    floor, cg = (end(run, f"baseline/{name}") for name in ("floor", "cg"))
    styles = [METHODS.get(method, (method, NEUTRAL, "circle")) for method in logs]
    rows = [(*style, values) for style, values in zip(styles, logs.values(), strict=True)]
    figure = dots(
        rows,
        categories_of(run),
        np.log(d) + 1,
        [("floor", floor, "floor"), ("CGD", cg, "conjugate gradient")],
    )
    unseen = len(met_by(run.config))
    ends = {method: float(values[:, :unseen].mean()) for method, values in logs.items()}
    means = {name: values.mean(0) for name, *_, values in rows}
    figure.update_xaxes(title={"text": X})
    data = pd.DataFrame({"σ²": run["test_time/variance"]} | means | {"floor": floor, "CGD": cg})
    return WORDS.panel(
        "losses", run, view, figure, data=data.round(4), gated=ends["gated"],
        one_number=ends["scalar"], unadapted=min(ends["even"], ends["alone"]),
    )  # fmt: skip


def categories_of(run: Run) -> list[str]:
    """Return the names of the variances, each with whether a head has seen it."""
    unseen = len(met_by(run.config))
    return [
        f"{variance:g}<br>{'seen' if index >= unseen else 'unseen'}"
        for index, variance in enumerate(run["test_time/variance"])
    ]


def depth(run: Run, view: View) -> Panel:
    """Draw the log-loss of gated heads against layers, for the unseen variances (Figure 8)."""
    layers = np.arange(1, run.config.layers + 1)
    fresh = log_of(run["depth/gated"])  # [seeds, unseen, K]
    met = log_of(run["depth/met"])
    zero = float(np.log(run.config.d))
    series = []
    for index, variance in enumerate(met_by(run.config)):
        kind = f"layer {index + 1}"
        series.append(Curve(f"σ² = {variance:g}", layers, fresh[:, index], kind, markers=True))
        series.append(Curve("prompts met", layers, met[:, index].mean(0), kind, "dot"))
    figure = over_layers(series, "log-loss", window([fresh, met, [zero]]), zero)
    for trace in figure.data:
        if trace.get("name") == "prompts met":
            trace.update(showlegend=False)
    figure.add_trace(figures.legend_line("prompts met", FAINT, "dot"))
    ends = ", ".join(written(float(each)) for each in fresh[..., -1].mean(0))
    data = tabled("layers", layers, [line for line in series if line.name != "prompts met"])
    return WORDS.panel("depth", run, view, roomy(figure), data=data, ends=ends)


def learned(run: Run, view: View) -> Panel:
    """Draw the gates of each variance, counted in whole steps, beside one step of the head that
    knows U."""
    trained = np.array(trained_on(run.config))
    variances = run["test_time/variance"][:, None]
    gates = run["gate/value"][row(run, view)]  # [V, H]
    share = gates * variances / trained
    # one step of one head, the last or the one that knows the covariance
    one = np.eye(len(trained))[at_home(run)]  # [V, H]
    bars = [(share, gates, "learned"), (one, one * trained / variances, "one head")]
    figure = stacked(run, bars, categories_of(run), X)
    total = share.sum(1)
    right = (share * one).sum(1)
    data = pd.DataFrame(
        {"σ²": variances[:, 0]} | _columns(run, gates) | {"whole steps": total.round(4)}
    )
    return WORDS.panel(
        "gates", run, view, figure, data=data,
        right=float(right.mean()), least=float(total.min()), most=float(total.max()),
    )  # fmt: skip


def row(run: Run, view: View) -> int:
    """Return the row of the seed that the view shows."""
    return min(view.seed_shown, run.config.seeds) - 1


def stacked(run: Run, bars: list[Bar], categories: list[str], x_title: str) -> Figure:
    """Return the heads' shares of a whole step, a bar a category; the line's name stands above all
    bars."""
    figure = stacks(bars, [f"head of {each:g}" for each in trained_on(run.config)], categories)
    above = max(1.0, *(float(np.maximum(share, 0).sum(1).max()) for share, *_ in bars))
    below = min(0.0, *(float(np.minimum(share, 0).sum(1).min()) for share, *_ in bars))
    line = {"color": INK, "width": 2, "dash": "dot"}
    figure.add_shape(type="line", xref="paper", x0=0, x1=1, y0=1, y1=1, line=line)
    name = {"text": "dotted: a whole step", "showarrow": False, "font": {"size": TICKS}}
    figure.add_annotation(**name, x=0.01, xref="paper", xanchor="left", y=1.09 * above)
    return figure.update_xaxes(title={"text": x_title}).update_yaxes(
        range=[1.05 * below, 1.18 * above]
    )


def _columns(run: Run, gates: np.ndarray) -> dict[str, np.ndarray]:
    return {
        f"gate of the head of {each:g}": gates[:, h].round(4)
        for h, each in enumerate(trained_on(run.config))
    }


def triangle(run: Run, view: View) -> Panel:
    """Draw what gated heads together make of every past gradient, for the unseen variances."""
    variances = met_by(run.config)
    tables = run["gate/triangle"][row(run, view)][: len(variances)]  # [unseen, L, L]
    L = run.config.layers
    triangles = np.where(np.tri(L, dtype=bool), tables, np.nan)
    after = [str(layer + 1) for layer in range(L)]
    past = [str(layer) for layer in range(L)]
    older = np.abs(np.tril(tables, -1)).sum((1, 2)) / np.abs(np.tril(tables)).sum((1, 2))
    share = " to ".join(dict.fromkeys(f"{end:.0%}" for end in (older.min(), older.max())))
    figure = figures.maps(
        [f"σ² = {variance:g}" for variance in variances],
        list(triangles),
        after,
        past,
        "multiple of Σ⁻¹",
        row_title="after layer",
        column_title="past gradient",
        written=True,
        columns=3,
    )
    data = _triangle_table(variances, tables)
    return WORDS.panel("triangle", run, view, figure, data=data, older=share)


def _triangle_table(variances: list[float], tables: np.ndarray) -> pd.DataFrame:
    """Return the numbers of the maps [unseen, L, L], a row each."""
    rows = []
    for variance, matrix in zip(variances, tables, strict=True):
        for layer in range(len(matrix)):
            for past in range(layer + 1):
                rows.append((variance, layer + 1, past, matrix[layer, past]))
    return pd.DataFrame(rows, columns=["σ²", "after layer", "gradient", "multiple"]).round(5)


def test_time(run: Run, view: View) -> Panel:
    """Draw the loss on the prompts met, while the gates are learned."""
    logs = log_of(run["gate/curve"])  # [seeds, V, steps]
    x = np.arange(logs.shape[-1])
    series = [
        Curve(f"σ² = {v:g}", x, logs[:, i], f"layer {i + 1}")
        for i, v in enumerate(met_by(run.config))
    ]
    ends = [each.mean() for each in series]
    took = max(_arrived(each) for each in ends)
    figure = figures.curves(series, "step at test time", "log-loss", y_range=window(ends))
    return WORDS.panel(
        "test time", run, view, roomy(figure), data=tabled("step", x, series),
        steps_taken=took, at_end=took <= 0.9 * run.config.gate_steps,
        rate=AUTHORS_RATE if run.config.learner == "authors" else RATE,
    )  # fmt: skip


def _arrived(curve: np.ndarray) -> int:
    """Return the step from which a curve stays within 0.05 of its end."""
    outside = np.flatnonzero(~(np.abs(curve - curve[-1]) <= 0.05))
    return int(outside[-1]) + 1 if len(outside) else 0


def training(run: Run, view: View) -> Panel:
    """Draw the first head's loss while it is trained; also of a run that is still going."""
    x = step(run)
    logs = log_of(curve(run, "curve/loss"))
    zero = float(np.log(run.config.d))
    series = [Curve("first head", x, logs)]
    floor = end(run, "baseline/floor") if "baseline/floor" in run.tensors else np.nan
    lines = [("predicting zero", zero, "floor")] + [("floor", floor, "floor")] * bool(
        np.isfinite(floor)
    )
    y_range = window([np.minimum(logs, zero + 1.5), [value for _, value, _ in lines]])
    figure = figures.curves(series, "training step", "log-loss", y_range=y_range, lines=lines)
    above = log_of(run["own/loss"]).mean(0) - floor if run.finished else []
    return WORDS.panel(
        "training", run, view, figure, data=tabled("step", x, series), finished=run.finished,
        above_floor=", ".join(written(float(log)) for log in above),
    )  # fmt: skip
