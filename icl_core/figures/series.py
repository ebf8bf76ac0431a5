"""Curves of several seeds: their means, bands, traces and axis ranges."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from icl_core.contract.figure import Trace
from icl_core.contract.number_text import power_of_ten
from icl_core.figures.style import DASHES, INK, PAPER, WIDTHS, colour

MOST_POWERS = 5  # powers of ten on a log axis
PLAIN = (-3, 5)  # the exponents that are written as numbers: 0.001 to 100,000
EDGE = "#57511a"  # of yellow lines, which are hard to see on white


@dataclass(frozen=True, eq=False)
class Curve:
    """A line over x with the spread of its seeds.

    name     its name in the legend
    x        [points]
    y        [seeds, points] or [points]; NaN where there is no value, or none yet
    kind     a name in `COLOURS`, or a colour
    dash     plotly's name of the line style; by default that of the kind
    band     "std" for one standard deviation, "minmax" for the range of the seeds
    error    [points], half the width of a band that replaces the seeds'
    markers  draw the points too
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
        """Return the mean over its seeds (see `mean_of`), [points]."""
        return mean_of(self.y)

    def spread(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the lower and the upper edge of the band, [points] each; None for a single seed
        without `error`."""
        mean = self.mean()
        y = np.atleast_2d(np.asarray(self.y, dtype=float))  # [seeds, points]
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
    """Return the mean [points] over the finite values of `seeds`, [seeds, points] or [points]; NaN
    where there is none."""
    y = np.atleast_2d(np.asarray(seeds, dtype=float))  # [seeds, points]
    finite = np.isfinite(y)
    mean = np.where(finite, y, 0).sum(0) / np.maximum(finite.sum(0), 1)
    return np.where(finite.any(0), mean, np.nan)


def curve_traces(curve: Curve, log_y: bool = False, **where: Any) -> list[Trace]:
    """Return the traces of a curve: its band, an edge if its colour is pale, and its line. `where`
    names the axes."""
    x = np.asarray(curve.x, dtype=float)
    y = curve.mean()
    shared = {"legendgroup": curve.name, **where}
    mode = "lines+markers" if curve.markers or np.isfinite(y).sum() == 1 else "lines"
    width = WIDTHS.get(curve.kind, 2.5)
    dash = curve.dash or DASHES.get(curve.kind, "solid")
    silent = {"hoverinfo": "skip", "showlegend": False, **shared}
    edge = Trace(x=x, y=y, mode="lines", line={"color": EDGE, "width": width + 1}, **silent)
    line = Trace(x=x, y=y, name=curve.name, mode=mode, marker={"size": 7}, **shared)
    line.update(
        line={"color": colour(curve.kind), "width": width, "dash": dash}, hovertemplate="%{y:.3g}"
    )
    lines = [edge, line] if curve.kind == "nesterov" else [line]
    return [*_band(curve, x, log_y, silent), *lines]


def legend_line(name: str, kind: str, dash: str = "solid") -> Trace:
    """Return a trace that draws nothing and has an entry in the legend."""
    line = {"color": colour(kind), "width": WIDTHS.get(kind, 2.5), "dash": dash}
    return Trace(x=[None], y=[None], mode="lines", name=name, line=line, hoverinfo="skip")


def _band(curve: Curve, x: np.ndarray, log_y: bool, silent: dict[str, Any]) -> list[Trace]:
    """Return the band as one closed polygon over the points where it is finite."""
    edges = curve.spread()
    if edges is None:
        return []
    low, high = edges
    if log_y:  # where a log axis has no place for a band down to zero
        low = np.maximum(low, curve.mean() / 10)
    finite = np.isfinite(low) & np.isfinite(high)
    outline_x = np.concatenate([x[finite], x[finite][::-1]])
    outline_y = np.concatenate([low[finite], high[finite][::-1]])
    line = {"width": 0, "color": colour(curve.kind)}
    polygon = Trace(x=outline_x, y=outline_y, mode="lines", line=line, **silent)
    return [polygon.update(fill="toself", fillcolor=colour(curve.kind), opacity=0.2)]


def moving_marker(
    series: Sequence[Curve], at: float, y_range: tuple[float, float], **where: Any
) -> Trace:
    """Return the moving marker: a thin vertical line at x = `at` over `y_range`, in data units,
    with a dot where each curve crosses it."""
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
    """Return the range, in data units, of all finite values, on a log axis of all positive ones,
    widened on both sides by the share `pad` of its length."""
    values = np.concatenate([np.ravel(array) for array in arrays] or [np.empty(0)])
    values = values[np.isfinite(values) & ((values > 0) | (not log))]
    if not len(values):
        return (0.1, 1.0) if log else (0.0, 1.0)
    low, high = (np.log10(values) if log else values)[[values.argmin(), values.argmax()]]
    room = pad * (high - low) or (0.5 if low == high else 0.0)
    low -= room
    high += room
    return (float(10**low), float(10**high)) if log else (float(low), float(high))


def value_range(
    series: Sequence[Curve], log_y: bool, more: Sequence[float] = ()
) -> tuple[float, float]:
    """Return the y range of the curves' means and bands, on a log axis of their means only, and of
    the values `more`."""
    edges: list[np.ndarray] = []
    for curve in series:
        mean = curve.mean()
        if log_y:
            edges.append(np.where(mean > 0, mean, np.nan))
        else:
            edges += [mean, *(curve.spread() or ())]
    return extent([*edges, np.array(more, dtype=float)], log_y, 0.05)


def axis_range(limits: tuple[float, float], log: bool) -> dict[str, Any]:
    """Return the type and the range of an axis from `limits` in data units; on a log axis the range
    is in powers of ten."""
    if not log:
        return {"type": "linear", "range": list(limits)}
    low, high = (float(np.log10(value)) for value in limits)
    return {"type": "log", "range": [low, high], "exponentformat": "power", **_ticks(low, high)}


def _ticks(low: float, high: float) -> dict[str, Any]:
    """Return the ticks of a log axis from 10^low to 10^high, written out, since plotly's own powers
    of ten are larger than all other ticks.

    They are powers of ten or, over a range of up to two of them, 1, 2, 5, 10, … Empty if fewer than
    two are inside.
    """
    if high - low > 2 or low < -4 or high > 4:
        step = max(1, math.ceil((high - low) / MOST_POWERS))
        powers = range(step * math.ceil(low / step), math.floor(high) + 1, step)
        if len(powers) < 2:
            return {}
        plain = PLAIN[0] <= powers[0] and powers[-1] <= PLAIN[1]
        texts = [f"{10.0**power:,g}" if plain else _power(power) for power in powers]
        return {"tickvals": [10.0**power for power in powers], "ticktext": texts}
    digits = (1, 2, 5) if high - low > 0.7 else (1, 1.5, 2, 3, 4, 5, 6, 8)
    powers = range(math.floor(low), math.ceil(high) + 1)
    values = [float(f"{digit}e{power}") for power in powers for digit in digits]
    inside = [value for value in values if low <= math.log10(value) <= high]
    if len(inside) < 2:
        return {}
    return {"tickvals": inside, "ticktext": [f"{value:g}" for value in inside]}


def _power(exponent: int) -> str:
    """Return a power of ten as a tick: 1, 10, 10², …"""
    return str(10**exponent) if exponent in (0, 1) else power_of_ten(exponent)


def dots(points: np.ndarray, name: str) -> Trace:
    """Return single points [points, 2] that stand out over curves."""
    marker = {"size": 11, "color": INK, "line": {"color": PAPER, "width": 1.5}}
    return Trace(x=points[:, 0], y=points[:, 1], mode="markers", marker=marker, name=name)
