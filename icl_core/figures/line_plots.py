"""Curves over training steps or sizes, with reference lines, marks and a moving marker; spectra;
bar charts."""

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
from icl_core.figures.style import (
    DASHES,
    INK,
    PAPER,
    SEAT,
    TICKS,
    axis,
    colour,
    layout,
    legend,
    note,
    text_on,
)

Line = tuple[str, float, str]  # label, value, kind
Range = tuple[float, float]  # in data units
Mark = tuple[float, str, str]  # x, label, kind or colour
Marked = dict[str, list[dict[str, Any]]]  # a layout's "shapes" and "annotations"
LEVEL = 19  # pixels of height of a label
FLOOR = 0.25  # lines below this share of the height have their label underneath
SEAT_PLOT = 145  # pixels of height of a plot in a seat of the stage
LETTER = 7.5 / 310  # the width of a letter as a share of the plot on a narrow screen
LOW_BAR = 0.09  # the share of the height below which a bar has no room for its value


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
    """Return curves, the mean over seeds, with bands.

    lines    horizontal reference lines
    marks    dotted vertical lines with their labels above the plot
    at       the step shown: a thin vertical line with a dot on every curve
    x_range, y_range
             the ranges of the axes in data units; by default those of the data
    height   pixels of height, without the labels above the plot
    """
    plot = height - 94 if height > SEAT else SEAT_PLOT
    xs = x_range or extent([np.asarray(curve.x, dtype=float) for curve in series], log_x, 0.0)
    ys = y_range or value_range(series, log_y, [value for _, value, _ in lines])
    ys = make_room_for_labels(ys, lines, log_y, plot)
    top, named = _mark_lines(marks, xs, log_x)
    figure = Figure(layout=layout(height + top, {"t": top + 38, "b": 56}, hovermode="x unified"))
    for curve in series:
        figure.add_traces(curve_traces(curve, log_y))
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
    """Return the `limits` of an axis that is `pixels` long, widened so that the labels of the lines
    within them fit into the plot."""
    low, high = np.log10(limits) if log else limits
    room = LEVEL * (high - low) / pixels
    for _, value, _ in lines:
        if not limits[0] <= value <= limits[1]:
            continue
        y = float(np.log10(value)) if log else value
        if _is_floor(value, limits, log):
            low = min(low, y - room)
        else:
            high = max(high, y + room)
    return (float(10**low), float(10**high)) if log else (float(low), float(high))


def _is_floor(value: float, limits: Range, log: bool) -> bool:
    """Return whether a line is near the bottom: the curves are above it, and its label is below."""
    return _share(value, limits, log) < FLOOR


def references(lines: Sequence[Line], log: bool = False, limits: Range | None = None) -> Marked:
    """Return horizontal lines across the plot with their labels, as "shapes" and "annotations".

    The labels begin at the left, one after the other, where curves that approach a line are still
    far from it. They are above their lines, or below a line near the bottom of `limits`.
    """
    shapes: list[dict[str, Any]] = []
    texts: list[dict[str, Any]] = []
    x = 0.01
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
        if limits is not None and _is_floor(value, limits, log):
            side = {"yshift": -2, "yanchor": "top"}
        else:
            side = {"yshift": 3, "yanchor": "bottom"}
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
    """Return a level for each label, 0 for the lowest, so that no two labels of a level overlap and
    no mark's line crosses a label.

    `shares` are the places of the marks and `widths` the widths of their labels, from 0 to 1. A
    label is to the right of its mark, or to the left of a mark in the right half.
    """
    taken: list[list[tuple[float, float]]] = []  # for each level the spans of its labels
    levels = [0] * len(shares)
    # From the middle outwards: an outer line is then higher than all inner labels that it could
    # cross.
    for index in sorted(range(len(shares)), key=lambda index: abs(shares[index] - 0.5)):
        share = shares[index]
        width = widths[index]
        low, high = (share - width, share) if share > 0.5 else (share, share + width)
        level = 0
        while level < len(taken) and any(
            low <= end and high >= start for start, end in taken[level]
        ):
            level += 1
        if level == len(taken):
            taken.append([])
        taken[level].append((low, high))
        levels[index] = level
    return levels


