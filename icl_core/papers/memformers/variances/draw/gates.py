"""What can be drawn of heads with gates: losses on every variance, the gates, where they start, how
they learn."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures import Curve
from icl_core.figures.style import FAINT, INK, TICKS
from icl_core.papers.memformers.shared.draw.categories import Bar, dots, stacks
from icl_core.papers.memformers.shared.draw.losses import (
    NEUTRAL,
    over_layers,
    roomy,
    tabled,
    window,
    written,
)
from icl_core.papers.memformers.shared.experts import RATE
from icl_core.papers.memformers.shared.load_run import curve, end, log_of, step
from icl_core.papers.memformers.variances.metrics import at_home
from icl_core.papers.memformers.variances.settings import (
    AUTHORS_RATE,
    STARTS,
    View,
    met_by,
    trained_on,
)

# By id: name, colour, marker.
METHODS = {
    "gated": ("gates for all heads", "trained", "circle"),
    "scalar": ("best head, one number", "layer 2", "square"),
    "last": ("head at home, scaled by σₕ²/σ²", "construction", "x"),
    "even": ("equal gates, not learned", "gradient descent", "diamond"),
    "alone": ("best head as it is", "layer 5", "triangle-down"),
}
# `STARTS` where there is little room.
SHORT = {"even": "equal", "ones": "ones", "zeros": "zero", "last": "last"}
SHARED = (
    "The left bar is learned; the right one puts all on the last head. Heads that have learned "
    "the same steps may share the work in any way, as long as the blocks add up to 1."
)
PICKED = (
    "The left bar is learned; the right one puts all on the head that knows the prompts' U: the "
    "last for unseen variances, as in the authors' code, its own for each seen one. Gates that "
    "have found it have a single block."
)


def losses(run: Run, view: View) -> Panel:
    """Draw the log-loss on every variance, for every method of putting the heads together."""
    d = run.config.d
    L = run.config.layers
    logs = by_method(run)
    floor, cg = (end(run, f"baseline/{name}") for name in ("floor", "cg"))
    rows = [(*_style(run, method), values) for method, values in logs.items()]
    figure = dots(
        rows,
        categories_of(run),
        np.log(d) + 1,
        [("floor", floor, "floor"), ("CGD", cg, "conjugate gradient")],
    )
    unseen = len(met_by(run.config))
    ends = {method: float(values[:, :unseen].mean()) for method, values in logs.items()}
    means = {name: values.mean(0) for name, *_, values in rows}
    return Panel(
        f"Log-loss on unseen variances: gates {written(ends['gated'])}, one number "
        f"{written(ends['scalar'])}, unadapted {written(min(ends['even'], ends['alone']))} at best",
        f"Log-loss after {L} layers; predicting zero gives log d = {np.log(d):.2f}. If three gates "
        "were needed, blue would lie below green. Heads that are not adapted take steps of a "
        "wrong size. Where these are too long the error explodes, and a triangle at the top edge "
        "says so (point at it for its value). The floor and CGD do not depend on the variance.",
        figure.update_xaxes(title={"text": "variance σ² of the prompts"}),
        data=pd.DataFrame(
            {"σ²": run["test_time/variance"]} | means | {"floor": floor, "CGD": cg}
        ).round(4),
        note="Bars reach from the lowest to the highest seed." if run.config.seeds > 1 else "",
    )


def by_method(run: Run) -> dict[str, np.ndarray]:
    """Return the logarithms [seeds, V] of what the run has evaluated, and of the best head as it
    is."""
    logs = {method: _logs(run[f"evaluated/{method}"]) for method in run.names("methods")}
    return {**logs, "alone": _logs(run["evaluated/head"]).min(-1)}


def _logs(losses: np.ndarray) -> np.ndarray:
    """Return the logarithm; infinite where the loss has left the numbers."""
    return np.where(np.isfinite(losses), log_of(losses), np.inf)


def _style(run: Run, method: str) -> tuple[str, str, str]:
    name, kind, marker = METHODS.get(method, (method, NEUTRAL, "circle"))
    return name, kind, marker


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
    return Panel(
        f"After {layers[-1]} layers the log-losses on unseen variances are {ends}",
        "Each depth has heads and gates of its own. Full lines are fresh prompts, dotted ones "
        "those that the gates were learned on. In log-loss σ² drops out, so that with gates at "
        "their end all variances would have one line. Where gates end on the way, a smaller "
        "variance, whose gate has farther to go, lies higher.",
        roomy(figure),
        data=tabled("layers", layers, [each for each in series if each.name != "prompts met"]),
    )


def learned(run: Run, view: View) -> Panel:
    """Draw the gates of each variance, counted in whole steps, beside one step of the head that
    knows U."""
    trained = np.array(trained_on(run.config))
    variances = run["test_time/variance"][:, None]
    gates = run["gate/value"][row(run, view)]  # [V, H]
    share = gates * variances / trained
    one = _alone(run)
    bars = [(share, gates, "learned"), (one, one * trained / variances, "one head")]
    figure = stacked(run, bars, categories_of(run), "variance σ² of the prompts")
    common = run.config.rotations == "common"
    total = share.sum(1)
    right = (share * one).sum(1)
    who = "The last head" if common else "The head that knows U"
    return Panel(
        f"{who} does {written(float(right.mean()))} of a step; all gates together "
        f"{written(float(total.min()))} to {written(float(total.max()))}",
        "Each block is a gate times σ²/σₕ²: the share of a whole step that its head takes. The "
        "gate itself is written on it. " + (SHARED if common else PICKED),
        figure,
        data=pd.DataFrame(
            {"σ²": variances[:, 0]} | _columns(run, gates) | {"whole steps": total.round(4)}
        ),
    )


def _alone(run: Run) -> np.ndarray:
    """Return one step of one head for each variance, [V, H]: the last, or the one that knows the
    covariance."""
    return np.eye(len(trained_on(run.config)))[at_home(run)]


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


def starts(run: Run, view: View) -> Panel:
    """Draw the gates learned from each start, on the last unseen variance."""
    seed = row(run, view)
    variance = met_by(run.config)[-1]
    names = run.names("starts")
    gates = run["start/gates"][seed]  # [starts, H]
    loss = log_of(run["start/loss"])[seed]  # [starts]
    share = gates * variance / np.array(trained_on(run.config))
    who = "last head" if run.config.rotations == "common" else "head that knows U"
    right = share[:, -1]
    labels = [
        f"{SHORT.get(name, name)}<br>{written(value)}"
        for name, value in zip(names, loss, strict=True)
    ]
    starts = {"start": [STARTS.get(name, name) for name in names]}
    return Panel(
        f"Four starts end with the {who} at {written(float(right.min()))} to "
        f"{written(float(right.max()))} of a step, and losses {written(float(np.ptp(loss)))} apart",
        f"Prompts of variance σ² = {variance:g}. If one choice of gates is best, all four bars are "
        "alike. Where the losses are equal and the bars are not, the gates say where they "
        "started, and not which head is right.",
        stacked(run, [(share, gates, "learned")], labels, "gates start from; log-loss reached"),
        data=pd.DataFrame(starts | _columns(run, gates) | {"log-loss": loss.round(4)}),
    )


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
    return Panel(
        f"Older gradients have {share} of the weight",
        "wₗ₊₁ = wₗ − Σⱼ Σₕ gₕ Γⱼˡʰ Aⱼʰ ∇R(wⱼ): all heads with their gates are one method. A row "
        "is a layer, a column a past gradient; the number is the mean of the diagonal of "
        "√Σ Σₕ gₕ Γⱼˡʰ Aⱼʰ √Σ, a multiple of Σ⁻¹ where the heads know it. If gates did more than "
        "make steps longer or shorter, the maps of different variances would differ. Without "
        "memory all numbers under the diagonal would be 0.",
        figures.maps(
            [f"σ² = {variance:g}" for variance in variances],
            list(triangles),
            after,
            past,
            "multiple of Σ⁻¹",
            row_title="after layer",
            column_title="past gradient",
            written=True,
            columns=3,
        ),
        data=_triangle_table(variances, tables),
    )


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
    rate = AUTHORS_RATE if run.config.learner == "authors" else RATE
    return Panel(
        _learning_title(run, took),
        f"The loss on the prompts that are met, as Adam (rate {rate}) changes the gates and "
        "nothing else. A mixture that could not adapt would stay where it starts.",
        roomy(figures.curves(series, "step at test time", "log-loss", y_range=window(ends))),
        data=tabled("step", x, series),
    )


def _learning_title(run: Run, took: int) -> str:
    prompts = f"on {run.config.gate_prompts:,} prompts"
    if took > 0.9 * run.config.gate_steps:
        return f"The gates are not at their end after {run.config.gate_steps} steps, {prompts}"
    return f"The gates are learned in {took} steps, {prompts}"


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
    return Panel(
        _training_title(run, floor),
        "A head that learns nothing stays at predicting zero, log d. All heads learn from as many "
        "prompts. They differ in their variance, which these coordinates take out, and in where "
        "they start.",
        figures.curves(series, "training step", "log-loss", y_range=y_range, lines=lines),
        data=tabled("step", x, series),
    )


def _training_title(run: Run, floor: float) -> str:
    if not run.finished:
        return "The first head's loss so far"
    above = log_of(run["own/loss"]).mean(0) - floor
    return (
        "Log-loss above the floor of each head on its own prompts: "
        f"{', '.join(written(float(each)) for each in above)}"
    )
