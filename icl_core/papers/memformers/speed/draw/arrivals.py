"""Steps to the floor against the learning rate, and the same as a table with the reasons of those
that never arrive."""

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

EDGE, TOP = (
    1.35,
    1.75,
)  # times the steps of the training: where those that never arrive stand, and the axis ends
APART = 1.05  # between the marks of two models at one rate
TICKED = tuple(digit * 10**power for power in range(5) for digit in (1, 2, 5))
OTHER = {"original": "whitened", "whitened": "original"}


def here(run: Run, view: View) -> Panel:
    """In the coordinates of the view."""
    return _panel(run, view, view.coordinates)


def there(run: Run, view: View) -> Panel:
    """In the other ones."""
    return _panel(run, view, OTHER[view.coordinates])


def shown(run: Run, view: View) -> list[Timed]:
    """The models that the view asks for."""
    choices = {
        "all": models_of(run),
        "equal": EQUAL,
        "memory": [model for model in EQUAL if model is not LINEAR],
    }
    return [model for model in models_of(run) if model in choices[view.shown]]


def _panel(run: Run, view: View, coordinates: str) -> Panel:
    figure = Figure(layout=layout(HEIGHT, hovermode="closest"))
    rates, limit, models = run["rate/values"], run.config.steps, shown(run, view)
    for number, model in enumerate(models):
        x = rates * APART ** (number - (len(models) - 1) / 2)
        figure.add_traces(_traces(run, model, coordinates, x))
    arrivals_of_all = [
        arrivals(run, each, where) for each in models_of(run) for where in run.names("coordinates")
    ]
    low = min(
        [
            float(each[np.isfinite(each)].min())
            for each in arrivals_of_all
            if np.isfinite(each).any()
        ]
        or [limit / 10]
    )
    ends = (rates[0] / 1.35, rates[-1] * 1.35)
    limits = (max(low, 1.0) / 1.5, limit * TOP)
    lines = references([(f"never in {limit:,} steps", float(limit), "floor")], True, limits)
    lines["annotations"][0].update(
        x=0.5, xanchor="center"
    )  # open marks are at small rates and at large ones
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
    """A model's band from the first seed to the last, the line of medians, and open marks on the
    edge for never."""
    steps, edge = arrivals(run, model, coordinates), run.config.steps * EDGE
    middle, tint = typical(steps), colour(model.kind)
    low, high = (np.minimum(bound, edge) for bound in (steps.min(1), steps.max(1)))
    seen, never = np.isfinite(middle), ~np.isfinite(middle)
    silent = {"legendgroup": model.id, "showlegend": False}
    outline = Trace(
        x=[*x[seen], *x[seen][::-1]],
        y=[*high[seen], *low[seen][::-1]],
        mode="lines",
        hoverinfo="skip",
    )
    outline.update(
        line={"width": 0, "color": tint}, fill="toself", fillcolor=tint, opacity=0.18, **silent
    )
    line = Trace(
        x=x,
        y=np.where(seen, middle, np.nan),
        mode="lines+markers",
        name=model.name,
        legendgroup=model.id,
    )
    line.update(
        line={"color": tint, "width": 2.5, "dash": "dash" if model.has_own_floor else "solid"}
    )
    line.update(marker={"size": 9, "symbol": model.symbol, "line": {"color": PAPER, "width": 1}})
    line.update(hovertemplate=f"{model.name}: %{{y:.0f}} steps<extra></extra>")
    band = [outline] if len(steps[0]) > 1 and seen.sum() > 1 else []
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
    """At the best rate: the linear transformer's steps, and the faster Memformer's."""
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
    """Every seed's steps, and why those that never arrive do not."""
    rows = [_row(run, model, coordinates, index)
            for coordinates in run.names("coordinates")
            for model in models_of(run)
            for index in range(len(run["rate/values"]))]  # fmt: skip
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
