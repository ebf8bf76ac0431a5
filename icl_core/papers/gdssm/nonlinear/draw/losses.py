"""The models of sines side by side: their losses, trained layers beside constructed ones, and how
training came to them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import CannotDraw, Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Curve, mean_of, number_text
from icl_core.figures.style import INK, PAPER, colour, legend
from icl_core.papers.gdssm.nonlinear.load_run import gained_blind
from icl_core.papers.gdssm.nonlinear.settings import variant
from icl_core.papers.gdssm.nonlinear.train import MEAN, WATCHED, ZERO
from icl_core.papers.gdssm.shared.load_run import percent
from icl_core.training.several_seeds import padded

IDEAL = "ideal"


def losses_panel(run: Run, view: Any) -> Panel:
    """Draw a bar for every model, with its seeds, and with the loss that it has when the labels in
    its prompt are zeros."""
    ids = run.names("variants")
    zero = float(run["baseline/zero"][0])
    mean, blind = (
        {id: float(run[f"evaluated/{id}{which}"].mean()) for id in ids} for which in ("", "/blind")
    )
    share = gained_blind(run, "linear gate")
    table = {
        "model": [variant(id).label for id in ids],
        "loss": list(mean.values()),
        "labels hidden": list(blind.values()),
        "worst seed": [float(run[f"evaluated/{id}"].max()) for id in ids],
    }
    return Panel(
        f"The gated MLP has {percent(mean['mlp gate'] / zero)} of the loss of predicting zero; the "
        f"gated linear embedding has {percent(mean['linear gate'] / zero)}, and keeps "
        f"{percent(share)} of its gain with the labels hidden",
        "A bar is a model's loss, and the diamond its loss with the labels in its prompt hidden "
        "(set to zero). The gated linear embedding then loses "
        f"{number_text(blind['linear gate'], 4)}; the mean of all sines, {MEAN:.2f} cos x, loses "
        f"{number_text(float(run['baseline/mean'][0]), 4)}. A model that is linear in the query's "
        "x cannot be better than the best straight lines, and an MLP on the state is linear in "
        "it; trained layers are not. If the embedding did not matter, all bars would be equal.",
        _bars(run, list(mean.values()), list(blind.values())),
        data=pd.DataFrame(table).round(5),
        note="All bars and lines are on the same held-out tasks. The best straight lines are "
        "fitted to each whole sine, exactly.",
    )


BESIDE = ("linear", "linear trained", "linear gate", "linear gate trained")
KINDS = ("construction", "trained")


def trained_and_constructed(run: Run, view: Any) -> Panel:
    """Draw Figure 4 B: trained layers beside constructed ones, behind the same linear embedding,
    with the gated unit and without."""
    missing = set(BESIDE) - set(run.names("variants"))
    if missing:
        raise CannotDraw(f"This run holds no model “{variant(min(missing)).label}”.")
    means = {id: float(run[f"evaluated/{id}"].mean()) for id in BESIDE}
    many = "one layer" if run.config.layers == 1 else f"{run.config.layers} layers"
    plain, gate = (
        f"{number_text(means[f'{id} trained'], 4)} and {number_text(means[id], 4)}"
        for id in ("linear", BESIDE[2])
    )
    labels = ["constructed", "trained", "constructed, gated", "trained, gated"]
    figure = figures.bars(
        labels,
        list(means.values()),
        "loss at the query",
        kinds=[*KINDS, *KINDS],
        text="none",
        y_range=(0, 1.18 * max(float(run["baseline/zero"][0]), *means.values())),
        height=420,
    )
    bar = figure.data[0].update(showlegend=False)
    figure.add_trace(seeds(run, bar["x"], BESIDE))
    _write(figure, bar["x"], list(means.values()), float(run["baseline/zero"][0]))
    _level(figure, run, IDEAL)
    return Panel(
        f"{many.capitalize()}, trained and constructed: {gate} with the gated unit, {plain} "
        "without",
        "The comparison of Figure 4 B and Appendix A.7. Behind a linear embedding stand GD-SSM "
        "layers, trained (blue) or constructed as a step of gradient descent each (orange). The "
        "embedding, the rates and the gated unit are trained around both. If training found "
        "gradient descent here, the bars of a pair would be equal. None comes near the "
        f"{number_text(float(run['baseline/ideal'][0]), 4)} of as many steps on sin x and cos x: a "
        "linear embedding has no features in which a sine is linear.",
        figure,
        data=pd.DataFrame({"model": labels, "loss": means.values()}).round(5),
        note="Dots are single seeds. The same held-out tasks for all.",
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
    figure.add_trace(seeds(run, bar["x"], [model.id for model in models]))
    figure.add_trace(diamonds(bar["x"], hidden))
    _write(figure, bar["x"], means, zero)
    _level(figure, run)
    return figure


def seeds(run: Run, labels: Sequence[str], ids: Sequence[str]) -> Trace:
    """Draw the losses of single seeds, over the bars of the models `ids`."""
    rows = np.stack([run[f"evaluated/{id}"] for id in ids]).astype(float)  # [models, seeds]
    x = np.repeat(labels, rows.shape[1])
    dots = {"size": 7, "color": PAPER, "line": {"color": INK, "width": 1.5}}
    return Trace(
        x=x.tolist(), y=rows.ravel().tolist(), mode="markers", marker=dots, name="single seeds"
    )


def diamonds(labels: Sequence[str], hidden: Sequence[float]) -> Trace:
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


def training(run: Run, view: Any, but: Sequence[str] = ()) -> Panel:
    """Draw the loss of every model, of all `but` some, over its training; also of a run that is
    still going."""
    x = np.asarray(run.tensors.get("curve/step", [0]))
    ids = run.names("variants") if "names/variants" in run.tensors else []
    losses = {
        id: np.reshape(run.tensors.get(f"curve/{id}", []), (run.config.seeds, -1)) for id in ids
    }
    rows = {variant(id): padded(row, len(x)) for id, row in losses.items()}
    series = [
        Curve(model.label, x, row, model.colour, model.dash)
        for model, row in rows.items()
        if model.id not in but
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
    return Panel(
        _title(run, {model.id: mean_of(row) for model, row in rows.items()}),
        f"The loss on {WATCHED:,} held-out tasks. A model with an MLP embedding falls as its "
        "features turn into waves: play the training, and watch the features. A model that cannot "
        "fit a sine stays up."
        + (" The bands are the spread over seeds." if run.config.seeds > 1 else ""),
        figure,
        data=pd.DataFrame(
            {"step": x} | {model.label: mean_of(row) for model, row in rows.items()}
        ).round(6),
    )


def _title(run: Run, means: dict[str, np.ndarray]) -> str:
    """Say where the models with and without an MLP embedding end, or where the last one is."""
    ends = {
        id: float(mean[np.isfinite(mean)][-1])
        for id, mean in means.items()
        if np.isfinite(mean).any()
    }
    if not run.finished or len(ends) < len(means):
        last = [f"{variant(id).label} is at {number_text(value, 4)}" for id, value in ends.items()]
        return last[-1] if last else "Nothing trained yet"
    mlps = [id for id in ends if f"snapshot/{id}/W_1" in run.tensors]
    waves = " and ".join(number_text(ends[id], 4) for id in mlps)
    others = min(value for id, value in ends.items() if id not in mlps)
    return (
        f"With an MLP embedding they end at {waves}, without one at {number_text(others, 4)} and "
        "above"
    )
