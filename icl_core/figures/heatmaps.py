"""Square heatmaps of weights and scores, zero in the middle; and trained, constructed and difference on one scale."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from icl_core.figures.grid import AXIS, BAR, TITLE, Spot, cells, diverging, frame, names, spots
from icl_core.figures.style import largest, layout

Labels = Sequence[str] | None  # None: positions from 1
Titles = tuple[str, str]  # of the rows and of the columns


def add_map(
    figure: go.Figure, matrix: np.ndarray, labels: tuple[Labels, Labels], titles: Titles, value_name: str, spot: Spot,
    most: int, scale: str = "coloraxis", written: Titles | None = None,
) -> None:  # fmt: skip
    """Adds a matrix [rows, columns] with its axes. `written` are the axis titles, where they differ from `titles`."""
    rows, columns = (names(each, size) for each, size in zip(labels, matrix.shape, strict=True))
    hover = f"{titles[0] or 'row'} %{{y}}<br>{titles[1] or 'column'} %{{x}}<br>{value_name} %{{z:.3g}}"
    figure.add_trace(cells(matrix, rows, columns, hover, spot, scale))
    row_title, column_title = written or titles
    frame(figure, spot, (rows, rows, row_title), (columns, columns, column_title), most)


def heatmap(
    matrix: Any,
    row_labels: Labels,
    column_labels: Labels,
    value_name: str,
    *,
    limit: float | None = None,
    row_title: str = "",
    column_title: str = "",
    most: int = 16,
    height: int | None = None,
) -> go.Figure:
    """A matrix [rows, columns] in square cells, rows from top to bottom, on the range -limit to limit.

    At most `most` labels stand on an axis; the pointer shows every one. `height` follows the matrix' shape.
    """
    matrix = np.asarray(matrix, dtype=np.float32)
    height = height or BAR + AXIS + int(min(400, max(90, 560 * matrix.shape[0] / matrix.shape[1])))
    figure = go.Figure(layout=layout(height, {"t": BAR, "b": AXIS - 10}))
    figure.update_layout(coloraxis=diverging(limit or largest(matrix), value_name, 1 + 8 / (height - BAR - AXIS)))
    add_map(figure, matrix, (row_labels, column_labels), (row_title, column_title), value_name, Spot(), most)
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
    stacked: bool = False,
    most: int = 12,
) -> go.Figure:
    """Three matrices [rows, columns] on one symmetric scale with one colour bar. `difference` None is trained minus
    constructed. Side by side, or for narrow screens one above the other. Zooming one zooms all."""
    maps = [np.asarray(matrix, dtype=np.float32) for matrix in (trained, constructed)]
    maps.append(maps[0] - maps[1] if difference is None else np.asarray(difference, dtype=np.float32))
    height = 1290 if stacked else 450
    plot = height - BAR - TITLE - AXIS
    figure = go.Figure(layout=layout(height, {"t": BAR + TITLE, "b": AXIS - 10}))
    figure.update_layout(coloraxis=diverging(limit or largest(*maps), value_name, 1 + (TITLE + 8) / plot))
    labels, axes = (row_labels, column_labels), (row_title, column_title)
    for matrix, spot in zip(maps, spots(titles, 1 if stacked else 3, plot), strict=True):
        written = axes if stacked or spot.number == 1 else ("", column_title)
        add_map(figure, matrix, labels, axes, value_name, spot, most, written=written)
    for number in (2, 3):
        follow = {"matches": "y", "scaleanchor": None}
        figure.update_layout({f"xaxis{number}": {"matches": "x"}, f"yaxis{number}": follow})
    return figure
