"""Curves over training steps or sizes with reference lines, marks and a moving marker; spectra;
bars."""

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any, Literal

import numpy as np

from icl_core.contract.figure import Figure, Trace
from icl_core.figures.series import (
    Curve,
    axis_range,
    curve_traces,
    extent,
    moving_marker,
    value_range,
)
from icl_core.figures.style import DASHES, INK, PAPER, TICKS, axis, colour, layout, legend, note

Line = tuple[str, float, str]  # label, value, kind
Range = tuple[float, float]  # in data units
Mark = tuple[float, str, str]  # x, label, kind or colour
Marked = dict[str, list[dict[str, Any]]]  # what a layout takes as its shapes and annotations
LEVEL = 19  # pixels between two staggered labels
FLOOR = 0.25  # the share of the height below which a line is a floor
LETTER = 7.5 / 310  # a letter's width as a share of the plot on a narrow screen


def curves(
    series: Sequence[Curve],
    x_title: str,
    y_title: str,
    *,
    log_x: bool = False,
    log_y: bool = False,
    x_range: Range | None = None,
    y_range: Range | None = None,
    lines: Sequence[Line] = (),
    marks: Sequence[Mark] = (),
    at: float | None = None,
    height: int = 380,
) -> Figure:
    """Mean lines with bands over seeds. `lines` are horizontal references. `marks` are dotted
    verticals with their labels above the plot. `at` is the current step: a thin vertical with a dot
    on every curve."""
    plot = height - 94
    xs = x_range or extent([np.asarray(curve.x, dtype=float) for curve in series], log_x, 0.0)
    ys = make_room_for_labels(
        y_range or value_range(series, log_y, [value for _, value, _ in lines]), lines, log_y, plot
    )
    top, named = _named(marks, xs, log_x, plot)
    figure = Figure(layout=layout(height + top, {"t": top + 38, "b": 56}, hovermode="x unified"))
    figure.add_traces([trace for curve in series for trace in curve_traces(curve, log_y)])
    if at is not None:
        figure.add_trace(moving_marker(series, at, ys))
    across = references(lines, log_y, ys)
    return figure.update_layout(
        xaxis=axis(x_title + " (log scale)" * log_x, showgrid=False, **axis_range(xs, log_x)),
        yaxis=axis(y_title + " (log scale)" * log_y, **axis_range(ys, log_y)),
        shapes=across["shapes"] + named["shapes"],
        annotations=across["annotations"] + named["annotations"],
        legend=legend(1 + (top + 4) / plot),
        showlegend=len(series) > 1,
    )


def make_room_for_labels(limits: Range, lines: Sequence[Line], log: bool, pixels: int) -> Range:
    """`limits` of an axis `pixels` long, so wide that the labels of the lines inside stand inside
    too."""
    low, high = np.log10(limits) if log else limits
    room = LEVEL * (high - low) / pixels
    for value in (value for _, value, _ in lines if limits[0] <= value <= limits[1]):
        y, under = float(np.log10(value)) if log else value, _under(value, limits, log)
        low, high = (min(low, y - room), high) if under else (low, max(high, y + room))
    return (float(10**low), float(10**high)) if log else (float(low), float(high))


def _under(value: float, limits: Range, log: bool) -> bool:
    """Whether a line is a floor: the curves are above it, so that its label is free to
    stand below."""
    return _share(value, limits, log) < FLOOR


def references(lines: Sequence[Line], log: bool = False, limits: Range | None = None) -> Marked:
    """Horizontal lines across the plot with their labels on them, one after the other from the
    left, where a curve that rises to a ceiling or falls to a floor is still far away; under a line
    at the foot of `limits`."""
    shapes, texts, x = [], [], 0.01
    for label, value, kind in lines:
        dash = {"color": colour(kind), "width": 2, "dash": DASHES.get(kind, "dot")}
        shapes.append(
            {
                "type": "line",
                "xref": "paper",
                "x0": 0,
                "x1": 1,
                "y0": value,
                "y1": value,
                "line": dash,
            }
        )
        where = {
            "x": x,
            "xref": "paper",
            "xanchor": "left",
            "y": float(np.log10(value)) if log else value,
        }
        under = limits is not None and _under(value, limits, log)
        side = {"yshift": -2, "yanchor": "top"} if under else {"yshift": 3, "yanchor": "bottom"}
        box = {"bgcolor": PAPER, "opacity": 0.85, "borderpad": 0, **side}
        texts.append(
            {
                "text": label,
                "showarrow": False,
                "font": {"size": TICKS, "color": INK},
                **where,
                **box,
            }
        )
        x = x + (len(label) + 2) * LETTER if x < 0.5 else 0.01
    return {"shapes": shapes, "annotations": texts}


