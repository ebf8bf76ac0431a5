"""Heatmaps of weights and scores in square cells, with zero in the middle of the colours: one,
three to compare, or a grid, on one scale; and large maps reduced to means over square blocks of
cells, a size that the browser can animate."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from icl_core.contract.figure import Figure, Trace
from icl_core.contract.number_text import number_text
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
from icl_core.figures.style import LINE, PAPER, largest_magnitude, layout

MOST_CELLS = 68  # along a side; more than 65, the size of an alphabet that is drawn in full
_every_cell_is_drawn = ContextVar("maps are drawn with all their cells", default=False)
Labels = Sequence[str] | None  # None: positions from 1
WIDE = 900  # pixels of width of a row of maps
TALLEST = 400  # the largest height of a map in pixels
SIDE = 0.055  # the gap between two columns as a share of the width
PUSHED = 30  # pixels by which plotly moves the maps down for a colour bar with a title
WRITTEN = 10  # the longest row or column whose numbers can be written
CELL = 40  # pixels of width that a number needs
# The share of the limit above which a cell's colour is far from the background's, in both themes.
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
    """Add a matrix [rows, columns] with its axes. In a row of maps only the first one shows the
    title of the rows."""
    height, width = matrix.shape
    rows = distinct_names(labels[0], height)
    columns = distinct_names(labels[1], width)
    hover = (
        f"{titles[0] or 'row'} %{{y}}<br>{titles[1] or 'column'} %{{x}}<br>{value_name} %{{z:.3g}}"
    )
    trace = heat_trace(matrix, rows, columns, hover, subplot, scale)
    row_links = row_identities(titles[0], labels[0], height)
    column_links = row_identities(titles[1], labels[1], width)
    figure.add_trace(link_map(trace, row_links, column_links))
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
    """Return a map of a matrix [rows, columns], rows from top to bottom, with colours from -limit
    to limit.

    Without `limit` it is the largest absolute value. An axis has at most 16 labels; the pointer
    shows all.
    """
    matrix = np.asarray(matrix, dtype=np.float32)
    height = BAR + AXIS + int(min(400, max(90, 560 * matrix.shape[0] / matrix.shape[1])))
    scale = diverging(limit or largest_magnitude(matrix), value_name, 1 + 8 / (height - BAR - AXIS))
    figure = Figure(layout=layout(height, {"t": BAR, "b": AXIS - 10}, coloraxis=scale))
    labels = row_labels, column_labels
    add_map(figure, matrix, labels, (row_title, column_title), value_name, Subplot(), 16)
    return figure


def triple(
    trained: Any,
    constructed: Any,
    difference: Any,
    row_labels: Labels,
    column_labels: Labels,
    value_name: str,
    *,
    titles: Sequence[str] = ("trained", "constructed", "difference"),
    limit: float | None = None,
    row_title: str = "",
    column_title: str = "",
) -> Figure:
    """Return three maps of matrices [rows, columns] side by side, with one symmetric scale and one
    colour bar.

    `difference` None is trained minus constructed. Zooming one zooms all.
    """
    values = [np.asarray(matrix, dtype=np.float32) for matrix in (trained, constructed)]
    if difference is None:
        values.append(values[0] - values[1])
    else:
        values.append(np.asarray(difference, dtype=np.float32))
    height = 450
    plot = height - BAR - TITLE - AXIS
    scale = diverging(limit or largest_magnitude(*values), value_name, 1 + (TITLE + 8) / plot)
    figure = Figure(layout=layout(height, {"t": BAR + TITLE, "b": AXIS - 10}, coloraxis=scale))
    labels = row_labels, column_labels
    for matrix, subplot in zip(values, subplots(titles, 3, plot), strict=True):
        add_map(figure, matrix, labels, (row_title, column_title), value_name, subplot)
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
    columns: int = 4,
    written: bool = False,
    limit: float | None = None,
    row_title: str = "",
    column_title: str = "",
) -> Figure:
    """Return a grid of maps of matrices [rows, columns], with colours from -limit to limit and one
    colour bar; NaN is blank.

    Without `limit` it is the largest absolute value. `written` writes the number into every cell of
    matrices up to 10 x 10, with fewer maps in a row if the numbers would not fit.
    """
    values = [np.asarray(matrix, dtype=np.float32) for matrix in matrices]
    columns, width, height = _map_size(values, columns, written)
    rows = -(-len(values) // columns)
    plot = rows * height + (rows - 1) * (AXIS + TITLE)
    limit = limit or largest_magnitude(*values)
    top = BAR + TITLE + PUSHED
    bottom = AXIS - 10
    scale = diverging(limit, value_name, 1 + (TITLE + 8) / plot)
    figure = Figure(layout=layout(top + plot + bottom, {"t": top, "b": bottom}, coloraxis=scale))
    labels = row_labels, column_labels
    for matrix, subplot in zip(values, subplots(titles, columns, plot), strict=True):
        add_map(figure, matrix, labels, (row_title, column_title), value_name, subplot)
        if written:
            cell = min(width / matrix.shape[1], height / matrix.shape[0])
            figure.add_trace(cell_numbers(matrix, labels, limit, cell, subplot))
    return figure


def _map_size(values: Sequence[np.ndarray], columns: int, written: bool) -> tuple[int, float, int]:
    """Return how many maps a row has, and the width and height of a map in pixels."""
    longest = max((max(matrix.shape) for matrix in values), default=0)
    if not longest or (written and longest > WRITTEN):
        raise ValueError(
            f"matrices must have cells, and at most {WRITTEN} a side if written, got {longest} a "
            "side"
        )
    columns = maps_a_row(len(values), columns, longest if written else 0)
    width = WIDE * (1 - SIDE * (columns - 1)) / columns
    height = width * max(matrix.shape[0] / matrix.shape[1] for matrix in values)
    return columns, width, int(min(TALLEST, height))


def maps_a_row(count: int, columns: int, longest: int) -> int:
    """Return how many of `count` maps a row has: at most `columns`, and few enough that the numbers
    in `longest` cells side by side are legible (0 for no numbers)."""
    fits = int(WIDE * (1 + SIDE) / (CELL * longest + WIDE * SIDE)) if longest else columns
    return max(1, min(columns, count, fits))


def is_dark_cell(matrix: np.ndarray, limit: float) -> np.ndarray:
    """Return for each cell, as bool, whether its colour is so strong that a number on it must have
    the background's colour."""
    return np.abs(matrix) > STRONG * limit


