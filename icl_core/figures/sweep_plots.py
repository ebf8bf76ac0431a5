"""One number of many runs: as a curve over one setting, as a map over two."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from icl_core.contract.figure import Figure, Trace
from icl_core.figures.axis_scale import Scale
from icl_core.figures.line_plots import curves
from icl_core.figures.number_text import power_of_ten, significant, unit_of
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
# the share of the range from which a cell is so dark that its number takes the background's colour
STRONG = 0.55
LETTER = 7.2 / 280  # of a number, as a share of the width of a narrow map
_UNIT = ", in units of {}".replace(
    " of ", "\N{NO-BREAK SPACE}of\N{NO-BREAK SPACE}"
)  # is not torn apart
LINE_OF = 40  # letters of the colour bar's title, on a narrow map
HIT = 26  # pixels around a run's place that can be clicked on


@dataclass(frozen=True, eq=False)
class GridCell:
    """A run that is, or is to be, at a value of one scale or two. `value` NaN: there is none;
    `failed`: there will be none. `told` is what the pointer shows, `key` what a click gives."""

    at: tuple[Any, ...]
    value: float
    error: float
    failed: bool
    told: str
    key: Any


@dataclass(frozen=True, eq=False)
class Expected:
    """What theory gives: along one scale `values` [points] at `x`, over two [rows, columns] at `x`
    and `y`."""

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
    """Values with a band of their errors over one scale; theory dotted; `here` is the setting on
    screen."""
    x, values = scale.places, np.array([spot.value for spot in spots])
    error = np.nan_to_num(np.array([spot.error for spot in spots]))
    series = [Curve(name, x, values, error=error if error.any() else None, markers=True)]
    series += [
        Curve(each.label, [scale.place(value) for value in each.x], each.values, "floor")
        for each in expected
    ]
    marks = [] if here is None else [(scale.place(here), "on screen", "trained")]
    log_y = _by_factors(values)
    edges = float(scale.edges[0]), float(scale.edges[-1])
    figure = curves(series, scale.title, name, x_range=edges, log_y=log_y, marks=marks)
    if not scale.numeric:  # nothing lies between two names
        for trace in figure.data:
            trace.update(mode="markers" if "markers" in trace["mode"] else "none", fill="none")
    low, high = figure.layout["yaxis"]["range"]
    foot = low + 0.04 * (high - low)
    level = [10**foot if log_y else foot] * len(spots)
    shown = np.where(np.isfinite(values), values, level)
    figure.add_traces([_crosses(spots, x, np.array(level)), _hits(spots, x, shown)])
    return figure.update_layout(xaxis=scale.axis(), hovermode="closest")


def swept_map(
    x: Scale, y: Scale, spots: Sequence[GridCell], name: str, expected: Sequence[Expected] = (),
    here: tuple[Any, Any] | None = None,
) -> Figure:  # fmt: skip
    """Values over two scales, `spots` row by row; what is missing is blank, what failed crossed;
    contours of theory."""
    at = np.array([(x.place(spot.at[0]), y.place(spot.at[1])) for spot in spots])
    values = np.array([spot.value for spot in spots])
    by_factors = _by_factors(values)
    unit = unit_of(values)
    shade, limits, scale = _coloured(
        np.log10(values) if by_factors else values, by_factors, name, unit
    )
    z = shade.reshape(len(y.values), len(x.values)).astype(np.float32)
    above = 52 + 18 * (1 + scale["colorbar"]["title"]["text"].count("<br>"))
    figure = Figure(
        layout=layout(
            390 + above, {"t": above, "b": 56, "l": 66}, showlegend=False, coloraxis=scale
        )
    )
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
    figure.add_traces([_contours(each, x, y) for each in expected])
    if max(z.shape) <= WRITTEN:
        room = np.diff(x.edges) / (x.edges[-1] - x.edges[0])
        figure.add_traces(
            _numbers(at, values / 10.0**unit, shade, limits, np.tile(room, len(y.values)))
        )
    figure.add_traces([_crosses(spots, *at.T), _hits(spots, *at.T)])
    if here is not None:
        figure.add_shape(**_outlined(x, here[0], "x"), **_outlined(y, here[1], "y"), **_FRAME)
    return figure.update_layout(xaxis=x.axis(), yaxis=y.axis())


_FRAME = {"type": "rect", "line": {"color": "#E69F00", "width": 4}}


def _by_factors(values: np.ndarray) -> bool:
    """Whether values spread so far that only their logarithms show them all."""
    seen = values[np.isfinite(values)]
    return bool(len(seen) > 1 and seen.min() > 0 and seen.max() > 100 * seen.min())


def _coloured(
    shade: np.ndarray, by_factors: bool, name: str, unit: int
) -> tuple[np.ndarray, tuple[float, float], dict[str, Any]]:
    """The shades, their range and the colour axis, in that power of ten: around zero if there are
    values on both sides of it."""
    seen = shade[np.isfinite(shade)]
    low, high = (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 1.0)
    both = low < 0 < high and not by_factors
    low, high = (-max(-low, high), max(-low, high)) if both else (low, high)
    ticks = sorted({low, (low + high) / 2, high}) if len(seen) else []
    low, high = (
        (low - 0.5, high + 0.5) if low == high else (low, high)
    )  # of equal numbers, the middle colour
    told = [significant((10**tick if by_factors else tick) / 10.0**unit) for tick in ticks]
    name += _UNIT.format(power_of_ten(unit)) * bool(unit) + " (log scale)" * by_factors
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
        "ticktext": told,
        "tickfont": {"size": TICKS},
    }
    # the palest of all is the background's colour, which is that of cells without a run
    colours = colourscale(NEGATIVE_TO_POSITIVE if both else NONE_TO_ALL[1:])
    axis = {
        "colorscale": colours,
        "cmin": low,
        "cmax": high,
        "colorbar": {**bar, **look, "title": title},
    }
    return shade, (low, high), axis


def _numbers(
    at: np.ndarray,
    values: np.ndarray,
    shade: np.ndarray,
    limits: tuple[float, float],
    room: np.ndarray,
) -> list[Trace]:
    """The numbers of the cells that have one, on pale colours and on strong ones; `room` is each
    cell's share of the width."""
    low, high = limits
    away = np.abs(shade) / high if low == -high else (shade - low) / (high - low)
    texts = np.array([_fitting(value, free) for value, free in zip(values, room, strict=True)])
    seen = texts != ""
    kinds = (
        ("numbers", LINE, seen & ~(away > STRONG)),
        ("numbers on strong", PAPER, seen & (away > STRONG)),
    )
    return [_written(at[some], texts[some], name, colour) for name, colour, some in kinds]


