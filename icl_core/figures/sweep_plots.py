"""One number of many runs, as a curve over one setting or a map over two."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from icl_core.contract.figure import Figure, Trace
from icl_core.contract.number_text import UNIT, power_of_ten, significant, unit_of
from icl_core.figures.axis_scale import Scale
from icl_core.figures.line_plots import curves
from icl_core.figures.series import Curve
from icl_core.figures.style import (
    FAINT,
    INK,
    LINE,
    NEGATIVE_TO_POSITIVE,
    NONE_TO_ALL,
    PAPER,
    TICKS,
    colourscale,
    layout,
)

WRITTEN = 9  # the longest row or column whose numbers are written
# The share of the range above which a cell is so dark that its number has the background's colour.
STRONG = 0.55
LETTER = 7.2 / 280  # the width of a digit as a share of the width of a narrow map
LINE_OF = 40  # letters in a line of the colour bar's title, on a narrow map
# The corners of an outline in its cell, as shares of the cell's width and height.
_RIGHT = (0.02, 0.98, 0.98, 0.02, 0.02)
_UP = (0.03, 0.03, 0.97, 0.97, 0.03)
HIT = 26  # pixels of the square around a run's place that can be clicked


@dataclass(frozen=True, eq=False)
class GridCell:
    """A run of a sweep, finished or not.

    at      its values on the scales, one or two
    value   its number; NaN if there is none, or none yet
    error   the standard error of the number; NaN if there is none
    failed  it ended without a number
    hover   the text at the pointer
    key     what a click returns
    marked  it has a mark: a ring on a curve, an outline on a map
    """

    at: tuple[Any, ...]
    value: float
    error: float
    failed: bool
    hover: str
    key: Any
    marked: bool = False


@dataclass(frozen=True, eq=False)
class Expected:
    """What theory predicts.

    label   its name
    values  [points] at the values `x` of one scale, or [rows, columns] at `y` and `x` of two
    """

    label: str
    values: np.ndarray
    x: Sequence[Any]
    y: Sequence[Any] = ()


def swept_curve(
    scale: Scale,
    spots: Sequence[GridCell],
    name: str,
    expected: Sequence[Expected] = (),
    here: Any = None,
) -> Figure:
    """Return the numbers of the runs `spots` over one scale, with a band of their errors.

    name      what the number is
    expected  predictions of theory, as dotted lines
    here      the value of the setting on screen
    """
    x = scale.places
    values = np.array([spot.value for spot in spots])
    error = np.nan_to_num(np.array([spot.error for spot in spots]))
    series = [Curve(name, x, values, error=error if error.any() else None, markers=True)]
    for prediction in expected:
        places = [scale.place(value) for value in prediction.x]
        series.append(Curve(prediction.label, places, prediction.values, "floor"))
    marks = [] if here is None else [(scale.place(here), "on screen", "trained")]
    log_y = _by_factors(values)
    edges = float(scale.edges[0]), float(scale.edges[-1])
    figure = curves(series, scale.title, name, x_range=edges, log_y=log_y, marks=marks)
    if not scale.numeric:  # no line between two names
        for trace in figure.data:
            trace.update(mode="markers" if "markers" in trace["mode"] else "none", fill="none")
    low, high = figure.layout["yaxis"]["range"]
    bottom = low + 0.04 * (high - low)  # the place of runs without a number
    level = np.array([10**bottom if log_y else bottom] * len(spots))
    y = np.where(np.isfinite(values), values, level)
    figure.add_traces(_rings(spots, x, y))
    figure.add_traces([_crosses(spots, x, level), _click_targets(spots, x, y)])
    return figure.update_layout(xaxis=scale.axis(), hovermode="closest")


def swept_map(
    x: Scale, y: Scale, spots: Sequence[GridCell], name: str, expected: Sequence[Expected] = (),
    here: tuple[Any, Any] | None = None,
) -> Figure:  # fmt: skip
    """Return the numbers of the runs `spots`, given row by row, over two scales.

    A cell without a number is blank, that of a failed run has a cross.

    name      what the number is
    expected  predictions of theory, as contour lines
    here      the values of the setting on screen
    """
    at = np.array([(x.place(spot.at[0]), y.place(spot.at[1])) for spot in spots])  # [cells, 2]
    values = np.array([spot.value for spot in spots])  # [cells]
    by_factors = _by_factors(values)
    unit = unit_of(values)
    shade = np.log10(values) if by_factors else values
    limits, scale = _colour_axis(shade, by_factors, name, unit)
    z = shade.reshape(len(y.values), len(x.values)).astype(np.float32)
    above = 52 + 18 * (1 + scale["colorbar"]["title"]["text"].count("<br>"))
    margin = {"t": above, "b": 56, "l": 66}
    figure = Figure(layout=layout(390 + above, margin, showlegend=False, coloraxis=scale))
    cells = {
        "x": x.edges,
        "y": y.edges,
        "z": z,
        "xgap": 2,
        "ygap": 2,
        "hoverongaps": False,
        "hoverinfo": "skip",
    }
    figure.add_trace(Trace("heatmap", coloraxis="coloraxis", **cells))
    figure.add_traces([_contours(prediction, x, y) for prediction in expected])
    if max(z.shape) <= WRITTEN:
        widths = np.diff(x.edges) / (x.edges[-1] - x.edges[0])  # [columns], shares of the map's
        widths = np.tile(widths, len(y.values))  # [cells]
        figure.add_traces(_numbers(at, values / 10.0**unit, shade, limits, widths))
    figure.add_traces(_outlines(spots, x, y))
    figure.add_traces([_crosses(spots, *at.T), _click_targets(spots, *at.T)])
    if here is not None:
        figure.add_shape(**_outlined(x, here[0], "x"), **_outlined(y, here[1], "y"), **_FRAME)
    return figure.update_layout(xaxis=x.axis(), yaxis=y.axis())


_FRAME = {"type": "rect", "line": {"color": "#E69F00", "width": 4}}


def _by_factors(values: np.ndarray) -> bool:
    """Return whether values differ so much that only their logarithms show all of them."""
    finite = values[np.isfinite(values)]
    return bool(len(finite) > 1 and finite.min() > 0 and finite.max() > 100 * finite.min())


def _colour_axis(
    shade: np.ndarray, by_factors: bool, name: str, unit: int
) -> tuple[tuple[float, float], dict[str, Any]]:
    """Return the range of the shades [cells] and their colour axis.

    The range is symmetric if there are values on both sides of zero. With `by_factors` the shades
    are logarithms. The colour bar's numbers are in units of 10^unit.
    """
    finite = shade[np.isfinite(shade)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    both = low < 0 < high and not by_factors
    if both:
        high = max(-low, high)
        low = -high
    ticks = sorted({low, (low + high) / 2, high}) if len(finite) else []
    if low == high:  # equal numbers have the middle colour
        low -= 0.5
        high += 0.5
    texts = [significant((10**tick if by_factors else tick) / 10.0**unit) for tick in ticks]
    if unit:
        name += UNIT.format(power_of_ten(unit))
    if by_factors:
        name += " (log scale)"
    title = {"text": "<br>".join(textwrap.wrap(name, LINE_OF)), "side": "top", "font": {"size": 14}}
    bar = {
        "orientation": "h",
        "x": 0.5,
        "len": 0.6,
        "y": 1.0,
        "yanchor": "bottom",
        "xpad": 0,
        "ypad": 4,
    }
    look = {
        "thickness": 12,
        "outlinewidth": 0,
        "tickvals": ticks,
        "ticktext": texts,
        "tickfont": {"size": TICKS},
    }
    # without the palest colour, the background's, which cells without a run have
    colours = colourscale(NEGATIVE_TO_POSITIVE if both else NONE_TO_ALL[1:])
    axis = {
        "colorscale": colours,
        "cmin": low,
        "cmax": high,
        "colorbar": {**bar, **look, "title": title},
    }
    return (low, high), axis


def _numbers(
    at: np.ndarray,
    values: np.ndarray,
    shade: np.ndarray,
    limits: tuple[float, float],
    widths: np.ndarray,
) -> list[Trace]:
    """Return the numbers [cells] as two traces, on pale and on strong colours.

    at      the places of the cells, [cells, 2]
    shade   what their colours show, [cells], within `limits`
    widths  the widths of the cells as shares of the map's, [cells]
    """
    low, high = limits
    strength = np.abs(shade) / high if low == -high else (shade - low) / (high - low)
    strong = strength > STRONG
    texts = np.array([_fitting(value, width) for value, width in zip(values, widths, strict=True)])
    written = texts != ""
    pale_cells = written & ~strong
    strong_cells = written & strong
    return [
        _text_trace(at[pale_cells], texts[pale_cells], "numbers", LINE),
        _text_trace(at[strong_cells], texts[strong_cells], "numbers on strong", PAPER),
    ]


def _fitting(value: float, width: float) -> str:
    """Return a number with three digits, or with two if three do not fit into `width`, a share of
    the map's; empty if neither fits."""
    if not np.isfinite(value):
        return ""
    for digits in (3, 2):
        text = significant(value, digits)
        if len(text) * LETTER < width:
            return text
    return ""


