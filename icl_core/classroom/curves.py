"""Curves that a class may draw before it sees them: those of a panel, in the places of its axes."""

from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from icl_core.contract.experiment import STAGE, CannotDraw, Experiment, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.contract.knobs import BadSetting

PLACES = 33  # of a drawn curve, evenly spaced over the axis from its left end to its right one
FULL = 100  # the height of the axis: a drawn curve has whole shares of it
LEAST = 4  # points of a curve that is worth drawing
_TICKS = 5  # at most, about

Tick = tuple[float, str]  # where it stands as a share of the axis, and what it says


@dataclass(frozen=True)
class Curve:
    """A curve of a panel.

    name      what the panel calls it
    x, y      the titles of the axes
    x_ticks, y_ticks  what is written on them
    measured  its height at each of the `PLACES`, as a share of `FULL`; None where it has none
    """

    name: str
    x: str
    y: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    measured: tuple[float | None, ...]

    def distance(self, drawn: Sequence[float]) -> float:
        """Return how far a drawn curve is from the measured one, on average, as a share of
        `FULL`."""
        pairs = zip(drawn, self.measured, strict=True)
        return float(np.mean([abs(mine - real) for mine, real in pairs if real is not None]))


def drawable(
    experiment: Experiment, run: Run, view: Any, hidden: Collection[str], drawer: str
) -> list[tuple[Curve, bool]]:
    """Return curves of a run that are not on screen, each with whether a question hides it.

    They are those of the panels of the stage that are `hidden`, and those that a training has while
    it is going on, in the drawers other than the open `drawer`. Of several of one name each has
    that of its panel, too.
    """
    found: list[tuple[Curve, bool, str]] = []
    for drawing in experiment.drawings:
        is_hidden = drawing.place == STAGE and drawing.name in hidden
        is_closed = drawing.live and drawing.place not in (STAGE, drawer)
        if not drawing.applies(run.config) or not (is_hidden or is_closed):
            continue
        with suppress(CannotDraw, BadSetting):
            figure = drawing.panel(run, view).figure
            curves = curves_of(figure) if figure is not None else []
            found += [(curve, is_hidden, drawing.name.replace("_", " ")) for curve in curves]
    times = Counter((curve.name, curve.x, curve.y) for curve, _, _ in found)
    return [
        (replace(curve, name=f"{curve.name} ({panel})"), is_hidden)
        if times[curve.name, curve.x, curve.y] > 1
        else (curve, is_hidden)
        for curve, is_hidden, panel in found
    ]


def curves_of(figure: Figure) -> list[Curve]:
    """Return the curves of a figure with one pair of axes of numbers: the lines that have names."""
    layout = figure.layout
    if {"xaxis2", "yaxis2"} & layout.keys() or "category" in _types(layout):
        return []
    lines = [trace for trace in figure.data if _is_line(trace)]
    return [curve for line in lines if (curve := _curve(line, lines, layout)) is not None]


def _types(layout: dict[str, Any]) -> set[str | None]:
    return {layout.get(name, {}).get("type") for name in ("xaxis", "yaxis")}


def _is_line(trace: Trace) -> bool:
    is_line = trace.get("type", "scatter") == "scatter" and "lines" in trace.get("mode", "lines")
    numbers = np.asarray(trace.get("x", ()))
    return bool(
        is_line
        and trace.get("name")
        and trace.get("fill") is None
        and np.issubdtype(numbers.dtype, np.number)
        and np.unique(numbers).size >= LEAST  # no mark of a step
        and np.all(np.diff(numbers) >= 0)  # no path in a plane
    )


def _curve(line: Trace, lines: Sequence[Trace], layout: dict[str, Any]) -> Curve | None:
    """Return a line as a curve; None where none of it lies within the axes."""
    axes = {name: layout.get(f"{name}axis", {}) for name in "xy"}
    x, y = (_along(axis, line[name]) for name, axis in axes.items())
    known = np.isfinite(x) & np.isfinite(y)
    if known.sum() < LEAST:
        return None
    ends = [_ends(axis, [_along(axis, one[name]) for one in lines]) for name, axis in axes.items()]
    order = np.argsort(x[known], kind="stable")
    (left, right), (low, high) = ends
    places = np.linspace(left, right, PLACES)
    heights = np.interp(places, x[known][order], y[known][order], left=np.nan, right=np.nan)
    shares = FULL * np.clip((heights - low) / (high - low), 0, 1)
    measured = tuple(None if np.isnan(share) else round(float(share), 1) for share in shares)
    if not any(share is not None for share in measured):
        return None
    return Curve(
        line["name"],
        axes["x"].get("title", {}).get("text", ""),
        axes["y"].get("title", {}).get("text", ""),
        _ticks(axes["x"], left, right),
        _ticks(axes["y"], low, high),
        measured,
    )


def _along(axis: dict[str, Any], numbers: Any) -> np.ndarray:
    """Return numbers as an axis has them: their powers of ten on a logarithmic one."""
    array = np.asarray(numbers, dtype=float)
    if axis.get("type") != "log":
        return array
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log10(array)


def _ends(axis: dict[str, Any], numbers: Sequence[np.ndarray]) -> tuple[float, float]:
    """Return the ends of an axis: its range, else those of all numbers."""
    if (given := axis.get("range")) is not None:
        return float(given[0]), float(given[1])
    together = np.concatenate(numbers)
    finite = together[np.isfinite(together)]
    low, high = float(finite.min()), float(finite.max())
    return low, high if high > low else low + 1


def _ticks(axis: dict[str, Any], low: float, high: float) -> tuple[Tick, ...]:
    """Return what is written on an axis, or round numbers between its ends."""
    if "tickvals" in axis:
        numbers = _along(axis, axis["tickvals"])
        texts = axis.get("ticktext", axis["tickvals"])
    else:
        bottom, top = sorted((low, high))
        step = 10 ** np.floor(np.log10((top - bottom) / 2))
        wide = next(step * n for n in (1, 2, 5, 10, 20) if (top - bottom) / (step * n) <= _TICKS)
        numbers = np.arange(np.ceil(bottom / wide), np.floor(top / wide) + 1) * wide + 0.0
        texts = [f"{10**number if axis.get('type') == 'log' else number:.4g}" for number in numbers]
    places = (numbers - low) / (high - low)
    return tuple(
        (float(place), str(text))
        for place, text in zip(places, texts, strict=True)
        if 0 <= place <= 1
    )