def _share(x: float, limits: Range, log: bool) -> float:
    """Return the place of x between the limits, from 0 to 1."""
    low, high, x = (float(np.log10(value)) if log else value for value in (*limits, x))
    return (x - low) / ((high - low) or 1.0)


def _mark_lines(marks: Sequence[Mark], limits: Range, log: bool) -> tuple[int, Marked]:
    """Return the pixels that the labels of the marks need above the plot, and the marks' lines with
    the labels beside their tops.

    The labels are placed in shares of the figure, where a log axis makes no difference.
    """
    shares = [_share(x, limits, log) for x, _, _ in marks]
    levels = stagger(shares, [(len(label) + 2) * LETTER for _, label, _ in marks])
    shapes: list[dict[str, Any]] = []
    texts: list[dict[str, Any]] = []
    for (x, label, kind), share, level in zip(marks, shares, levels, strict=True):
        top = LEVEL * (level + 0.5)
        line = {"color": colour(kind), "width": 1.8, "dash": "dot"}
        upright = {"type": "line", "x0": x, "x1": x, "yref": "paper", "line": line}
        shapes.append(upright | {"y0": 0, "y1": 1})
        shapes.append(upright | {"ysizemode": "pixel", "yanchor": 1, "y0": 0, "y1": top})
        if share > 0.5:
            side = {"xanchor": "right", "xshift": -3}
        else:
            side = {"xanchor": "left", "xshift": 3}
        texts.append(
            note(
                label,
                share,
                1,
                font={"size": TICKS, "color": INK},
                yanchor="middle",
                yshift=top,
                **side,
            )
        )
    return LEVEL * (max(levels, default=-1) + 1), {"shapes": shapes, "annotations": texts}


def spectrum(values: Mapping[str, Any], kinds: Sequence[str]) -> Figure:
    """Return the singular values of several matrices on a log scale; `values` are [rank] by name,
    largest first."""
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
    """Return a bar for each label, with its value, its standard error and horizontal reference
    lines."""
    numbers = np.asarray(values, dtype=float)
    half_widths = np.asarray(errors if errors is not None else numbers * 0, dtype=float)
    tops = numbers + np.nan_to_num(half_widths)
    low, high = extent([tops, np.array([0.0, *(value for _, value, _ in lines)])], False, 0.0)
    figure = Figure(layout=layout(height, {"t": 26}, showlegend=False, bargap=0.35))
    colours = [colour(kind) for kind in kinds] or colour("trained")
    # a line of a label has as many letters as fit under a bar, on half a page
    letters = min(16, max(9, 80 // max(1, len(labels))))
    names = ["<br>".join(wrap(label, letters, break_long_words=False)) for label in labels]
    trace = Trace("bar", x=names, y=numbers, marker={"color": colours})
    if errors is not None:
        trace.update(error_y={"array": errors, "color": INK, "thickness": 2, "width": 6})
    if text == "value":
        # at the bottom of the bar, where neither the error bar nor a reference line crosses it;
        # above a bar that is too low for it
        shown = [f"{value:.3g}" if np.isfinite(value) else "not run" for value in numbers]
        bottom, top = y_range or (low, high)
        is_low = np.abs(np.nan_to_num(numbers)) < LOW_BAR * (top - bottom)
        trace.update(
            text=shown,
            textposition=["outside" if is_outside else "inside" for is_outside in is_low],
            cliponaxis=False,
            insidetextanchor="start",
            textfont={"size": 15, "color": [text_on(kind) for kind in kinds] or PAPER},
            textangle=0,
        )
    figure.add_trace(trace.update(hovertemplate="%{x}: %{y:.3g}<extra></extra>"))
    figure.update_yaxes(axis(y_title, range=list(y_range or (low, high + 0.08 * (high - low)))))
    figure.update_xaxes(axis(type="category", showgrid=False))
    return figure.update_layout(references(lines))
