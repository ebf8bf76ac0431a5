"""The parts of maps with square cells: their places in a grid, axes, traces, colour bars, and
outlines around cells.

Outlines are in the map's own coordinates: they grow and shrink with the cells, also when a visitor
zooms, and leave the cells visible.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from icl_core.contract.figure import Figure, Trace
from icl_core.contract.number_text import significant
from icl_core.figures.character_labels import label_width, literal
from icl_core.figures.style import (
    COLOURS,
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
BAR = 64  # pixels of height of a colour bar above the maps
AXIS = 68  # pixels under a map for labels and axis title
TITLE = 28  # pixels above a map for its title
# The rows or the columns of a map: the name of each, the label of each, the axis title.
Side = tuple[Sequence[str], Sequence[str], str]


@dataclass(frozen=True)
class Subplot:
    """The place of a map in a figure.

    number  the number of its axes, from 1
    x, y    the part of the figure that it spans, from 0 to 1; y points up
    title   the title above it
    """

    number: int = 1
    x: tuple[float, float] = (0.0, 1.0)
    y: tuple[float, float] = (0.0, 1.0)
    title: str = ""

    @property
    def end(self) -> str:
        """The suffix of the names of its axes: "", "2", "3", …"""
        return "" if self.number == 1 else str(self.number)

    @property
    def axes(self) -> dict[str, str]:
        """Its axes as a trace names them."""
        return {"xaxis": f"x{self.end}", "yaxis": f"y{self.end}"}

    def between(self, low: float, high: float, after: int = 0) -> "Subplot":
        """Return the subplot moved into the strip of the figure from `low` to `high`; `after` is
        added to its number."""
        y = (low + self.y[0] * (high - low), low + self.y[1] * (high - low))
        return Subplot(self.number + after, self.x, y, self.title)

    def heading(self) -> dict[str, Any]:
        """Return the title above the map as an annotation."""
        where = {"xanchor": "center", "yanchor": "bottom", "yshift": 4}
        return note(
            self.title, (self.x[0] + self.x[1]) / 2, self.y[1], font={"size": TEXT + 1}, **where
        )


def subplots(
    titles: Sequence[str], columns: int, pixels: float, side: float = 0.055
) -> list[Subplot]:
    """Return a grid of subplots, row by row, in a plot of `pixels` height.

    `side` is the gap between two columns as a share of the width, for the labels of the right one.
    """
    rows = -(-len(titles) // columns)
    gap = (AXIS + TITLE) / pixels  # between two rows
    width = (1 - side * (columns - 1)) / columns
    height = (1 - gap * (rows - 1)) / rows
    grid: list[Subplot] = []
    for index, title in enumerate(titles):
        left = (index % columns) * (width + side)
        top = 1 - (index // columns) * (height + gap)
        x = (left, min(left + width, 1.0))
        y = (max(top - height, 0.0), top)
        grid.append(Subplot(1 + index, x, y, title))
    return grid


def distinct_names(labels: Sequence[str] | None, count: int) -> list[str]:
    """Return a different name in a figure for each of `count` rows or columns.

    The names are the labels, all with their position if two are equal; for None, 1, 2, 3, … Raises
    ValueError if there are not `count` labels.
    """
    if labels is None:
        return [str(position + 1) for position in range(count)]
    if len(labels) != count:
        raise ValueError(
            f"labels must be one for each of {count} rows or columns, got {len(labels)}"
        )
    names = [literal(label) for label in labels]
    if len(set(names)) == count:
        return names
    return [f"{index + 1} {name}" for index, name in enumerate(names)]


def row_identities(
    kind: str, labels: Sequence[str] | None, count: int, block: int = 1
) -> dict[str, list[Any]]:
    """Return the identities of `count` rows or columns for `link_map`: their labels, or 1, 2, 3, …
    for None; for blocks of rows, a list of the labels in each."""
    names = [str(position + 1) for position in range(count)] if labels is None else list(labels)
    if block == 1:
        return {kind: names}
    return {kind: [names[start : start + block] for start in range(0, count, block)]}


def link_map(trace: Trace, rows: dict[str, list[Any]], columns: dict[str, list[Any]]) -> Trace:
    """Add to a map the identities of its rows and columns, so that the browser marks the same row
    or column in all maps that have it (links.js).

    `rows` and `columns` map kinds, the most exact first, to a label for each row or column.
    """
    return trace.update(meta={"rows": rows, "columns": columns})


def category_axis(
    every: Sequence[str], shown: Sequence[str], most: int, title: str = "", **more: Any
) -> dict[str, Any]:
    """Return an axis of categories, the names `every`, of which at most `most` have their label of
    `shown` written."""
    count = len(every)
    stride = next((stride for stride in STRIDES if count <= stride * most), count)
    # of positions 16, 32, … are written, not 1, 17, …
    are_positions = every[0].split("–")[0] == "1"
    written = range(stride - 1 if are_positions else 0, count, stride)
    # The pointer would show the short label of a tick that is exactly on a category.
    ticks = {
        "tickvals": [index + count / 2000 for index in written],
        "ticktext": [shown[index] for index in written],
    }
    if len(written) > 48:
        size = 9
    elif len(written) > 30:
        size = 10
    elif len(written) > 20:
        size = 11
    else:
        size = TICKS
    order = {
        "type": "category",
        "categoryorder": "array",
        "categoryarray": list(every),
        "constrain": "domain",
    }
    plain = {"automargin": False, "showgrid": False, "showline": False, "ticks": "", "tickangle": 0}
    font = {"size": size, "family": MONO}
    properties = axis(title, tickfont=font, **plain, **ticks, **order, **more)
    # without `standoff`, which would move the title into the labels of flat maps
    return properties | {"title": {"text": title, "font": {"size": TEXT}}}


def map_axes(subplot: Subplot, rows: Side, columns: Side, down: int, across: int) -> dict[str, Any]:
    """Return a map's axes by their names in the layout, with at most `down` row labels and `across`
    column labels; the first row is at the top."""
    end = subplot.end
    x = category_axis(
        columns[0], columns[1], across, columns[2], anchor=f"y{end}", domain=subplot.x
    )
    y = category_axis(rows[0], rows[1], down, rows[2], anchor=f"x{end}", domain=subplot.y)
    x["range"] = [-0.5, len(columns[0]) - 0.5]
    y["range"] = [len(rows[0]) - 0.5, -0.5]
    y |= {"scaleanchor": f"x{end}", "constraintoward": "top"}
    return {f"xaxis{end}": x, f"yaxis{end}": y}


def frame(figure: Figure, subplot: Subplot, rows: Side, columns: Side, most: int) -> None:
    """Add the axes of a map, with at most `most` labels along its longer side, and its title."""
    longer = max(len(rows[0]), len(columns[0]))
    letters = max(map(label_width, columns[1]))
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
    """Return the trace of a map of a matrix [rows, columns], as float32 to halve what is sent to
    the browser; `hover` is the text at the pointer."""
    z = np.ascontiguousarray(matrix, dtype=np.float32)
    shared = {"coloraxis": scale, "hoverongaps": False, "hovertemplate": hover + "<extra></extra>"}
    return Trace("heatmap", z=z, x=list(columns), y=list(rows), **shared, **subplot.axes)


def _bar(
    title: str, ticks: tuple[list[float], list[str]], y: float, x: tuple[float, float]
) -> dict[str, Any]:
    """Return a horizontal colour bar at height `y` over the part `x` of the width, from 0 to 1.

    `ticks` are the values and their texts.
    """
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
    """Return the colour axis of weights and scores, from -limit to limit with grey at zero; without
    a title it has no colour bar."""
    ticks = [-limit, 0.0, limit], [significant(-limit), "0", significant(limit)]
    shown = {"colorbar": _bar(title, ticks, y, x)} if title else {"showscale": False}
    return {"colorscale": colourscale(NEGATIVE_TO_POSITIVE), "cmin": -limit, "cmax": limit, **shown}


def sequential(y: float, x: tuple[float, float] = (0.2, 0.8)) -> dict[str, Any]:
    """Return the colour axis of attention, from 0, the background's colour, to 1."""
    ticks = [0.0, 0.5, 1.0], ["0", "0.5", "1"]
    return {
        "colorscale": colourscale(NONE_TO_ALL),
        "cmin": 0,
        "cmax": 1,
        "colorbar": _bar("attention", ticks, y, x),
    }