def _text_trace(at: np.ndarray, texts: np.ndarray, name: str, colour: str) -> Trace:
    """Return texts [n] at places [n, 2] as a trace."""
    same = {"textfont": {"color": colour}}  # without it a click would make them pale
    look = {
        "selected": same,
        "unselected": same,
        "mode": "text",
        "textfont": {"color": colour, "size": 13},
        "hoverinfo": "skip",
    }
    return Trace(x=at[:, 0], y=at[:, 1], text=texts, name=name, **look)


def _contours(prediction: Expected, x: Scale, y: Scale) -> Trace:
    """Return dotted contour lines of a prediction."""
    lines = {"coloring": "lines", "showlabels": True, "labelfont": {"size": TICKS, "color": LINE}}
    look = {
        "colorscale": [[0, LINE], [1, LINE]],
        "showscale": False,
        "line": {"width": 2, "dash": "dot"},
    }
    return Trace(
        "contour",
        z=prediction.values.astype(np.float32),
        x=[x.place(value) for value in prediction.x],
        y=[y.place(value) for value in prediction.y],
        contours=lines,
        ncontours=6,
        hoverinfo="skip",
        name=prediction.label,
        **look,
    )


def _crosses(spots: Sequence[GridCell], x: np.ndarray, y: np.ndarray) -> Trace:
    """Return a cross for each run that failed, at the places x and y of the runs."""
    failed = np.array([spot.failed for spot in spots], dtype=bool)
    marker = {"symbol": "x-thin", "size": 13, "line": {"color": INK, "width": 3}}
    same = {"marker": {"opacity": 1}}
    look = {
        "selected": same,
        "unselected": same,
        "mode": "markers",
        "marker": marker,
        "hoverinfo": "skip",
    }
    return Trace(x=x[failed], y=y[failed], name="failed", **look).update(
        showlegend=False, cliponaxis=False
    )


