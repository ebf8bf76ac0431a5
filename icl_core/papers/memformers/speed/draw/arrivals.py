"""Steps to the floor against the learning rate, and the same as a table with the reasons of those
that never arrive."""

from itertools import product

import numpy as np
import pandas as pd

from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import references
from icl_core.figures.series import axis_range
from icl_core.figures.style import PAPER, axis, colour, layout
from icl_core.papers.memformers.shared.draw.stage import HEIGHT, fitted
from icl_core.papers.memformers.speed.crossings import (
    WITHIN,
    arrivals,
    best_rate,
    models_of,
    typical,
    why_never,
)
from icl_core.papers.memformers.speed.models import EQUAL, LINEAR, MEMORIES, Timed
from icl_core.papers.memformers.speed.settings import View

# Times the steps of the training.
EDGE = 1.35  # where those that never arrive stand
TOP = 1.75  # where the axis ends
APART = 1.05  # between the marks of two models at one rate
TICKED = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000)
OTHER = {"original": "whitened", "whitened": "original"}


def here(run: Run, view: View) -> Panel:
    """Draw the steps in the coordinates of the view."""
    return _panel(run, view, view.coordinates)


def there(run: Run, view: View) -> Panel:
    """Draw the steps in the other coordinates."""
    return _panel(run, view, OTHER[view.coordinates])


def shown(run: Run, view: View) -> list[Timed]:
    """Return the models that the view asks for."""
    choices = {
        "all": models_of(run),
        "equal": EQUAL,
        "memory": [model for model in EQUAL if model is not LINEAR],
    }
    return [model for model in models_of(run) if model in choices[view.shown]]


def _panel(run: Run, view: View, coordinates: str) -> Panel:
    figure = Figure(layout=layout(HEIGHT, hovermode="closest"))
    rates = run["rate/values"]
    limit = run.config.steps
    models = shown(run, view)
    for number, model in enumerate(models):
        x = rates * APART ** (number - (len(models) - 1) / 2)
        figure.add_traces(_traces(run, model, coordinates, x))
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
    ticks = [each for each in TICKED if limits[0] <= each <= limits[1]]
    figure.update_yaxes(axis("steps (log scale)", **axis_range(limits, True)))
    figure.update_yaxes(tickvals=ticks, ticktext=[f"{each:,}" for each in ticks])
    return Panel(
        _title(run, coordinates), _caption(run), fitted(figure), data=_medians(run, coordinates)
    )


def _traces(run: Run, model: Timed, coordinates: str, x: np.ndarray) -> list[Trace]:
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


def _title(run: Run, coordinates: str) -> str:
    """Return the title, at the best rate of each: the linear transformer's steps, and the faster
    Memformer's."""
    ends = {model.id: _best(run, model, coordinates) for model in (LINEAR, *MEMORIES)}
    first = min(MEMORIES, key=lambda model: ends[model.id])
    linear = _steps_text(ends[LINEAR.id])
    return f"It takes {_steps_text(ends[first.id])} steps with memory, else {linear}"


def _best(run: Run, model: Timed, coordinates: str) -> float:
    return float(typical(arrivals(run, model, coordinates)).min())


def _steps_text(steps: float) -> str:
    return f"{steps:,.0f}" if np.isfinite(steps) else "never"


def _caption(run: Run) -> str:
    band = ", with the band from the first to the last" if run.config.seeds > 1 else ""
    return (
        f"Training steps until the log-loss on fresh prompts is first within {WITHIN} of the "
        f"floor, the error within 10%: the median of seeds{band}, at a constant learning rate. The "
        "title has the best rate of each. Lower is faster. One Γ for all layers has a higher "
        "floor of its own (dashed). If memory were worth nothing, all full lines would be one."
    )


def _medians(run: Run, coordinates: str) -> pd.DataFrame:
    columns = {
        model.name: typical(arrivals(run, model, coordinates)).round(1) for model in models_of(run)
    }
    return pd.DataFrame({"learning rate": run["rate/values"]} | columns).replace(np.inf, "never")


def table(run: Run, view: View) -> Panel:
    """Draw every seed's steps, and why those that never arrive do not."""
    every = product(run.names("coordinates"), models_of(run), range(len(run["rate/values"])))
    rows = [_row(run, model, coordinates, index) for coordinates, model, index in every]
    never = sum(row["never, because"] != "" for row in rows)
    return Panel(
        f"In {never} of {len(rows)} trainings a seed never arrives",
        f"Training steps to within {WITHIN} of the floor, seed by seed. A training that never "
        "arrives is still falling, or stands level on a plateau, or hovers: at so large a rate "
        "its steps carry it up and down.",
        table=pd.DataFrame(rows),
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
