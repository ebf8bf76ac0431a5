"""Outlines around cells of attention maps, in the map's own coordinates: they grow and shrink with
the cells, also when a visitor zooms, and leave the cells visible."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from icl_core.contract.figure import Trace
from icl_core.figures.map_grid import Subplot
from icl_core.figures.style import COLOURS

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
