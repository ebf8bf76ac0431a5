"""Where every model of the comparison ended (Figures 4 C and 6), every seed a dot, and how the
losses fell; the latter also of a run still going. First what other drawings share with these: the
reference lines, the range of losses that is shown, columns of tables."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Curve, mean_of
from icl_core.figures.stage_seat import LINES
from icl_core.figures.style import DASHES, FAINT, PAPER, TICKS, axis, colour, layout
from icl_core.papers.gdssm.comparison.load_run import (
    Entry,
    curves,
    entries,
    seeds_there,
    tasks_seen,
)
from icl_core.papers.gdssm.comparison.words import WORDS
from icl_core.papers.gdssm.shared.sequence_models import Model, train
from icl_core.papers.gdssm.shared.sequence_models import model as model_of
from icl_core.papers.gdssm.shared.sequence_models import training_end as ends_of

EDGE = 1.5  # times the loss of predicting zero: beyond, a dot stands at the edge


def reference_lines(zero: float, one: float, two: float) -> list[tuple[str, float, str]]:
    """Return the reference lines: name, loss and kind of each."""
    return [
        ("predicting zero", zero, "floor"),
        ("one step", one, "gradient descent"),
        ("two steps", two, "floor"),
    ]


def loss_range(run: Run, losses: np.ndarray) -> tuple[float, float]:
    """Return the range of losses that is shown: the reference lines and every loss that is not far
    above them."""
    zero = float(run["baseline/zero"][0])
    two = float(run["baseline/two"][0])
    near = losses[losses <= EDGE * zero]  # neither inf nor NaN is
    low = near.min(initial=two)
    high = near.max(initial=zero)
    room = 0.1 * (high - low)  # for a name under the lowest dot
    return float(low - room), float(high + room)


def models_beyond(run: Run, losses: np.ndarray) -> str:
    """Return which models have a loss [..., models] outside the range."""
    tops = np.where(np.isfinite(losses), losses, -np.inf).reshape(-1, losses.shape[-1]).max(0)
    edge = EDGE * float(run["baseline/zero"][0])
    return ", ".join(
        f"{entry.model.short} at {top:.3g}"
        for entry, top in zip(entries(run), tops, strict=True)
        if top > edge
    )


def number_column(
    values: Any, places: int | None = None, missing: str = "diverged"
) -> Sequence[Any]:
    """Return numbers as a column of a table, rounded to `places`; words if one is not finite,
    `missing` in its place."""
    numbers = np.asarray(values, dtype=float)
    rounded = numbers if places is None else numbers.round(places)
    return (
        rounded
        if np.isfinite(numbers).all()
        else [f"{x:g}" if np.isfinite(x) else missing for x in rounded]
    )  # type: ignore[return-value]


NAMES = 66  # pixels above the plot, for the names of the reference lines


def ends(run: Run, view: Any) -> Panel:
    """Draw the loss of every model at the end, every seed a dot."""
    return WORDS.panel(
        "ends",
        run,
        view,
        _rows(run),
        data=_table(run),
        tasks_seen=WORDS.text("tasks seen", run),
        beyond=models_beyond(run, run["evaluated/loss"]),
    )


def _rows(run: Run) -> Figure:
    """Draw a row a model, the first on top."""
    models = entries(run)
    limits = loss_range(run, run["evaluated/loss"])
    rows = len(models)
    dots = [_dots(run, entry, limits[1]) for entry in models]
    figure = Figure(dots, layout(120 + 40 * rows, showlegend=False))
    _lines(run, figure)
    for entry in filter(lambda entry: entry.diverged, models):
        here = {"x": 1, "xref": "paper", "xanchor": "right", "yanchor": "middle", "bgcolor": PAPER}
        figure.add_annotation(text="diverged", showarrow=False, y=entry.place, **here)
    for entry in models:
        ending = ends_of.end(run, entry.curve).word
        if ending not in (ends_of.FLAT, ends_of.LOST):  # a training that decides nothing
            figure.add_annotation(**_ending(entry, ending, limits))
    ticks = [_keyed(entry.model) for entry in models]
    figure.update_xaxes(axis("loss at the query", range=list(limits), showgrid=False))
    figure.update_yaxes(axis(range=[rows - 0.5, -0.5], tickvals=list(range(rows)), ticktext=ticks))
    figure = figures.seated(figure)
    return figure.update_layout(margin={"t": NAMES})


def _keyed(model: Model) -> str:
    """Return a model's name beside its symbol in the colour by which its curve is known, as
    HTML."""
    name = (
        model.short.replace(" transformer", " transf.")
        .removesuffix(" layer")
        .removesuffix(" layers")
    )
    return f'{name} <span style="color:{colour(model.colour)}">{LINES[model.dash][0]}</span>'


def _ending(entry: Entry, ending: str, limits: tuple[float, float]) -> dict[str, Any]:
    """Return the annotation that says how a training ended: at the left of the dots in the right
    half, as there is no room at their right, or at the right of all if none is there."""
    losses = np.minimum(entry.losses[np.isfinite(entry.losses)], limits[1])
    in_right_half = losses[losses > sum(limits) / 2]
    if len(in_right_half):
        x = in_right_half.min()
        side = {"xanchor": "right", "xshift": -9}
    else:
        x = losses.max()
        side = {"xanchor": "left", "xshift": 9}
    where = {"x": float(x), "y": entry.place}
    look = {"font": {"size": TICKS, "color": FAINT}, "showarrow": False}
    if len(in_right_half) in (0, len(losses)):  # where dots lie on both sides it could hide some
        look["bgcolor"] = PAPER
    return {"text": ending, **where, **side, **look}


def _lines(run: Run, figure: Figure) -> None:
    """Draw the reference lines with their names above the plot, one over the other."""
    for level, (label, value, kind) in enumerate(reference_lines(*ends_of.levels(run))):
        left = level == 0  # the line of predicting zero is the rightmost
        line = {"color": colour(kind), "width": 2, "dash": DASHES[kind]}
        figure.add_shape(
            type="line", x0=value, x1=value, yref="paper", y0=0, y1=1, line=line, layer="below"
        )
        side = {"xanchor": "right", "xshift": -3} if left else {"xanchor": "left", "xshift": 3}
        where = {
            "x": value,
            "y": 1,
            "yref": "paper",
            "yshift": 10 + 19 * level,
            "font": {"size": TICKS},
        }
        figure.add_annotation(text=label, showarrow=False, **where, **side)


def _dots(run: Run, entry: Entry, edge: float) -> Trace:
    """Return one model's seeds in its row, with what they are beside others; one too far off stands
    at the edge, an arrow."""
    finite = np.isfinite(entry.losses)
    losses = entry.losses[finite]
    seeds = len(finite)
    spread = np.linspace(-0.12, 0.12, seeds) if seeds > 1 else np.zeros(1)
    symbols = np.where(losses > edge, "triangle-right", entry.model.symbol).tolist()
    dots = Trace(
        x=np.minimum(losses, edge),
        y=entry.place + spread[finite],
        mode="markers",
        marker=entry.model.marker(11, symbol=symbols),
    )
    about = "<br>".join(
        f"{name} {value}" for name, value in _hover_values(run, entry).items() if value is not None
    )
    hover = [f"{entry.model.label}: {value:.4g}<br>{about}" for value in losses]
    return dots.update(
        name=entry.model.label, cliponaxis=False, text=hover, hovertemplate="%{text}<extra></extra>"
    )


def _hover_values(run: Run, entry: Entry) -> dict[str, Any]:
    """Return what stands beside a model's loss, by name; None where there is nothing to say."""
    end = ends_of.end(run, entry.curve)
    fall = 100 * (end.fall / entry.curve[:, -1] if entry.curve is not None else end.fall)  # percent
    spread = f" ± {fall.std(ddof=1):.2g} (standard deviation over seeds)" if len(fall) > 1 else ""
    return {
        "parameters": entry.parameters,
        "width": entry.width or None,
        "width / (2f + N + 1)": round(entry.width / run.config.base, 2) or None,
        "seeds at a step per layer": f"{seeds_there(run, entry)} of {len(entry.losses)}",
        "tasks seen": tasks_seen(run),
        "fall over the last tenth of the rate, percent": (
            f"{fall.mean():.2g}{spread}" if np.isfinite(fall).all() else None
        ),
        "ended": end.word,
    }


