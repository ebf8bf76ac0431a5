"""Losses over training, counted from the floor: of every model at one rate, or of one model at
every rate."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures import Curve
from icl_core.figures.style import LAYERS
from icl_core.papers.memformers.shared.draw.losses import roomy
from icl_core.papers.memformers.shared.draw.stage import HEIGHT, fitted
from icl_core.papers.memformers.speed.crossings import (
    WITHIN,
    above_floor,
    arrivals,
    best_rate,
    typical,
)
from icl_core.papers.memformers.speed.draw.arrivals import shown
from icl_core.papers.memformers.speed.models import BY_ID
from icl_core.papers.memformers.speed.settings import View

FIRST = 5  # step of the axis
RANGE = (0.01, 8.0)
TALL = 420  # pixels, in a drawer
TICKED = (0.01, 0.1, 1.0)
DECADES = (10, 100, 1000)


def at_rate(run: Run, view: View) -> Panel:
    """Draw the log-loss above the floor of every model, at the trained rate nearest to the
    view's."""
    index = nearest(run, view.rate)
    rate = float(run["rate/values"][index])
    models = shown(run, view)
    series = [
        Curve(each.name, _steps(run), above_floor(run, each, view.coordinates, index), each.kind,
              "dash" if each.has_own_floor else None, band="minmax")
        for each in models
    ]  # fmt: skip
    never = sum(
        not np.isfinite(typical(arrivals(run, each, view.coordinates))[index]) for each in models
    )
    return Panel(
        f"At rate {rate:g}, {len(models) - never} of {len(models)} come within {WITHIN}",
        f"Log-loss on fresh prompts minus the floor's, in {view.coordinates} coordinates: the mean "
        "and range over seeds. A model has arrived where its line first crosses the dotted one. A "
        "rate that is too large leaves a line hovering above it.",
        fitted(_figure(run, series).update_layout(showlegend=False)),  # as in the first panel
    )


def every_rate(run: Run, view: View) -> Panel:
    """Draw one model's loss at every rate; also of a run that is still going."""
    model = BY_ID[view.model]
    rates = run["rate/values"] if "rate/values" in run.tensors else np.empty(0)
    series = [
        Curve(
            f"{rate:g}",
            _steps(run),
            above_floor(run, model, view.coordinates, index),
            LAYERS[index],
        )
        for index, rate in enumerate(rates)
    ]
    return Panel(
        f"In {view.coordinates} coordinates {model.name} is {_soonest(run, view)}",
        "One model at each learning rate, the mean over seeds and their spread. Small rates come "
        "near the floor late; large ones fall soon, then hover above it. A model that learns "
        "nothing stays level.",
        roomy(_figure(run, series, TALL) if run.finished else _unfinished(series)),
        data=pd.DataFrame({"step": _steps(run)} | {each.name: each.mean() for each in series}),
    )


def _soonest(run: Run, view: View) -> str:
    if not run.finished:
        return "the loss so far"
    steps = arrivals(run, BY_ID[view.model], view.coordinates)
    if (best := best_rate(steps)) is None:
        return f"within {WITHIN} of its floor at no rate"
    return f"soonest at rate {run['rate/values'][best]:g}, after {typical(steps)[best]:,.0f} steps"


def nearest(run: Run, rate: float) -> int:
    """Return the index of the trained rate that is nearest, by factors."""
    return int(np.abs(np.log(run["rate/values"] / rate)).argmin())


def _steps(run: Run) -> np.ndarray:
    return run.tensors.get("curve/step", np.array([0]))


def _figure(run: Run, series: list[Curve], height: int = HEIGHT) -> Figure:
    lines = [(f"{WITHIN} above the floor", WITHIN, "floor")]
    figure = figures.curves(
        series, "training step", "above the floor", log_x=True, log_y=True, lines=lines,
        x_range=(FIRST, max(run.config.steps, 2 * FIRST)), y_range=RANGE, height=height,
    )  # fmt: skip
    figure.update_xaxes(tickvals=DECADES, ticktext=[f"{each:,}" for each in DECADES])
    return figure.update_yaxes(tickvals=TICKED, ticktext=[f"{each:g}" for each in TICKED])


def _unfinished(series: list[Curve]) -> Figure:
    return figures.curves(series, "training step", "log-loss", height=TALL)
