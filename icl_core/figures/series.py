"""A curve with seeds: its mean, its band, the traces that draw it and the ranges that hold it."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from icl_core.contract.figure import Trace
from icl_core.figures.style import DASHES, INK, PAPER, WIDTHS, colour

EDGE = "#57511a"  # yellow is invisible on white without an edge


@dataclass(frozen=True, eq=False)
class Curve:
    """A line over x [points] and the spread of its seeds around it.

    y is [seeds, points] or [points], NaN where a run has not arrived yet. `kind` names a thing of
    `COLOURS` or is a colour. `band`: one standard deviation, or from the lowest to the highest
    seed; `error` [points], a half width, takes its place.
    """

    name: str
    x: Any
    y: Any
    kind: str = "trained"
    dash: str | None = None
    band: Literal["std", "minmax"] = "std"
    error: Any = None
    markers: bool = False

    def mean(self) -> np.ndarray:
        """`mean_of` its seeds."""
        return mean_of(self.y)

    def spread(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The band's lower and upper edge, [points] each; None for a single seed
        without an error."""
        mean, y = self.mean(), np.atleast_2d(np.asarray(self.y, dtype=float))
        if self.error is not None:
            return mean - np.asarray(self.error), mean + np.asarray(self.error)
        if len(y) < 2:
            return None
        y = np.where(np.isfinite(y), y, np.nan)
        if self.band == "minmax":
            return np.fmin.reduce(y), np.fmax.reduce(y)
        deviation = np.sqrt(np.nansum((y - mean) ** 2, 0) / np.maximum(np.isfinite(y).sum(0), 1))
        return mean - deviation, mean + deviation


def mean_of(seeds: Any) -> np.ndarray:
    """The mean over the seeds that have a finite value, [seeds, points] or [points] to [points];
    NaN where none has."""
    y = np.atleast_2d(np.asarray(seeds, dtype=float))
    known = np.isfinite(y)
    return np.where(
        known.any(0), np.where(known, y, 0).sum(0) / np.maximum(known.sum(0), 1), np.nan
    )


def curve_traces(curve: Curve, log_y: bool = False, **where: Any) -> list[Trace]:
    """The traces of one curve: its band, an edge if it is pale, its line. `where` names
    the axes."""
    x, y = np.asarray(curve.x, dtype=float), curve.mean()
    shared = {"legendgroup": curve.name, **where}
    mode = "lines+markers" if curve.markers or np.isfinite(y).sum() == 1 else "lines"
    width, dash = WIDTHS.get(curve.kind, 2.5), curve.dash or DASHES.get(curve.kind, "solid")
    silent = {"hoverinfo": "skip", "showlegend": False, **shared}
    edge = Trace(x=x, y=y, mode="lines", line={"color": EDGE, "width": width + 1}, **silent)
    line = Trace(x=x, y=y, name=curve.name, mode=mode, marker={"size": 7}, **shared)
    line.update(
        line={"color": colour(curve.kind), "width": width, "dash": dash}, hovertemplate="%{y:.3g}"
    )
    return [*_band(curve, x, log_y, silent), *([edge] if curve.kind == "nesterov" else []), line]


def _band(curve: Curve, x: np.ndarray, log_y: bool, silent: dict[str, Any]) -> list[Trace]:
    """The band as one closed polygon over the points that have one."""
    edges = curve.spread()
    if edges is None:
        return []
    low, high = edges
    low = (
        np.maximum(low, curve.mean() / 10) if log_y else low
    )  # a band that reaches zero has no place on a log axis
    seen = np.isfinite(low) & np.isfinite(high)
    outline = np.concatenate([low[seen], high[seen][::-1]])
    around = np.concatenate([x[seen], x[seen][::-1]])
    polygon = Trace(
        x=around, y=outline, mode="lines", line={"width": 0, "color": colour(curve.kind)}, **silent
    )
    return [polygon.update(fill="toself", fillcolor=colour(curve.kind), opacity=0.2)]