def _table(run: Run) -> pd.DataFrame:
    """Return one row a model: its loss as a mean over the seeds, the median and the best seed over
    the loss of one step, and what stands beside it."""
    models = entries(run)
    losses = run["evaluated/loss"]  # (seeds, models)
    mean = losses.mean(0)
    one = float(run["baseline/one"][0])
    # where one seed ends far from the others a mean tells little
    best = np.where(np.isfinite(losses), losses, np.inf).min(0)
    of_seeds = {
        "over one step, median seed": np.median(losses, 0),
        "over one step, best seed": best,
    }
    over_seeds = of_seeds if len(losses) > 1 else {}
    rows = [_hover_values(run, entry) for entry in models]
    return pd.DataFrame(
        {
            "model": [entry.model.label for entry in models],
            "loss": number_column(mean, 4),
            "over one step": number_column(mean / one, 4),
            **{name: number_column(values / one, 4) for name, values in over_seeds.items()},
            **{name: [row[name] for row in rows] for name in rows[0]},
            "state": [size or None for size in run["size/state"]],
            "rate": number_column(run["chosen/rate"], missing="none"),
        }
    )


def training(run: Run, view: Any) -> Panel:
    """Draw the loss of every model over its training; also of a run that is still going."""
    x = np.asarray(run.tensors.get("curve/step", [0]))
    losses = {model_of(id): y for id, y in curves(run).items()}
    means = {model.label: mean_of(rows) for model, rows in losses.items()}
    levels = ends_of.watched(run)
    diverged = [entry for entry in entries(run) if entry.diverged] if run.finished else []
    figure = _falling(x, losses, levels, view.single_seeds, not run.finished)
    data = pd.DataFrame({"step": x} | {label: mean.round(4) for label, mean in means.items()})
    return WORDS.panel(
        "training",
        run,
        view,
        figure,
        data=data,
        so_far=len(losses),
        first_to_leave=first_to_leave(x, means, levels[0]) if run.finished else "",
        diverged_when=", ".join(_when(x, losses, entry.model) for entry in diverged),
    )


