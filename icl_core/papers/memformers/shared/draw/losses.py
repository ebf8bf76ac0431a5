"""What the figures of losses share: natural logarithms, names, colours, ranges, a legend that has
room, and the small box of a stage that they must fill."""

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
FULL = "floor, A ∝ Σ⁻¹"
SCALAR = "floor, A = a I"
LOWER = 0.8  # how far a curve may lead the range below the others, as a share of what they span
# pixels of a legend on a narrow screen: of itself, a letter, the sample of a line, and a row
WIDTH = 310
LETTER = 7.6
SAMPLE = 46
ROW = 20


def written(value: float, places: int = 2) -> str:
    """Return a log-loss as a title shows it."""
    return figures.number_text(value, places)


def trained_name(run: Run) -> str:
    """Return the name of the trained model in a legend."""
    return f"trained: {VARIANTS[run.config.variant].name}"


def reference_curves(run: Run, tensor: str) -> list[tuple[str, np.ndarray, str]]:
    """Return label, log-loss and colour of each model trained beside, where the run has its
    `tensor`, "beside/{}/loss"."""
    ids = run.names("beside") if "names/beside" in run.tensors else []
    colours = [*BESIDE, *[NEUTRAL] * len(ids)]
    return [
        (LABELS.get(id, id), log_of(run[tensor.format(id)]), kind)
        for id, kind in zip(ids, colours, strict=False)
        if tensor.format(id) in run.tensors
    ]


def floor_of(config: Any) -> tuple[str, str]:
    """Return the tensor's name and the label of the floor that a config's model has, if its
    covariates stay."""
    note = " (B = 0)" * VARIANTS[config.variant].moves_covariates
    if knows_covariance(config):
        return "floor", FULL + note
    return "floor_scalar", SCALAR + note


def over_layers(
    series: Sequence[Curve],
    y_title: str,
    y_range: tuple[float, float],
    zero: float,
    height: int = 380,
) -> Figure:
    """Return a figure of log-losses against the number of layers, with the line of predicting
    `zero`."""
    x = series[0].x
    figure = figures.curves(
        series,
        "layers",
        y_title,
        x_range=(0.85, x[-1] + 0.15),
        y_range=y_range,
        lines=[("predicting zero", zero, "floor")],
        height=height,
    )
    return roomy(figure.update_xaxes(tickvals=x, ticktext=[str(layers) for layers in x]))


def printed(points: Iterable[tuple[str, Any, str, Any]], at: Sequence[float] = ()) -> list[Trace]:
    """Return what a paper prints, as rings: for each curve its name, its values from the first x on
    (or `at`), its kind and, where it is known, how far up and down another sample of the authors'
    size could have moved it [points]."""
    rings: list[Trace] = []
    for name, values, kind, spread in points:
        bars = {}
        if spread is not None:
            bars = {"array": spread, "color": colour(kind), "thickness": 1, "width": 4}
        ring = Trace(
            x=at or np.arange(1, len(values) + 1),
            y=values,
            mode="markers",
            name="as printed",
            marker={
                "symbol": "circle-open",
                "size": 11,
                "color": colour(kind),
                "line": {"width": 2},
            },
            error_y=bars,
            hovertemplate=f"{name}, as printed: %{{y:.2f}}<extra></extra>",
            legendgroup="printed",
            showlegend=not rings,  # once for all
        )
        rings.append(ring)
    return rings


def tabled(x_name: str, x: Any, series: Iterable[Curve], places: int = 4) -> pd.DataFrame:
    """Return the means of curves over one x, a column each."""
    return pd.DataFrame({x_name: x} | {curve.name: curve.mean() for curve in series}).round(places)


def window(kept: Sequence[Any], falling: Sequence[Any] = ()) -> tuple[float, float]:
    """Return a range of logarithms that holds all of `kept`, and of `falling` what does not lie far
    below it. What is not finite does not count."""
    values = _finite(kept)
    deep = _finite(falling)
    low = values.min() if len(values) else 0.0
    high = values.max() if len(values) else 1.0
    span = (high - low) or 1.0
    if len(deep):
        low = max(low - LOWER * span, min(low, deep.min()))
    return float(low - 0.05 * span), float(high + 0.07 * span)


def _finite(arrays: Sequence[Any]) -> np.ndarray:
    """Return all finite numbers of some arrays, in one row."""
    values = np.concatenate([np.empty(0), *map(np.ravel, arrays)])
    return values[np.isfinite(values)]


def roomy(figure: Figure) -> Figure:
    """Return the figure, taller by the rows that its legend needs on a narrow screen."""
    rows = 1
    used = 0.0  # pixels of the last row
    for trace in figure.data:
        if not trace.get("name") or not trace.get("showlegend", True):
            continue
        width = len(trace["name"]) * LETTER + SAMPLE
        if used and used + width > WIDTH:
            rows += 1
            used = 0.0
        used += width
    added = ROW * (rows - 1)
    height = figure.layout["height"] + added
    top = figure.layout["margin"]["t"] + added
    return figure.update_layout(height=height, margin={"t": top})


SEAT = figures.SEAT  # for which the ranges of axes leave room


def fitted(figure: Figure, width: int = figures.THIRD) -> Figure:
    """Return the figure in a seat of the stage; its legend may take `width` pixels."""
    for label in figure.layout.get("annotations", ()):
        label.pop("bgcolor", None)  # it would cover the curves
    return figures.seated(figure, width)
