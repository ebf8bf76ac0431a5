"""What the panels on losses share: natural logarithms, names, colours, ranges and a legend that has
room."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Curve
from icl_core.figures.style import colour
from icl_core.papers.memformers.shared.load_run import knows_covariance, log_of
from icl_core.papers.memformers.shared.variants import VARIANTS

# momentum has the fourth layer's colour
BESIDE = ("layer 2", "layer 1", "layer 3", "layer 5")
NEUTRAL = "#7F7F7F"  # of what no table knows
# what is trained beside a model, by id
LABELS = {
    "linear": "linear transformer",
    "linear-gd++": "linear GD++",
    "cgd": "CGD-like",
    "lfom": "LFOM",
    "shared": "Γ shared",
    "free": "Γ free",
    "one-head": "one head",
    "original": "learned in original coordinates",
    "whitened": "learned in whitened coordinates",
}
FULL, SCALAR = "floor, A ∝ Σ⁻¹", "floor, A = a I"
LOWER = 0.8  # how far a curve may lead the range below the others, as a share of what they span
WIDTH, LETTER, SAMPLE, ROW = 310, 7.6, 46, 20  # pixels of a legend on a narrow screen, of its parts


def written(value: float, places: int = 2) -> str:
    """A log-loss as a title shows it."""
    return figures.number_text(value, places)


def trained_name(run: Run) -> str:
    """The trained model, as a legend names it."""
    return f"trained: {VARIANTS[run.config.variant].name}"


def reference_curves(run: Run, tensor: str) -> list[tuple[str, np.ndarray, str]]:
    """Label, log-loss and colour of each model trained beside, where the run has its `tensor`,
    "beside/{}/loss"."""
    ids = run.names("beside") if "names/beside" in run.tensors else []
    styled = zip(ids, [*BESIDE, *[NEUTRAL] * len(ids)], strict=False)
    found = [(name, tensor.format(name), kind) for name, kind in styled]
    return [
        (LABELS.get(name, name), log_of(run[key]), kind)
        for name, key, kind in found
        if key in run.tensors
    ]


def floor_of(config: Any) -> tuple[str, str]:
    """The tensor's name and the label of the floor that a config's model has, if its covariates
    stay."""
    key, label = ("floor", FULL) if knows_covariance(config) else ("floor_scalar", SCALAR)
    return key, label + " (B = 0)" * VARIANTS[config.variant].moves_covariates


def over_layers(
    series: Sequence[Curve],
    y_title: str,
    y_range: tuple[float, float],
    zero: float,
    height: int = 380,
) -> Figure:
    """Curves of log-losses against the number of layers, and the line of predicting `zero`."""
    x, line = series[0].x, ("predicting zero", zero, "floor")
    x_range = (0.85, x[-1] + 0.15)
    figure = figures.curves(
        series, "layers", y_title, x_range=x_range, y_range=y_range, lines=[line], height=height
    )
    return roomy(figure.update_xaxes(tickvals=x, ticktext=[str(each) for each in x]))


def printed(points: Iterable[tuple[str, Any, str, Any]], at: Sequence[float] = ()) -> list[Trace]:
    """What a paper prints, as rings on the axes: for each curve its name, its values from the first
    x on (or `at`), its kind and, where it is known, how far up and down another sample of the
    authors' size could have moved it [points]."""
    found = []
    for name, values, kind, spread in points:
        ring = {"symbol": "circle-open", "size": 11, "color": colour(kind), "line": {"width": 2}}
        x, shown = (
            at or np.arange(1, len(values) + 1),
            {"legendgroup": "printed", "showlegend": not found},
        )
        bars = (
            {}
            if spread is None
            else {"array": spread, "color": colour(kind), "thickness": 1, "width": 4}
        )
        hover = f"{name}, as printed: %{{y:.2f}}<extra></extra>"
        found.append(
            Trace(
                x=x,
                y=values,
                mode="markers",
                name="as printed",
                marker=ring,
                error_y=bars,
                hovertemplate=hover,
                **shown,
            )
        )
    return found


def tabled(x_name: str, x: Any, series: Iterable[Curve], places: int = 4) -> pd.DataFrame:
    """The means of curves over one x, a column each."""
    return pd.DataFrame({x_name: x} | {curve.name: curve.mean() for curve in series}).round(places)


def window(kept: Sequence[Any], falling: Sequence[Any] = ()) -> tuple[float, float]:
    """A range of logarithms that holds all of `kept`, and of `falling` what does not lie far below
    it."""
    values, deep = (np.concatenate([np.empty(0), *map(np.ravel, each)]) for each in (kept, falling))
    values, deep = values[np.isfinite(values)], deep[np.isfinite(deep)]
    low, high = (values.min(), values.max()) if len(values) else (0.0, 1.0)
    span = (high - low) or 1.0
    low = max(low - LOWER * span, min(low, deep.min())) if len(deep) else low
    return float(low - 0.05 * span), float(high + 0.07 * span)


def roomy(figure: Figure) -> Figure:
    """The figure, taller by the rows that its legend needs on a narrow screen."""
    shown = [
        trace["name"]
        for trace in figure.data
        if trace.get("name") and trace.get("showlegend", True)
    ]
    rows, used = 1, 0.0
    for name in shown:
        width = len(name) * LETTER + SAMPLE
        rows, used = (rows + 1, width) if used and used + width > WIDTH else (rows, used + width)
    height, top = figure.layout["height"], figure.layout["margin"]["t"]
    more = ROW * (rows - 1)
    return figure.update_layout(height=height + more, margin={"t": top + more})
