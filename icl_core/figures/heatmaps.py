"""Square heatmaps of weights and scores, zero in the middle: one, three to compare, or a grid, all
on one scale."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from icl_core.contract.figure import Figure, Trace
from icl_core.figures.map_grid import (
    AXIS,
    BAR,
    TITLE,
    Subplot,
    distinct_names,
    diverging,
    frame,
    heat_trace,
    link_map,
    row_identities,
    subplots,
)
from icl_core.figures.style import LINE, PAPER, largest_magnitude, layout, number_text

Labels = Sequence[str] | None  # None: positions from 1
WIDE, TALLEST = 900, 400  # pixels that the maps of a row share, and of a map's height at most
SIDE = 0.055  # the share of the width between two columns
PUSHED = 30  # pixels by which plotly moves the maps down for a colour bar with a title
WRITTEN = 10  # the longest row or column whose numbers can be written
CELL = 40  # pixels that a cell needs for its number
# the share of the limit from which a cell's colour is far from the background's, in both themes
STRONG = 0.58


def add_map(
    figure: Figure,
    matrix: np.ndarray,
    labels: tuple[Labels, Labels],
    titles: tuple[str, str],
    value_name: str,
    subplot: Subplot,
    most: int = 12,
    scale: str = "coloraxis",
) -> None:
    """Adds a matrix [rows, columns] with its axes; only the first of a row of maps has the rows'
    title on it."""
    rows, columns = (
        distinct_names(each, size) for each, size in zip(labels, matrix.shape, strict=True)
    )
    hover = (
        f"{titles[0] or 'row'} %{{y}}<br>{titles[1] or 'column'} %{{x}}<br>{value_name} %{{z:.3g}}"
    )
    sides = (
        row_identities(title, each, size)
        for title, each, size in zip(titles, labels, matrix.shape, strict=True)
    )
    figure.add_trace(link_map(heat_trace(matrix, rows, columns, hover, subplot, scale), *sides))
    row_title = titles[0] if subplot.x[0] == 0 else ""
    frame(figure, subplot, (rows, rows, row_title), (columns, columns, titles[1]), most)


def heatmap(
    matrix: Any,
    row_labels: Labels,
    column_labels: Labels,
    value_name: str,
    *,
    limit: float | None = None,
    row_title: str = "",
    column_title: str = "",
) -> Figure:
    """A matrix [rows, columns] in square cells, rows from top to bottom, on the range -limit to
    limit.

    Sixteen labels at most stand on an axis; the pointer shows every one.
    """
    matrix = np.asarray(matrix, dtype=np.float32)
    height = BAR + AXIS + int(min(400, max(90, 560 * matrix.shape[0] / matrix.shape[1])))
    scale = diverging(limit or largest_magnitude(matrix), value_name, 1 + 8 / (height - BAR - AXIS))
    figure = Figure(layout=layout(height, {"t": BAR, "b": AXIS - 10}, coloraxis=scale))
    add_map(
        figure,
        matrix,
        (row_labels, column_labels),
        (row_title, column_title),
        value_name,
        Subplot(),
        16,
    )
    return figure


def triple(
    trained: Any,
    constructed: Any,
    difference: Any,
    row_labels: Labels,
    column_labels: Labels,
    value_name: str,
    *,
    limit: float | None = None,
    row_title: str = "",
    column_title: str = "",
    titles: Sequence[str] = ("trained", "constructed", "difference"),
) -> Figure:
    """Three matrices [rows, columns] side by side on one symmetric scale with one colour bar.
    `difference` None is trained minus constructed. Zooming one zooms all."""
    values = [np.asarray(matrix, dtype=np.float32) for matrix in (trained, constructed)]
    values.append(
        values[0] - values[1] if difference is None else np.asarray(difference, dtype=np.float32)
    )
    height, plot = 450, 450 - BAR - TITLE - AXIS
    scale = diverging(limit or largest_magnitude(*values), value_name, 1 + (TITLE + 8) / plot)
    figure = Figure(layout=layout(height, {"t": BAR + TITLE, "b": AXIS - 10}, coloraxis=scale))
    for matrix, subplot in zip(values, subplots(titles, 3, plot), strict=True):
        add_map(
            figure,
            matrix,
            (row_labels, column_labels),
            (row_title, column_title),
            value_name,
            subplot,
        )
    for number in (2, 3):
        follow = {"matches": "y", "scaleanchor": None}
        figure.update_layout({f"xaxis{number}": {"matches": "x"}, f"yaxis{number}": follow})
    return figure


def maps(
    titles: Sequence[str],
    matrices: Sequence[Any],
    row_labels: Labels,
    column_labels: Labels,
    value_name: str,
    *,
    limit: float | None = None,
    row_title: str = "",
    column_title: str = "",
    columns: int = 4,
    written: bool = False,
) -> Figure:
    """Matrices [rows, columns] in square cells on one range from -limit to limit with one colour
    bar; NaN is blank.

    `written` puts its number into every cell, up to 10 x 10, in fewer columns if they would not
    fit.
    """
    values = [np.asarray(matrix, dtype=np.float32) for matrix in matrices]
    columns, width, tall = _room(values, columns, written)
    rows = -(-len(values) // columns)
    plot, limit, top = (
        rows * tall + (rows - 1) * (AXIS + TITLE),
        limit or largest_magnitude(*values),
        BAR + TITLE + PUSHED,
    )
    scale = diverging(limit, value_name, 1 + (TITLE + 8) / plot)
    figure = Figure(
        layout=layout(top + plot + AXIS - 10, {"t": top, "b": AXIS - 10}, coloraxis=scale)
    )
    for matrix, subplot in zip(values, subplots(titles, columns, plot), strict=True):
        labels = row_labels, column_labels
        add_map(figure, matrix, labels, (row_title, column_title), value_name, subplot)
        if written:
            cell = min(width / matrix.shape[1], tall / matrix.shape[0])
            figure.add_trace(cell_numbers(matrix, labels, limit, cell, subplot))
    return figure


def _room(values: Sequence[np.ndarray], columns: int, written: bool) -> tuple[int, float, int]:
    """How many maps stand side by side, and a map's width and height in pixels."""
    longest = max((max(each.shape) for each in values), default=0)
    if not longest or (written and longest > WRITTEN):
        raise ValueError(
            f"matrices must have cells, and at most {WRITTEN} a side if written, got {longest} "
            "a side"
        )
    columns = maps_a_row(len(values), columns, longest if written else 0)
    width = WIDE * (1 - SIDE * (columns - 1)) / columns
    return (
        columns,
        width,
        int(min(TALLEST, width * max(each.shape[0] / each.shape[1] for each in values))),
    )