def _outlines(spots: Sequence[GridCell], x: Scale, y: Scale) -> list[Trace]:
    """Return the outlines of the marked cells of a map, a little within them; nothing if none
    is."""
    across: list[float | None] = []
    up: list[float | None] = []
    for spot in spots:
        if spot.marked:
            across += [*_within(x, spot.at[0], _RIGHT), None]  # a gap before the next one
            up += [*_within(y, spot.at[1], _UP), None]
    look = {"mode": "lines", "line": {"color": INK, "width": 2.5}, "hoverinfo": "skip"}
    outlines = Trace(x=across, y=up, name="marked", showlegend=False, **look)
    return [outlines] if across else []


def _within(scale: Scale, value: Any, shares: Sequence[float]) -> list[float]:
    """Return the places at these shares of the way through a value's cell."""
    edges = _outlined(scale, value, "x")
    return [edges["x0"] + share * (edges["x1"] - edges["x0"]) for share in shares]


def _rings(spots: Sequence[GridCell], x: np.ndarray, y: np.ndarray) -> list[Trace]:
    """Return a ring around each marked run of a curve, at the places x and y; nothing if none
    is."""
    marked = np.array([spot.marked for spot in spots], dtype=bool)
    marker = {"symbol": "circle-open", "size": 20, "color": INK, "line": {"width": 2.5}}
    same = {"marker": {"opacity": 1}}
    look = {"selected": same, "unselected": same, "mode": "markers", "hoverinfo": "skip"}
    rings = Trace(x=x[marked], y=y[marked], name="marked", marker=marker, **look)
    return [rings.update(showlegend=False, cliponaxis=False)] if marked.any() else []


def _click_targets(spots: Sequence[GridCell], x: np.ndarray, y: np.ndarray) -> Trace:
    """Return an invisible mark at each run's place, with its text at the pointer and the key that a
    click returns."""
    invisible = {"marker": {"opacity": 0}}
    return Trace(
        x=x,
        y=y,
        mode="markers",
        marker={"size": HIT, "opacity": 0, "color": FAINT, "symbol": "square"},
        selected=invisible,
        unselected=invisible,
        text=[spot.hover for spot in spots],
        hovertemplate="%{text}<extra></extra>",
        customdata=[spot.key for spot in spots],
        name="runs",
        showlegend=False,
    )


def _outlined(scale: Scale, value: Any, side: str) -> dict[str, float]:
    """Return the edges of a value's cell on the axis `side`, "x" or "y"; for a value that is not on
    the scale, those of a narrow strip around it."""
    if value in scale.values:
        index = list(scale.values).index(value)
        low, high = scale.edges[index : index + 2]
    else:
        reach = (scale.edges[-1] - scale.edges[0]) / 40
        low = scale.place(value) - reach
        high = scale.place(value) + reach
    return {f"{side}0": float(low), f"{side}1": float(high)}
