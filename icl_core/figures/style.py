"""The style of all figures: colours, line styles, axes and texts, and the change to a dark
background."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from icl_core.contract.figure import Figure, Trace

# `themed` replaces colours by their value. So colours that differ in one theme must also differ in
# the other: LINE is #fffffe on a dark background, since #ffffff is PAPER on a light one.
INK, FAINT, GRID, LINE, PAPER = "#1d2126", "#5c6470", "#e2e5ea", "#000000", "#ffffff"
NEGATIVE_TO_POSITIVE = ("#053061", "#2f79b5", "#a5cee3", "#efeeed", "#f7b799", "#ca4741", "#67001f")
NONE_TO_ALL = (PAPER, "#cfe1f2", "#85bcdc", "#3a8ac2", "#1860a8")
TO_DARK = {
    INK: "#e7e9ec", FAINT: "#a6adb8", GRID: "#343942", LINE: "#fffffe", PAPER: "#0e1117",
    "#0072B2": "#4AA8E0",
    "#053061": "#a9dcff", "#2f79b5": "#4a9fe0", "#a5cee3": "#2a5880", "#efeeed": "#2c2f35",
    "#f7b799": "#8a3f2c", "#ca4741": "#ee7353", "#67001f": "#ffd0b5",
    "#cfe1f2": "#16304a", "#85bcdc": "#1d5484", "#3a8ac2": "#3d8fcb", "#1860a8": "#b5dfff",
}  # fmt: skip
TO_LIGHT = {dark: light for light, dark in TO_DARK.items()}

LAYERS = ("#56B4E9", "#009E73", "#CC79A7", "#E69F00", "#8C6BB1", "#A6761D", "#7CAE00", "#B2182B")
COLOURS = {
    "trained": "#0072B2",
    "construction": "#D55E00",
    "gradient descent": "#7F7F7F",
    "conjugate gradient": LINE,
    "momentum": "#E69F00",
    "nesterov": "#F0E442",
    "floor": LINE,
    "trigger": INK,
    "correct output": "#CC79A7",
    "other output": "#009E73",
    "seed": "#8fb8d8",
} | {f"layer {number + 1}": colour for number, colour in enumerate(LAYERS)}
DASHES = {
    "gradient descent": "dash",
    "momentum": "dash",
    "nesterov": "dash",
    "floor": "dot",
    "seed": "dot",
}
WIDTHS = {"trained": 3.0, "conjugate gradient": 1.5}

TEXT = 15
TICKS = 13
# On a projector of 720 lines; with more the browser enlarges further (browser/seats.js).
LARGER = 1.13  # the factor by which texts are larger
LEAST = 14.7  # the least size of a text, in pixels
LEAST_LINE = 2.7  # the least width of a line, in pixels
FAMILY = "Source Sans, Source Sans Pro, Inter, system-ui, sans-serif"  # first the page's own
SEAT = 300  # pixels of height of a figure for the stage, whose seat may have as few as 198
MONO = "DejaVu Sans Mono, Menlo, Consolas, monospace"
CONFIG: dict[str, Any] = {
    "displaylogo": False,
    "responsive": True,
    "modeBarButtonsToRemove": [
        "zoom2d",
        "pan2d",
        "zoomIn2d",
        "zoomOut2d",
        "autoScale2d",
        "select2d",
        "lasso2d",
        "sendChartToCloud",  # uploads the chart
    ],
    "toImageButtonOptions": {"format": "png", "scale": 2},
}


def colour(kind: str) -> str:
    """Return the colour of a kind in `COLOURS`; any other string is a colour itself."""
    return COLOURS.get(kind, kind)


def text_on(kind: str) -> str:
    """Return the colour of a text on a bar of a kind, with a contrast above 4.4 in both themes."""
    own = colour(kind)
    if own in TO_DARK:  # dark on a light background, and light on a dark one
        return PAPER
    shares = [int(own[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [
        share / 12.92 if share < 0.04 else ((share + 0.055) / 1.055) ** 2.4 for share in shares
    ]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#101010" if luminance > 0.18 else "#fefefe"


def layout(height: int, margin: Mapping[str, int] | None = None, **more: Any) -> dict[str, Any]:
    """Return the layout from which every figure starts: transparent, tight, with large texts."""
    return {
        "height": height,
        "margin": {"l": 58, "r": 14, "t": 12, "b": 50} | dict(margin or {}),
        "font": {
            "family": FAMILY,
            "size": TEXT,
            "color": INK,
        },
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": PAPER, "bordercolor": FAINT, "font": {"size": 14, "color": INK}},
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": FAINT, "activecolor": INK},
        "meta": {"theme": "light"},
    } | more


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    """Return an axis in the shared style."""
    return {
        "title": {"text": title, "font": {"size": TEXT}, "standoff": 8},
        "tickfont": {"size": TICKS},
        "gridcolor": GRID,
        "linecolor": FAINT,
        "showline": True,
        "zeroline": False,
        "automargin": True,
    } | more


def legend(y: float) -> dict[str, Any]:
    """Return a legend in a row above height y, in shares of the plot."""
    return {"orientation": "h", "x": 0, "y": y, "yanchor": "bottom", "font": {"size": 14}}


def note(text: str, x: float, y: float, **more: Any) -> dict[str, Any]:
    """Return a text at x and y in shares of the plot, from 0 to 1, without an arrow."""
    return {
        "text": text,
        "x": x,
        "y": y,
        "xref": "paper",
        "yref": "paper",
        "showarrow": False,
    } | more


def colourscale(colours: Sequence[str]) -> list[list[Any]]:
    """Return colours at equal distances from 0 to 1, as plotly.js reads them."""
    return [[index / (len(colours) - 1), colour] for index, colour in enumerate(colours)]


def largest_magnitude(*matrices: np.ndarray) -> float:
    """Return the largest finite absolute value in the matrices, for a scale that they share; 1 if
    it is 0 or there is none."""
    largest = [
        np.abs(matrix[np.isfinite(matrix)]).max(initial=0) for matrix in map(np.asarray, matrices)
    ]
    return float(max(largest, default=0)) or 1.0


_IN_TEXT = re.compile(r"(?<=color:)#\w{6}")


def _swapped(value: Any, colours: Mapping[str, str]) -> Any:
    """Return a copy of `value` with every colour replaced, also colours within texts; numbers and
    arrays are not copied."""
    if isinstance(value, str):
        text = colours.get(value, value)
        return _IN_TEXT.sub(lambda match: colours.get(match[0], match[0]), text)
    if isinstance(value, dict):
        return {key: _swapped(item, colours) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_swapped(item, colours) for item in value]
    return value


def themed(figure: Figure, dark: bool) -> Figure:
    """Return the figure for a dark or a light background: the same data and layout in other
    colours."""
    theme = "dark" if dark else "light"
    if figure.layout.get("meta", {}).get("theme") == theme:
        return figure
    colours = TO_DARK if dark else TO_LIGHT
    traces = [_swapped(trace, colours) for trace in figure.data]
    copy = Figure(traces, _swapped(figure.layout, colours))
    return copy.update_layout(meta={"theme": theme})


def enlarged(figure: Figure) -> Figure:
    """Return a copy of the figure with larger texts and margins and wider lines: a projector's."""
    traces = [_wider_line(_enlarged(trace)) for trace in figure.data]
    return Figure(traces, _enlarged(figure.layout))


def _wider_line(trace: Trace) -> Trace:
    """Return a trace whose line, if it has one, is at least `LEAST_LINE` wide."""
    line = trace.get("line", {})
    width = line.get("width", 2)
    is_line = trace["type"] == "scatter" and "lines" in trace.get("mode", "lines") and width
    if not is_line:
        return trace
    return Trace(**{**trace, "line": line | {"width": max(LEAST_LINE, width)}})


def _enlarged(value: Any, key: str = "") -> Any:
    """Return an enlarged copy of a property; `key` is its name, with that of its margin or font:
    "margin.l", "tickfont.size"."""
    if isinstance(value, dict):
        prefix = f"{key}." if key == "margin" or key.endswith("font") else ""
        return {name: _enlarged(item, prefix + name) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_enlarged(item) for item in value]
    if isinstance(value, int | float) and key.endswith("font.size"):
        return max(LEAST, value * LARGER)
    if isinstance(value, int | float) and (
        key.startswith("margin.") or key in ("xshift", "yshift", "standoff")
    ):
        return value * LARGER
    return value
