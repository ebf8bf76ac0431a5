"""Square-celled maps in a grid: where each stands, its axes with thinned labels, its trace, its
colour bar."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from icl_core.contract.figure import Figure, Trace
from icl_core.figures.style import (
    FAINT,
    MONO,
    NEGATIVE_TO_POSITIVE,
    NONE_TO_ALL,
    TEXT,
    TICKS,
    axis,
    colourscale,
    note,
)

STRIDES = (1, 2, 3, 4, 5, 8, 10, 16, 20, 25, 32, 40, 50, 64, 100, 128, 256, 512)
BAR = 64  # pixels that a colour bar takes above the maps
AXIS, TITLE = 68, 28  # pixels under a map for labels and axis title, above it for its title
Side = tuple[
    Sequence[str], Sequence[str], str
]  # of a map: name of each row or column, label of each, axis title


@dataclass(frozen=True)
class Subplot:
    """Where a map stands: the number of its axes and what part of the figure they span."""

    number: int = 1
    x: tuple[float, float] = (0.0, 1.0)
    y: tuple[float, float] = (0.0, 1.0)
    title: str = ""

    @property
    def end(self) -> str:
        """How the names of its axes end: "", "2", "3", …"""
        return "" if self.number == 1 else str(self.number)

    @property
    def axes(self) -> dict[str, str]:
        """The axes as a trace names them."""
        return {"xaxis": f"x{self.end}", "yaxis": f"y{self.end}"}

    def between(self, low: float, high: float, after: int = 0) -> "Subplot":
        """The same in the strip of the figure from `low` to `high`, behind `after`
        other subplots."""
        y = (low + self.y[0] * (high - low), low + self.y[1] * (high - low))
        return Subplot(self.number + after, self.x, y, self.title)

    def heading(self) -> dict[str, Any]:
        """The title above the map."""
        where = {"xanchor": "center", "yanchor": "bottom", "yshift": 4}
        return note(
            self.title, (self.x[0] + self.x[1]) / 2, self.y[1], font={"size": TEXT + 1}, **where
        )


def subplots(
    titles: Sequence[str], columns: int, pixels: float, side: float = 0.055
) -> list[Subplot]:
    """A grid of maps, filled row by row, in a plot `pixels` high.

    `side` is the share of the width between two columns, for the labels of the right one.
    """
    rows = -(-len(titles) // columns)
    gap, width = (AXIS + TITLE) / pixels, (1 - side * (columns - 1)) / columns
    height = (1 - gap * (rows - 1)) / rows
    found = []
    for index, title in enumerate(titles):
        left, high = (index % columns) * (width + side), 1 - (index // columns) * (height + gap)
        span = (left, min(left + width, 1.0)), (max(high - height, 0.0), high)
        found.append(Subplot(1 + index, *span, title))
    return found


def distinct_names(labels: Sequence[str] | None, count: int) -> list[str]:
    """A different name for each of `count` rows or columns: equal labels get their position; None
    is 1, 2, 3, …"""
    if labels is None:
        return [str(position + 1) for position in range(count)]
    if len(labels) != count:
        raise ValueError(
            f"labels must be one for each of {count} rows or columns, got {len(labels)}"
        )
    clean = [label.replace("<", "&lt;") for label in labels]
    return (
        clean
        if len(set(clean)) == count
        else [f"{index + 1} {label}" for index, label in enumerate(clean)]
    )


def row_identities(
    kind: str, labels: Sequence[str] | None, count: int, block: int = 1
) -> dict[str, list[Any]]:
    """What the rows or columns of a map are, for `linked`; None is 1, 2, 3, … Of blocks, all that
    each holds."""
    every = [str(position + 1) for position in range(count)] if labels is None else list(labels)
    return {
        kind: every
        if block == 1
        else [every[start : start + block] for start in range(0, count, block)]
    }


def link_map(trace: Trace, rows: dict[str, list[Any]], columns: dict[str, list[Any]]) -> Trace:
    """A map that tells the browser what its rows and columns are, so that the same one is marked in
    every map that has it (links.js): of each kind, the most exact first, a label a row."""
    return trace.update(meta={"rows": rows, "columns": columns})


def category_axis(
    every: Sequence[str], shown: Sequence[str], most: int, title: str = "", **more: Any
) -> dict[str, Any]:
    """An axis of categories `every`, of which at most `most` are written, as `shown`."""
    count = len(every)
    stride = next((stride for stride in STRIDES if count <= stride * most), count)
    counted = (
        every[0].split("–")[0] == "1"
    )  # positions, of which 16, 32, … are written, not 1, 17, …
    written = range(stride - 1 if counted else 0, count, stride)
    # A tick that sits exactly on a category would lend the pointer its short label; a hair beside
    # it, it does not.
    ticks = {
        "tickvals": [index + count / 2000 for index in written],
        "ticktext": [shown[index] for index in written],
    }
    size = (
        9 if len(written) > 48 else 10 if len(written) > 30 else 11 if len(written) > 20 else TICKS
    )
    order = {
        "type": "category",
        "categoryorder": "array",
        "categoryarray": list(every),
        "constrain": "domain",
    }
    plain = {"automargin": False, "showgrid": False, "showline": False, "ticks": "", "tickangle": 0}
    found = axis(title, tickfont={"size": size, "family": MONO}, **plain, **ticks, **order, **more)
    return found | {
        "title": {"text": title, "font": {"size": TEXT}}
    }  # a standoff would run into labels of thin maps


def map_axes(subplot: Subplot, rows: Side, columns: Side, down: int, across: int) -> dict[str, Any]:
    """A map's axes, as the layout names them, with at most `down` and `across` labels; the first
    row on top."""
    end = subplot.end
    x = category_axis(
        columns[0], columns[1], across, columns[2], anchor=f"y{end}", domain=subplot.x
    )
    y = category_axis(rows[0], rows[1], down, rows[2], anchor=f"x{end}", domain=subplot.y)
    x["range"], y["range"] = [-0.5, len(columns[0]) - 0.5], [len(rows[0]) - 0.5, -0.5]
    y |= {"scaleanchor": f"x{end}", "constraintoward": "top"}
    return {f"xaxis{end}": x, f"yaxis{end}": y}


def frame(figure: Figure, subplot: Subplot, rows: Side, columns: Side, most: int) -> None:
    """Adds the axes of a map, with at most `most` labels along its longer side, and its title."""
    longer, letters = max(len(rows[0]), len(columns[0])), max(map(len, columns[1]))
    down = max(2, most * len(rows[0]) // longer)
    across = max(2, 2 * most * len(columns[0]) // longer // (1 + letters))
    figure.update_layout(map_axes(subplot, rows, columns, down, across))
    if subplot.title:
        figure.add_annotation(**subplot.heading())


def heat_trace(
    matrix: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    hover: str,
    subplot: Subplot,
    scale: str,
) -> Trace:
    """The trace of a map: matrix [rows, columns] in single precision, which halves what the browser
    is sent."""
    z = np.ascontiguousarray(matrix, dtype=np.float32)
    shared = {"coloraxis": scale, "hoverongaps": False, "hovertemplate": hover + "<extra></extra>"}
    return Trace("heatmap", z=z, x=list(columns), y=list(rows), **shared, **subplot.axes)


def _bar(
    title: str, ticks: tuple[list[float], list[str]], y: float, x: tuple[float, float]
) -> dict[str, Any]:
    """A colour bar lying at height y (figure units) over the share x of the width."""
    where = {
        "orientation": "h",
        "x": sum(x) / 2,
        "len": x[1] - x[0],
        "y": y,
        "yanchor": "bottom",
        "xpad": 0,
    }
    text = {
        "title": {"text": title, "side": "top", "font": {"size": 14}},
        "tickfont": {"size": TICKS},
    }
    return {
        **where,
        **text,
        "thickness": 12,
        "outlinewidth": 0,
        "ypad": 0,
        "tickvals": ticks[0],
        "ticktext": ticks[1],
        "ticks": "outside",
        "ticklen": 4,
        "tickcolor": FAINT,
    }


def diverging(
    limit: float, title: str = "", y: float = 1.0, x: tuple[float, float] = (0.2, 0.8)
) -> dict[str, Any]:
    """The colour axis of weights and scores: -limit to limit, grey at zero. Without a title it
    shows no bar."""
    ticks = [-limit, 0.0, limit], [f"\N{MINUS SIGN}{limit:.3g}", "0", f"{limit:.3g}"]
    shown = {"colorbar": _bar(title, ticks, y, x)} if title else {"showscale": False}
    return {"colorscale": colourscale(NEGATIVE_TO_POSITIVE), "cmin": -limit, "cmax": limit, **shown}


def sequential(y: float, x: tuple[float, float] = (0.2, 0.8)) -> dict[str, Any]:
    """The colour axis of attention: 0, the background's colour, to 1."""
    ticks = [0.0, 0.5, 1.0], ["0", "0.5", "1"]
    return {
        "colorscale": colourscale(NONE_TO_ALL),
        "cmin": 0,
        "cmax": 1,
        "colorbar": _bar("attention", ticks, y, x),
    }