def cell_numbers(
    matrix: np.ndarray, labels: tuple[Labels, Labels], limit: float, cell: float, subplot: Subplot
) -> Trace:
    """Return the numbers of a matrix [rows, columns] as text in its cells, which are `cell` pixels
    wide."""
    rows = distinct_names(labels[0], matrix.shape[0])
    columns = distinct_names(labels[1], matrix.shape[1])
    filled = np.argwhere(np.isfinite(matrix))  # [cells, 2]
    dark = is_dark_cell(matrix, limit)[tuple(filled.T)]  # [cells]
    colours = [PAPER if is_dark else LINE for is_dark in dark]
    texts = [number_text(number, 2) for number in matrix[tuple(filled.T)]]
    font = {"size": int(np.clip(cell / 3.7, 9, 15)), "color": colours}
    shared = {"mode": "text", "hoverinfo": "skip", "showlegend": False, **subplot.axes}
    x = [columns[column] for _, column in filled]
    y = [rows[row] for row, _ in filled]
    return Trace(x=x, y=y, text=texts, textfont=font, name="numbers", **shared)


@contextmanager
def every_cell() -> Iterator[None]:
    """Draw maps with all their cells, for a file instead of the browser."""
    token = _every_cell_is_drawn.set(True)
    try:
        yield
    finally:
        _every_cell_is_drawn.reset(token)


def block_means_of(
    matrix: np.ndarray, rows: Sequence[str], columns: Sequence[str]
) -> tuple[np.ndarray, Sequence[str], Sequence[str]]:
    """Return a matrix [rows, columns] and the labels of its rows and columns, as means over square
    blocks if a side has more than SIDE cells."""
    block = block_of(matrix)
    if block == 1:
        return matrix, rows, columns
    return block_means(matrix, block), _spans(rows, block), _spans(columns, block)


def block_of(matrix: np.ndarray) -> int:
    """Return the cells along the side of a block of a matrix; 1 if the matrix is small enough."""
    return 1 if _every_cell_is_drawn.get() else -(-max(matrix.shape) // MOST_CELLS)


def block_means(matrix: np.ndarray, block: int) -> np.ndarray:
    """Return means over `block` x `block` cells of a matrix [rows, columns]; the last blocks may be
    smaller. Numbers that are not finite count as 0."""
    rows, columns = (range(0, size, block) for size in matrix.shape)
    finite = np.nan_to_num(matrix, posinf=0, neginf=0)
    total = np.add.reduceat(np.add.reduceat(finite, rows, axis=0), columns, axis=1)
    heights, widths = (np.minimum(block, size - np.arange(0, size, block)) for size in matrix.shape)
    return (total / (heights[:, None] * widths)).astype(np.float32)  # [row blocks, column blocks]


def _spans(labels: Sequence[str], block: int) -> list[str]:
    """Return for each block its first and last label: "first–last"."""
    groups = [labels[start : start + block] for start in range(0, len(labels), block)]
    return [group[0] if len(group) == 1 else f"{group[0]}–{group[-1]}" for group in groups]