def _fitting(value: float, free: float) -> str:
    """A number with three digits or two, whichever fits into that share of the width; empty where
    neither does."""
    texts = [significant(value, digits) for digits in (3, 2)] if np.isfinite(value) else []
    return next((text for text in texts if len(text) * LETTER < free), "")


def _written(at: np.ndarray, texts: np.ndarray, name: str, colour: str) -> Trace:
    """Texts [n] at places [n, 2]."""
    same = {"textfont": {"color": colour}}  # else a click fades them
    look = {
        "selected": same,
        "unselected": same,
        "mode": "text",
        "textfont": {"color": colour, "size": 13},
        "hoverinfo": "skip",
    }
    return Trace(x=at[:, 0], y=at[:, 1], text=texts, name=name, **look)


def _contours(each: Expected, x: Scale, y: Scale) -> Trace:
    """Dotted lines along which theory gives the same."""
    lines = {"coloring": "lines", "showlabels": True, "labelfont": {"size": TICKS, "color": LINE}}
    look = {
        "colorscale": [[0, LINE], [1, LINE]],
        "showscale": False,
        "line": {"width": 2, "dash": "dot"},
    }
    where = {"x": [x.place(value) for value in each.x], "y": [y.place(value) for value in each.y]}
    drawn = {"contours": lines, "ncontours": 6, "hoverinfo": "skip", "name": each.label}
    return Trace("contour", z=each.values.astype(np.float32), **where, **look, **drawn)


def _crosses(spots: Sequence[GridCell], x: np.ndarray, y: np.ndarray) -> Trace:
    """A cross for each run that failed."""
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


def _hits(spots: Sequence[GridCell], x: np.ndarray, y: np.ndarray) -> Trace:
    """What the pointer finds at each run's place: unseen, with what is told of it and the key that
    a click gives."""
    unseen = {"size": HIT, "opacity": 0, "color": FAINT, "symbol": "square"}
    told = {"text": [spot.told for spot in spots], "hovertemplate": "%{text}<extra></extra>"}
    stays = {name: {"marker": {"opacity": 0}} for name in ("selected", "unselected")}
    keys = {"customdata": [spot.key for spot in spots], "name": "runs", "showlegend": False}
    return Trace(x=x, y=y, mode="markers", marker=unseen, **told, **stays, **keys)


def _outlined(scale: Scale, value: Any, side: str) -> dict[str, float]:
    """The ends of the cell of a value, or of the middle half of none that is swept."""
    if value in scale.values:
        index = list(scale.values).index(value)
        low, high = scale.edges[index : index + 2]
    else:
        reach = (scale.edges[-1] - scale.edges[0]) / 40
        low, high = scale.place(value) - reach, scale.place(value) + reach
    return {f"{side}0": float(low), f"{side}1": float(high)}