def _falling(
    x: np.ndarray,
    losses: dict[Model, np.ndarray],
    levels: train.Levels,
    single_seeds: bool,
    legend: bool,
) -> Figure:
    """Draw a curve a model, and one a seed behind it if asked for."""
    single = [
        Curve(f"{model.label}, seed {i + 1}", x, row, model.colour, "dot")
        for model, rows in losses.items()
        for i, row in enumerate(rows)
        if single_seeds
    ]
    series = [
        Curve(model.label, x, mean_of(rows), model.colour, model.dash)
        for model, rows in losses.items()
    ]
    lowest = min([levels[2], *(rows[np.isfinite(rows)].min() for rows in losses.values())])
    figure = figures.curves(
        [*single, *series] or [Curve("none yet", x, np.full(len(x), np.nan))],
        "training step",
        f"loss at the query, {train.WATCHED[1]:,} other tasks",
        y_range=(0.92 * lowest, 1.12 * levels[0]),
        lines=reference_lines(*levels),
        height=460,
    )
    return figures.seated(figure.update_layout(showlegend=legend), figures.HALF)


def _when(x: np.ndarray, losses: dict[Model, np.ndarray], lost: Model) -> str:
    """Return the name of a model that diverged, with the last step at which a loss was finite."""
    if lost not in losses:
        return f"{lost.short} at every rate"
    return f"{lost.short} after step {int(x[np.isfinite(losses[lost]).any(0)][-1]):,}"


def first_to_leave(x: np.ndarray, means: dict[str, np.ndarray], zero: float) -> str:
    """Return who left the plateau when: the first evaluation at which a tenth of predicting zero is
    gained."""
    under = {name: x[mean < 0.9 * zero] for name, mean in means.items()}
    steps = {name: int(below[0]) for name, below in under.items() if len(below)}
    first = min(steps, key=steps.__getitem__, default="")
    never = len(means) - len(steps)
    return WORDS.text("first to leave", first=first, step=steps.get(first), never=never)
