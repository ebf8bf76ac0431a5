"""What is drawn of the speed of training: steps to the floor at every rate, how many times as fast
that is, and the losses over training."""

from itertools import product

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Curve, references
from icl_core.figures.series import axis_range
from icl_core.figures.style import LAYERS, PAPER, axis, colour, layout
from icl_core.papers.memformers.shared.draw.losses import SEAT, fitted, roomy
from icl_core.papers.memformers.shared.load_run import step
from icl_core.papers.memformers.speed.claims import (
    WITHIN,
    Factors,
    above_floor,
    arrivals,
    at_best,
    at_equal,
    best_rate,
    models_of,
    nearest,
    typical,
    why_never,
)
from icl_core.papers.memformers.speed.settings import (
    CGD,
    EQUAL,
    LFOM,
    LINEAR,
    MEMORIES,
    MODELS_BY_ID,
    STEPPED,
    Timed,
    View,
)
from icl_core.papers.memformers.speed.words import WORDS

# of the axis of steps, times the steps of the training
EDGE = 1.35  # where those that never arrive stand
TOP = 1.75  # where the axis ends
APART = 1.05  # between the marks of two models at one rate
STEPS_TICKED = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000)
OTHER = {"original": "whitened", "whitened": "original"}
# of factors
COMPARED = (STEPPED, CGD, LFOM)
BESIDE = 0.2  # between the marks of two models at one place
Places = dict[str, Factors | None]  # by rate, and "best"
# of losses
FIRST = 5  # step of the axis
RANGE = (0.01, 8.0)
TALL = 420  # pixels, in a drawer
TICKED = (0.01, 0.1, 1.0)
DECADES = (10, 100, 1000)


def steps_here(run: Run, view: View) -> Panel:
    """Draw the steps in the coordinates of the view."""
    return _steps_panel(run, view, view.coordinates)


def steps_there(run: Run, view: View) -> Panel:
    """Draw the steps in the other coordinates."""
    return _steps_panel(run, view, OTHER[view.coordinates])


def shown(run: Run, view: View) -> list[Timed]:
    """Return the models that the view asks for."""
    choices = {
        "all": models_of(run),
        "equal": EQUAL,
        "memory": [model for model in EQUAL if model is not LINEAR],
    }
    return [model for model in models_of(run) if model in choices[view.shown]]


def _steps_panel(run: Run, view: View, coordinates: str) -> Panel:
    figure = Figure(layout=layout(SEAT, hovermode="closest"))
    rates = run["rate/values"]
    limit = run.config.steps
    models = shown(run, view)
    for number, model in enumerate(models):
        x = rates * APART ** (number - (len(models) - 1) / 2)
        figure.add_traces(_arrival_traces(run, model, coordinates, x))
    soonest = []
    for model, where in product(models_of(run), run.names("coordinates")):
        steps = arrivals(run, model, where)
        if np.isfinite(steps).any():
            soonest.append(float(steps[np.isfinite(steps)].min()))
    low = min(soonest or [limit / 10])
    ends = (rates[0] / 1.35, rates[-1] * 1.35)
    limits = (max(low, 1.0) / 1.5, limit * TOP)
    lines = references([(f"never in {limit:,} steps", float(limit), "floor")], True, limits)
    # Open marks are at small rates and at large ones.
    lines["annotations"][0].update(x=0.5, xanchor="center")
    figure.update_layout(lines | {"showlegend": True})
    figure.update_xaxes(axis("learning rate (log scale)", showgrid=False, **axis_range(ends, True)))
    figure.update_xaxes(tickvals=rates, ticktext=[f"{rate:g}" for rate in rates])
    ticks = [each for each in STEPS_TICKED if limits[0] <= each <= limits[1]]
    figure.update_yaxes(axis("steps (log scale)", **axis_range(limits, True)))
    figure.update_yaxes(tickvals=ticks, ticktext=[f"{each:,}" for each in ticks])
    needed = {
        model: float(typical(arrivals(run, model, coordinates)).min())
        for model in (LINEAR, *MEMORIES)
    }
    return WORDS.panel(
        "steps", run, view, fitted(figure), data=_medians(run, coordinates),
        steps_with_memory=_steps_text(min(needed[model] for model in MEMORIES)),
        steps_without=_steps_text(needed[LINEAR]),
    )  # fmt: skip