def maps_a_row(count: int, columns: int, longest: int) -> int:
    """How many of `count` maps stand side by side: at most `columns`, and so few that the numbers
    in `longest` cells a row are legible (0: no numbers)."""
    fits = int(WIDE * (1 + SIDE) / (CELL * longest + WIDE * SIDE)) if longest else columns
    return max(1, min(columns, count, fits))


def is_dark_cell(matrix: np.ndarray, limit: float) -> np.ndarray:
    """Which cells have a colour so far from the background's that a number on it takes the
    background's, a bool."""
    return np.abs(matrix) > STRONG * limit


def cell_numbers(
    matrix: np.ndarray, labels: tuple[Labels, Labels], limit: float, cell: float, subplot: Subplot
) -> Trace:
    """The numbers of a matrix [rows, columns] whose cells are `cell` pixels wide, as text over
    them."""
    rows, columns = (
        distinct_names(each, size) for each, size in zip(labels, matrix.shape, strict=True)
    )
    filled = np.argwhere(np.isfinite(matrix))
    colours = [PAPER if each else LINE for each in is_dark_cell(matrix, limit)[tuple(filled.T)]]
    texts = [number_text(number, 2) for number in matrix[tuple(filled.T)]]
    font = {"size": int(np.clip(cell / 3.7, 9, 15)), "color": colours}
    shared = {"mode": "text", "hoverinfo": "skip", "showlegend": False, **subplot.axes}
    x, y = [columns[column] for _, column in filled], [rows[row] for row, _ in filled]
    return Trace(x=x, y=y, text=texts, textfont=font, name="numbers", **shared)
