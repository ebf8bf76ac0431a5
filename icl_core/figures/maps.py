"""Any number of matrices, side by side or in a grid, on one scale; the small ones with their numbers written."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from icl_core.figures.grid import AXIS, BAR, TITLE, Spot, diverging, names, spots
from icl_core.figures.heatmaps import Labels, add_map
from icl_core.figures.style import LINE, PAPER, largest, layout

SizedLabels = Mapping[int, Sequence[str]] | Labels  # a mapping: from a matrix' size to its labels
WIDE, NARROW = 900, 310  # pixels that the maps share on a wide screen, and on a narrow one
SIDE = 0.055  # the share of the width between two columns
PUSHED = 30  # pixels by which plotly moves the maps down for a colour bar with a title
TALLEST = 400  # pixels of a map
WRITTEN = 10  # the longest row or column whose numbers can be written
CELL = 40  # pixels that a cell needs for its number
STRONG = 0.58  # the share of the limit from which a cell's colour is far from the background's, in both themes


def maps(
    titles: Sequence[str],
    matrices: Sequence[Any],
    row_labels: SizedLabels,
    column_labels: SizedLabels,
    value_name: str,
    *,
    limit: float | None = None,
    row_title: str = "",
    column_title: str = "",
    columns: int = 4,
    stacked: bool = False,
    written: bool = False,
    most: int = 12,
) -> go.Figure:
    """Matrices [rows, columns] in square cells on one range from -limit to limit with one colour bar; NaN is blank.

    Labels are one list for all, or a mapping from size to list; a size without one gets its positions from 1.
    `written` puts its number into every cell, up to 10 x 10, in fewer columns if they would not fit. `stacked` is
    one above the other, for narrow screens.
    """
    values = [np.asarray(matrix, dtype=np.float32) for matrix in matrices]
    longest = max((max(each.shape) for each in values), default=0)
    if not longest or (written and longest > WRITTEN):
        raise ValueError(f"matrices must have cells, and at most {WRITTEN} a side if written, got {longest} a side")
    columns = 1 if stacked else across(len(values), columns, longest if written else 0)
    width = NARROW if stacked else WIDE * (1 - SIDE * (columns - 1)) / columns
    tall = int(min(TALLEST, width * max(each.shape[0] / each.shape[1] for each in values)))
    rows = -(-len(values) // columns)
    plot = rows * tall + (rows - 1) * (AXIS + TITLE)
    limit, top = limit or largest(*values), BAR + TITLE + PUSHED
    figure = go.Figure(layout=layout(top + plot + AXIS - 10, {"t": top, "b": AXIS - 10}))
    figure.update_layout(coloraxis=diverging(limit, value_name, 1 + (TITLE + 8) / plot))
    for matrix, spot in zip(values, spots(titles, columns, plot, side=SIDE), strict=True):
        labels = _sized(row_labels, matrix.shape[0]), _sized(column_labels, matrix.shape[1])
        shown = row_title if (spot.number - 1) % columns == 0 else "", column_title
        add_map(figure, matrix, labels, (row_title, column_title), value_name, spot, most, written=shown)
        if written:
            cell = min(width / matrix.shape[1], tall / matrix.shape[0])
            figure.add_trace(_numbers(matrix, labels, limit, cell, spot))
    return figure


def across(count: int, columns: int, longest: int) -> int:
    """How many of `count` maps stand side by side: at most `columns`, and so few that the numbers in `longest` cells
    a row are legible (0: no numbers)."""
    fits = int(WIDE * (1 + SIDE) / (CELL * longest + WIDE * SIDE)) if longest else columns
    return max(1, min(columns, count, fits))


def _sized(labels: SizedLabels, size: int) -> Labels:
    """The labels of a matrix with `size` rows or columns."""
    return labels.get(size) if isinstance(labels, Mapping) else labels


def strong(matrix: np.ndarray, limit: float) -> np.ndarray:
    """Which cells have a colour so far from the background's that a number on it takes the background's, a bool."""
    return np.abs(matrix) > STRONG * limit


def _numbers(matrix: np.ndarray, labels: tuple[Labels, Labels], limit: float, cell: float, spot: Spot) -> go.Scatter:
    """The numbers of a matrix [rows, columns] whose cells are `cell` pixels wide, as text over them."""
    rows, columns = (names(each, size) for each, size in zip(labels, matrix.shape, strict=True))
    filled = np.argwhere(np.isfinite(matrix))
    colours = [PAPER if strong(matrix, limit)[row, column] else LINE for row, column in filled]
    texts = [f"{np.round(matrix[row, column], 2) + 0.0:.2f}".replace("-", "\N{MINUS SIGN}") for row, column in filled]
    font = {"size": int(np.clip(cell / 3.7, 9, 15)), "color": colours}
    shared = {"mode": "text", "hoverinfo": "skip", "showlegend": False, **spot.axes}
    x, y = [columns[column] for _, column in filled], [rows[row] for row, _ in filled]
    return go.Scatter(x=x, y=y, text=texts, textfont=font, name="numbers", **shared)