# A cell with an outline: indices of its query and key, and "trigger", "correct output" or "other
# output".
Box = tuple[int, int, str]
KINDS = ("trigger", "correct output", "other output")
CORNERS = "other output"  # has its four corners alone, so that it differs by more than its colour
INSET = 0.07  # the distance of an outline from the cell's edge as a share of the cell
CORNER = 0.26  # the length of a corner's sides, likewise
LINE_SHARE = 0.12  # of a cell that the width of a line may take


def outlines(boxes: Sequence[Box], cell: float, subplot: Subplot) -> list[dict[str, Any]]:
    """Return a shape of the layout for each kind of box, which outlines its cells.

    `cell` is the side of a cell in pixels, from which the width of the lines follows.
    """
    shapes: list[dict[str, Any]] = []
    width = float(np.clip(LINE_SHARE * cell, 0.75, 2.0))
    for kind in KINDS:
        cells = [(key, query) for query, key, box_kind in boxes if box_kind == kind]
        if not cells:
            continue
        path = _corners if kind == CORNERS else _square
        shapes.append(
            {
                "type": "path",
                "name": kind,
                "path": "".join(path(x, y) for x, y in cells),
                "xref": f"x{subplot.end}",
                "yref": f"y{subplot.end}",
                "line": {"color": COLOURS[kind], "width": width},
                "layer": "above",
            }
        )
    return shapes


def _square(x: int, y: int) -> str:
    """Return the path around the cell in column x and row y."""
    half = 0.5 - INSET
    left, right, top, bottom = (f"{at:.4g}" for at in (x - half, x + half, y - half, y + half))
    return f"M{left},{top}H{right}V{bottom}H{left}Z"


def _corners(x: int, y: int) -> str:
    """Return the path of the corners of the cell in column x and row y."""
    half = 0.5 - INSET
    path = ""
    for across in (-1, 1):
        for down in (-1, 1):
            edge_x, edge_y = x + across * half, y + down * half
            inner_x, inner_y = edge_x - across * CORNER, edge_y - down * CORNER
            path += f"M{inner_x:.4g},{edge_y:.4g}H{edge_x:.4g}V{inner_y:.4g}"
    return path


def legend_entries(kinds: Iterable[str], subplot: Subplot) -> list[Trace]:
    """Return traces without points that explain the outlines in a legend."""
    entries: list[Trace] = []
    for kind in KINDS:
        if kind in kinds:
            name = f"{kind} (corners)" if kind == CORNERS else kind
            marker = {
                "symbol": "square-open",
                "size": 12,
                "line": {"width": 2},
                "color": COLOURS[kind],
            }
            entries.append(
                Trace(x=[None], y=[None], mode="markers", name=name, marker=marker, **subplot.axes)
            )
    return entries
