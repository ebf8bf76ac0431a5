"""Parts of two models as rows of three maps, learned, constructed and difference, all
on one scale."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, groupby
from typing import Any

import numpy as np

from icl_core.contract.figure import Figure
from icl_core.figures.heatmaps import CELL, PUSHED, SIDE, WIDE, cell_numbers
from icl_core.figures.map_grid import BAR, TITLE, Subplot, diverging, heat_trace, map_axes
from icl_core.figures.style import FAINT, TICKS, layout, note
from icl_core.papers.gdssm.layer.draw.weights_parts import NUMBERS, Part

TALL = 460  # pixels of a block of weights, at most
LARGEST = 54  # pixels of a cell in any block but the first, at most
UNDER = 26  # pixels for the labels under a block
OVER = 34  # pixels for the heading over a block
LETTERS = 36  # of labels that have room under a map
LINE_HEIGHT = 17  # pixels of a label beside a map
BY = {"row": ", by row of the state", "entry": ", by entry of the state"}
WIDTH = (1 - 2 * SIDE) / 3  # of a map, as a share of the figure's


def laid(parts: Sequence[Part]) -> list[Part]:
    """Return the parts in blocks: weights of equally many columns under one another; then decays
    and rates, those with a number for every entry of the state as a map each, those with a number
    for every row of it under one another, single numbers in one row."""
    return [_block(like[0], list(same)) for like, same in groupby(parts, _like)]


def _like(part: Part) -> tuple[str, ...]:
    """Return what the parts of one block have in common."""
    if part.kind not in NUMBERS:
        return tuple(part.columns)
    rows, columns = part.trained.shape
    return ("number",) if columns == 1 else ("row",) if rows == 1 else ("entry", part.name)


def _block(like: str, same: list[Part]) -> Part:
    """Return parts put together as one, with what they mean as a name, each meaning once; weights
    have no meaning in words unless all have the same."""
    axis = 1 if like == "number" else 0
    ours = np.concatenate([part.trained for part in same], axis)
    theirs = np.concatenate([part.constructed for part in same], axis)
    meanings = dict.fromkeys(part.meaning for part in same)
    name = "" if "" in meanings else "; ".join(meanings) + BY.get(like, "")
    rows = [" "] if axis else list(chain.from_iterable(part.rows for part in same))
    columns = same[0].columns
    if axis:
        columns = list(chain.from_iterable(part.columns for part in same))
    return replace(same[0], name=name, trained=ours, constructed=theirs, rows=rows, columns=columns)


def figure(blocks: Sequence[Part], limit: float) -> Figure:
    """Draw the three maps of every block, from the top; the numbers are written where the cells
    have room for them."""
    heights = [_height(block, LARGEST if index else TALL) for index, block in enumerate(blocks)]
    pixels = sum(heights) + (UNDER + OVER) * (len(blocks) - 1)
    top = BAR + TITLE + PUSHED
    traces = []
    axes = {}
    texts = []
    left = pixels
    for index, (block, height) in enumerate(zip(blocks, heights, strict=True)):
        y = max(0.0, (left - height) / pixels), left / pixels
        for column, (title, matrix) in enumerate(block.maps.items()):
            x = column * (WIDTH + SIDE)
            subplot = Subplot(3 * index + column + 1, (x, min(1.0, x + WIDTH)), y, title)
            traces += _map(block, matrix, limit, height, subplot)
            axes |= _axes(block, height, subplot)
            texts += [subplot.heading()] if index == 0 else []
        font = {"size": TICKS, "color": FAINT}
        above = {"font": font, "xanchor": "left", "yanchor": "bottom", "yshift": 6}
        texts += [note(block.name, 0, y[1], **above)] if block.name else []
        left -= height + UNDER + OVER
    axes["coloraxis"] = diverging(limit, "entry", 1 + (TITLE + 8) / pixels)
    style = layout(top + pixels + UNDER + 8, {"t": top, "b": UNDER + 8}, annotations=texts, **axes)
    return Figure(data=traces, layout=style)  # at once: adding map by map takes three times as long


def _height(block: Part, cell: int) -> int:
    """Return the height in pixels: square cells of `cell` pixels at most, three maps in a row."""
    return int(min(TALL, len(block.rows) * min(WIDE * WIDTH / len(block.columns), cell)))


def _map(block: Part, matrix: np.ndarray, limit: float, height: int, subplot: Subplot) -> list[Any]:
    """Return the cells, and their numbers if they fit."""
    cells = heat_trace(
        matrix, block.rows, block.columns, "%{y}, %{x}: %{z:.3g}", subplot, "coloraxis"
    )
    size = height / len(block.rows)
    if size < CELL:
        return [cells]
    return [cells, cell_numbers(matrix, (block.rows, block.columns), limit, size, subplot)]


def _axes(block: Part, height: int, subplot: Subplot) -> dict[str, Any]:
    """Return the axes of a map by name, with as many labels as have room."""
    rows = (block.rows, block.rows, "")
    columns = (block.columns, block.columns, "")
    across = max(2, LETTERS // (1 + max(map(len, block.columns))))
    return map_axes(subplot, rows, columns, max(2, height // LINE_HEIGHT), across)