def moving_marker(
    series: Sequence[Curve], at: float, y_range: tuple[float, float], **where: Any
) -> Trace:
    """The moving marker: a thin vertical at x = `at`, with a dot where each curve crosses it.
    y_range in data units."""
    crossings = [np.interp(at, np.asarray(curve.x, dtype=float), curve.mean()) for curve in series]
    y = np.array([y_range[0], *crossings, y_range[1]], dtype=np.float32)
    colours = [INK, *(colour(curve.kind) for curve in series), INK]
    marker = {"opacity": 1, "size": [0, *[11] * len(series), 0], "color": colours}
    trace = Trace(x=np.full(len(y), at, dtype=np.float32), y=y, mode="lines+markers", **where)
    trace.update(
        line={"color": INK, "width": 1.5}, marker={**marker, "line": {"color": INK, "width": 1.5}}
    )
    return trace.update(hoverinfo="skip", showlegend=False, name="step shown", cliponaxis=False)


def extent(arrays: Iterable[np.ndarray], log: bool, pad: float) -> tuple[float, float]:
    """The range, in data units, that holds all finite (on a log axis: positive) values with `pad`
    of it to spare."""
    values = np.concatenate([np.ravel(array) for array in arrays] or [np.empty(0)])
    values = values[np.isfinite(values) & ((values > 0) | (not log))]
    if not len(values):
        return (0.1, 1.0) if log else (0.0, 1.0)
    low, high = (np.log10(values) if log else values)[[values.argmin(), values.argmax()]]
    room = pad * (high - low) or (0.5 if low == high else 0.0)
    low, high = low - room, high + room
    return (float(10**low), float(10**high)) if log else (float(low), float(high))


def value_range(
    series: Sequence[Curve], log_y: bool, more: Sequence[float] = ()
) -> tuple[float, float]:
    """The y range that holds the curves' means and bands, and `more` values."""
    edges = [edge for curve in series for edge in (curve.mean(), *(curve.spread() or ()))]
    if log_y:  # the part of a band that the log axis cannot hold does not count
        edges = [np.where(edge > 0, edge, np.nan) for edge in (curve.mean() for curve in series)]
    return extent([*edges, np.array(more, dtype=float)], log_y, 0.05)


def axis_range(limits: tuple[float, float], log: bool) -> dict[str, Any]:
    """`limits` in data units as an axis' type and range, which on a log axis is in
    powers of ten."""
    if not log:
        return {"type": "linear", "range": list(limits)}
    low, high = (float(np.log10(value)) for value in limits)
    return {"type": "log", "range": [low, high], "exponentformat": "power", **_ticks(low, high)}


def _ticks(low: float, high: float) -> dict[str, Any]:
    """Ticks of a log axis from 10^low to 10^high: powers of ten, or over up to two of them 1, 2, 5,
    10, … written out. Plotly's own would be a single label or a crowd of digits."""
    if high - low > 2 or low < -4 or high > 4:
        return {"dtick": max(1, round((high - low) / 6))} if high - low > 1.2 else {}
    digits = (1, 2, 5) if high - low > 0.7 else (1, 1.5, 2, 3, 4, 5, 6, 8)
    powers = range(math.floor(low), math.ceil(high) + 1)
    values = [float(f"{digit}e{power}") for power in powers for digit in digits]
    inside = [value for value in values if low <= math.log10(value) <= high]
    return (
        {"tickvals": inside, "ticktext": [f"{value:g}" for value in inside]}
        if len(inside) > 1
        else {}
    )


def dots(points: np.ndarray, name: str) -> Trace:
    """Single points [points, 2] that stand out over curves."""
    marker = {"size": 11, "color": INK, "line": {"color": PAPER, "width": 1.5}}
    return Trace(x=points[:, 0], y=points[:, 1], mode="markers", marker=marker, name=name)
