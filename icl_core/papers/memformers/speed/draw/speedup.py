"""How many times as fast as a linear transformer the others are, at equal rates and at the best
rate of each."""

from itertools import product

import numpy as np
import pandas as pd

from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import references
from icl_core.figures.series import axis_range
from icl_core.figures.style import PAPER, axis, colour, layout
from icl_core.papers.memformers.shared.draw.stage import HEIGHT, fitted
from icl_core.papers.memformers.speed.crossings import Factors, at_best, at_equal
from icl_core.papers.memformers.speed.models import CGD, LFOM, STEPPED, Timed
from icl_core.papers.memformers.speed.settings import View

COMPARED = (STEPPED, CGD, LFOM)
APART = 0.2  # between the marks of two models at one place
Places = dict[str, Factors | None]  # by rate, and "best"


def worth(run: Run, view: View) -> Panel:
    """Draw the factor of each model over the linear transformer."""
    figure = Figure(layout=layout(HEIGHT))
    places = [*(f"{rate:g}" for rate in run["rate/values"]), "best"]
    values = []
    for number, model in enumerate(COMPARED):
        factors = _factors(run, view.coordinates, model)
        x = np.arange(len(places)) + (number - 1) * APART
        figure.add_traces(_traces(model, view.coordinates, factors, x))
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
    return Panel(
        _title(run, view.coordinates),
        "The linear transformer's training steps divided by each model's, seed by seed on the "
        f"same prompts: the geometric mean and the range over seeds, in {view.coordinates} "
        "coordinates. Diamonds learn a step size α for every layer but have no memory: what a "
        "Memformer gains beyond them is memory's. An open triangle is a bound, where the linear "
        "transformer never arrives.",
        fitted(figure),
        data=_data(run),
    )


def _factors(run: Run, coordinates: str, model: Timed) -> Places:
    rates = [f"{rate:g}" for rate in run["rate/values"]]
    equal = dict(zip(rates, at_equal(run, coordinates, model), strict=True))
    return {**equal, "best": at_best(run, coordinates, model)}


def _traces(model: Timed, coordinates: str, factors: Places, x: np.ndarray) -> list[Trace]:
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


def _title(run: Run, coordinates: str) -> str:
    both, alone = (
        times(at_best(run, coordinates, each)).removesuffix(" times") for each in (CGD, STEPPED)
    )
    return f"With α and memory it is {both} × as fast, α alone {alone}"


def times(factors: Factors | None) -> str:
    """Return a factor in words: "3.2 times", "more than 3.2 times"."""
    if factors is None or not np.isfinite(factors.mean):
        return "not known"
    return "more than " * bool(factors.at_least.any()) + f"{factors.mean:.1f} times"


def _data(run: Run) -> pd.DataFrame:
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