def _arrival_traces(run: Run, model: Timed, coordinates: str, x: np.ndarray) -> list[Trace]:
    """Return a model's band from the first seed to the last, the line of medians, and open marks on
    the edge for never."""
    steps = arrivals(run, model, coordinates)
    edge = run.config.steps * EDGE
    middle = typical(steps)
    tint = colour(model.kind)
    low, high = (np.minimum(bound, edge) for bound in (steps.min(1), steps.max(1)))
    arrived = np.isfinite(middle)
    never = ~np.isfinite(middle)
    silent = {"legendgroup": model.id, "showlegend": False}
    outline = Trace(
        x=[*x[arrived], *x[arrived][::-1]],
        y=[*high[arrived], *low[arrived][::-1]],
        mode="lines",
        hoverinfo="skip",
    )
    outline.update(
        line={"width": 0, "color": tint}, fill="toself", fillcolor=tint, opacity=0.18, **silent
    )
    line = Trace(
        x=x,
        y=np.where(arrived, middle, np.nan),
        mode="lines+markers",
        name=model.name,
        legendgroup=model.id,
    )
    line.update(
        line={"color": tint, "width": 2.5, "dash": "dash" if model.has_own_floor else "solid"}
    )
    line.update(marker={"size": 9, "symbol": model.symbol, "line": {"color": PAPER, "width": 1}})
    line.update(hovertemplate=f"{model.name}: %{{y:.0f}} steps<extra></extra>")
    band = [outline] if len(steps[0]) > 1 and arrived.sum() > 1 else []
    whys = [why_never(run, model, coordinates, int(rate)) for rate in np.flatnonzero(never)]
    mark = {"size": 11, "symbol": f"{model.symbol}-open", "color": tint, "line": {"width": 2}}
    open_marks = Trace(
        x=x[never],
        y=np.full(never.sum(), edge),
        mode="markers",
        marker=mark,
        customdata=whys,
        **silent,
    )
    open_marks.update(
        name=model.name, hovertemplate=f"{model.name}: never; %{{customdata}}<extra></extra>"
    )
    return [*band, line, open_marks]


def _steps_text(steps: float) -> str:
    return f"{steps:,.0f}" if np.isfinite(steps) else "never"


def _medians(run: Run, coordinates: str) -> pd.DataFrame:
    columns = {
        model.name: typical(arrivals(run, model, coordinates)).round(1) for model in models_of(run)
    }
    return pd.DataFrame({"learning rate": run["rate/values"]} | columns).replace(np.inf, np.nan)


def table(run: Run, view: View) -> Panel:
    """Draw every seed's steps, and why those that never arrive do not."""
    every = product(run.names("coordinates"), models_of(run), range(len(run["rate/values"])))
    rows = [_row(run, model, coordinates, index) for coordinates, model, index in every]
    never = sum(row["never, because"] != "" for row in rows)
    return WORDS.panel(
        "table", run, view, table=pd.DataFrame(rows), never=never, trainings=len(rows)
    )


def _row(run: Run, model: Timed, coordinates: str, index: int) -> dict[str, str]:
    steps = arrivals(run, model, coordinates)
    return {
        "coordinates": coordinates,
        "model": model.name,
        "rate": f"{run['rate/values'][index]:g}" + " (best)" * (best_rate(steps) == index),
        "steps, each seed": ", ".join(_steps_text(seed_steps) for seed_steps in steps[index]),
        "never, because": why_never(run, model, coordinates, index),
    }


def worth(run: Run, view: View) -> Panel:
    """Draw the factor of each model over the linear transformer."""
    figure = Figure(layout=layout(SEAT))
    places = [*(f"{rate:g}" for rate in run["rate/values"]), "best"]
    values = []
    for number, model in enumerate(COMPARED):
        factors = _factors(run, view.coordinates, model)
        x = np.arange(len(places)) + (number - 1) * BESIDE
        figure.add_traces(_factor_traces(model, view.coordinates, factors, x))
        values += [each.values for each in factors.values() if each is not None and each.mean > 0]
    every = np.concatenate([[1.0], *values])
    limits = (every.min() / 1.5, max(3.0, every.max() * 1.2))
    lines = references([("no faster", 1.0, "floor")], True, limits)
    figure.update_layout(lines | {"showlegend": False})  # the first panel names the models
    ticks = {
        "tickvals": list(range(len(places))),
        "ticktext": places,
        "range": [-0.5, len(places) - 0.5],
    }
    figure.update_xaxes(axis("learning rate, or each at its best", showgrid=False, **ticks))
    figure.update_yaxes(axis("times as fast (log scale)", **axis_range(limits, True)))
    return WORDS.panel("worth", run, view, fitted(figure), data=_factor_table(run))