def stagger(shares: Sequence[float], widths: Sequence[float]) -> list[int]:
    """A level for each label (0 the lowest) so that no two on a level touch, and no mark's line
    crosses a label.

    A label stands to the right of its mark, whose share of the width is 0 to 1, or in the right
    half to the left.
    """
    ends: list[list[tuple[float, float]]] = []
    levels = [0] * len(shares)
    # from the middle outwards: an outer line, which then goes higher, meets no inner label
    for index in sorted(range(len(shares)), key=lambda index: abs(shares[index] - 0.5)):
        share, width = shares[index], widths[index]
        low, high = (share - width, share) if share > 0.5 else (share, share + width)
        free = (all(high < a or low > b for a, b in level) for level in ends)
        levels[index] = next((number for number, fits in enumerate(free) if fits), len(ends))
        if levels[index] == len(ends):
            ends.append([])
        ends[levels[index]].append((low, high))
    return levels


def _share(x: float, limits: Range, log: bool) -> float:
    """Where x lies between the limits, from 0 to 1."""
    low, high, x = (float(np.log10(value)) if log else value for value in (*limits, x))
    return (x - low) / ((high - low) or 1.0)


def _named(marks: Sequence[Mark], limits: Range, log: bool, plot: float) -> tuple[int, Marked]:
    """The pixels that the marks' labels need above a plot `plot` pixels high; their lines, and
    their labels beside the lines' tops, in paper units, so that a log axis makes no difference."""
    shares, shapes, texts = [_share(x, limits, log) for x, _, _ in marks], [], []
    levels = stagger(shares, [(len(label) + 2) * LETTER for _, label, _ in marks])
    for (x, label, kind), share, level in zip(marks, shares, levels, strict=True):
        top, line = (
            1 + LEVEL * (level + 0.5) / plot,
            {"color": colour(kind), "width": 1.8, "dash": "dot"},
        )
        shapes.append(
            {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": top, "line": line}
        )
        side = (
            {"xanchor": "right", "xshift": -3} if share > 0.5 else {"xanchor": "left", "xshift": 3}
        )
        texts.append(
            note(label, share, top, font={"size": TICKS, "color": INK}, yanchor="middle", **side)
        )
    return LEVEL * (max(levels, default=-1) + 1), {"shapes": shapes, "annotations": texts}


def spectrum(values: Mapping[str, Any], kinds: Sequence[str]) -> Figure:
    """Singular values, largest first, of several matrices: name to [rank]. Log scale."""
    series = [
        Curve(name, np.arange(1, len(value) + 1), value, kind, markers=len(value) <= 40)
        for (name, value), kind in zip(values.items(), kinds, strict=True)
    ]
    return curves(series, "rank", "singular value", log_y=True, height=340)


def bars(
    labels: Sequence[str],
    values: Sequence[float],
    y_title: str,
    *,
    errors: Sequence[float] | None = None,
    kinds: Sequence[str] = (),
    lines: Sequence[Line] = (),
    y_range: Range | None = None,
    text: Literal["value", "none"] = "value",
    height: int = 340,
) -> Figure:
    """One bar a label with its value above it, its standard error, and horizontal
    reference lines."""
    numbers = np.asarray(values, dtype=float)
    tops = numbers + np.nan_to_num(
        np.asarray(errors if errors is not None else numbers * 0, dtype=float)
    )
    low, high = extent([tops, np.array([0.0, *(value for _, value, _ in lines)])], False, 0.0)
    figure = Figure(layout=layout(height, {"t": 26}, showlegend=False, bargap=0.35))
    colours = [colour(kind) for kind in kinds] or colour("trained")
    letters = min(16, max(9, 80 // max(1, len(labels))))  # that a bar's share of half a page holds
    names = ["<br>".join(wrap(label, letters, break_long_words=False)) for label in labels]
    trace = Trace("bar", x=names, y=numbers, marker={"color": colours})
    if errors is not None:
        trace.update(error_y={"array": errors, "color": INK, "thickness": 2, "width": 6})
    if (
        text == "value"
    ):  # at the bar's foot, where neither the error bar nor a reference line crosses it
        shown = [f"{value:.3g}" if np.isfinite(value) else "not run" for value in numbers]
        trace.update(
            text=shown,
            textposition="inside",
            insidetextanchor="start",
            textfont={"size": 15},
            textangle=0,
        )
    figure.add_trace(trace.update(hovertemplate="%{x}: %{y:.3g}<extra></extra>"))
    figure.update_yaxes(axis(y_title, range=list(y_range or (low, high + 0.08 * (high - low)))))
    figure.update_xaxes(axis(type="category", showgrid=False))
    return figure.update_layout(references(lines))