def _factors(run: Run, coordinates: str, model: Timed) -> Places:
    rates = [f"{rate:g}" for rate in run["rate/values"]]
    equal = dict(zip(rates, at_equal(run, coordinates, model), strict=True))
    return {**equal, "best": at_best(run, coordinates, model)}


def _factor_traces(model: Timed, coordinates: str, factors: Places, x: np.ndarray) -> list[Trace]:
    """Return full marks where all seeds arrive, open triangles where the mean is a bound; none
    where neither arrives."""
    traces = []
    tint = colour(model.kind)
    for bound in (False, True):
        at = [
            i
            for i, each in enumerate(factors.values())
            if each is not None and bool(each.at_least.any()) == bound
        ]
        some = [each for i, each in enumerate(factors.values()) if i in at and each is not None]
        mean = np.array([each.mean for each in some])
        mean = np.where(mean > 0, mean, np.nan)
        low, high = (np.array([of(each.values) for each in some]) for of in (np.min, np.max))
        mark = {"size": 11, "color": tint, "symbol": "triangle-up-open" if bound else model.symbol}
        mark["line"] = {"color": tint if bound else PAPER, "width": 2 if bound else 1}
        bars = {
            "array": high - mean,
            "arrayminus": mean - low,
            "symmetric": False,
            "color": tint,
            "thickness": 1.5,
        }
        trace = Trace(
            x=x[at], y=mean, mode="markers", name=model.name, marker=mark, legendgroup=model.id
        )
        trace.update(error_y={**bars, "width": 3}, showlegend=not bound)
        factor = "at least " * bound + "%{y:.3g} times as fast"
        hover = f"{model.name}, {coordinates}: {factor}<extra></extra>"
        traces.append(trace.update(hovertemplate=hover))
    return traces


def _factor_table(run: Run) -> pd.DataFrame:
    rows = []
    for coordinates, model in product(run.names("coordinates"), COMPARED):
        for place, factors in _factors(run, coordinates, model).items():
            if factors is None:
                continue
            row = {
                "coordinates": coordinates,
                "model": model.name,
                "rate": place,
                "times as fast": round(factors.mean, 3),
                "lowest": round(float(factors.values.min()), 3),
                "highest": round(float(factors.values.max()), 3),
                "a lower bound": bool(factors.at_least.any()),
            }
            rows.append(row)
    return pd.DataFrame(rows)


def at_rate(run: Run, view: View) -> Panel:
    """Draw the log-loss above the floor of every model, at the trained rate nearest to the
    view's."""
    index = nearest(run, view.rate)
    models = shown(run, view)
    series = [
        Curve(each.name, step(run), above_floor(run, each, view.coordinates, index), each.kind,
              "dash" if each.has_own_floor else None, band="minmax")
        for each in models
    ]  # fmt: skip
    never = sum(
        not np.isfinite(typical(arrivals(run, each, view.coordinates))[index]) for each in models
    )
    figure = fitted(_losses(run, series).update_layout(showlegend=False))  # as in the first panel
    return WORDS.panel(
        "losses", run, view, figure, arriving=len(models) - never, models=len(models)
    )


def every_rate(run: Run, view: View) -> Panel:
    """Draw one model's loss at every rate; also of a run that is still going."""
    model = MODELS_BY_ID[view.model]
    rates = run["rate/values"] if "rate/values" in run.tensors else np.empty(0)
    series = [
        Curve(
            f"{rate:g}",
            step(run),
            above_floor(run, model, view.coordinates, index),
            LAYERS[index],
        )
        for index, rate in enumerate(rates)
    ]
    figure = (
        _losses(run, series, TALL)
        if run.finished
        else figures.curves(series, "training step", "log-loss", height=TALL)
    )
    data = pd.DataFrame({"step": step(run)} | {curve.name: curve.mean() for curve in series})
    return WORDS.panel("every rate", run, view, roomy(figure), data=data)


def _losses(run: Run, series: list[Curve], height: int = SEAT) -> Figure:
    lines = [(f"{WITHIN} above the floor", WITHIN, "floor")]
    figure = figures.curves(
        series, "training step", "above the floor", log_x=True, log_y=True, lines=lines,
        x_range=(FIRST, max(run.config.steps, 2 * FIRST)), y_range=RANGE, height=height,
    )  # fmt: skip
    figure.update_xaxes(tickvals=DECADES, ticktext=[f"{each:,}" for each in DECADES])
    return figure.update_yaxes(tickvals=TICKED, ticktext=[f"{each:g}" for each in TICKED])
