"""Parts of two models as rows of three maps, learned, constructed and difference, all
on one scale."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from icl_core.contract.figure import Figure
from icl_core.figures.heatmaps import CELL, PUSHED, SIDE, WIDE, cell_numbers
from icl_core.figures.map_grid import BAR, TITLE, Subplot, diverging, heat_trace, map_axes
from icl_core.figures.style import FAINT, TICKS, layout, note
from icl_core.papers.gdssm.layer.draw.weights_parts import NUMBERS, Part

TALL, LARGEST = 460, 54  # pixels of a block of weights at most, and of a cell in any but the first
UNDER, OVER = 26, 34  # pixels for the labels under a block, and for the heading over one
LETTERS, LINE_HEIGHT = (
    36,
    17,
)  # of labels: how many have room under a map, and the pixels of one beside it
BY = {"row": ", by row of the state", "entry": ", by entry of the state"}
WIDTH = (1 - 2 * SIDE) / 3  # of a map, as a share of the figure's


def laid(parts: Sequence[Part]) -> list[Part]:
    """Weights of equally many columns under one another; then decays and rates: those with a number
    an entry of the state as a map each, those with a number a row of it under one another, single
    numbers in one row."""
    return [_block(like[0], list(same)) for like, same in groupby(parts, _like)]


def _like(part: Part) -> tuple[str, ...]:
    """What the parts of one block have in common."""
    if part.kind not in NUMBERS:
        return tuple(part.columns)
    rows, columns = part.trained.shape
    return ("number",) if columns == 1 else ("row",) if rows == 1 else ("entry", part.name)


def _block(like: str, same: list[Part]) -> Part:
    """Parts put together, with what they mean as a name, each said once; of weights nothing, unless
    alike."""
    axis = 1 if like == "number" else 0
    ours, theirs = (
        np.concatenate(each, axis)
        for each in ([p.trained for p in same], [p.constructed for p in same])
    )
    meanings = dict.fromkeys(part.meaning for part in same)
    name = "" if "" in meanings else "; ".join(meanings) + BY.get(like, "")
    rows = [" "] if axis else [row for part in same for row in part.rows]
    columns = [column for part in same for column in part.columns] if axis else same[0].columns
    return replace(same[0], name=name, trained=ours, constructed=theirs, rows=rows, columns=columns)


def figure(blocks: Sequence[Part], limit: float) -> Figure:
    """Every block's three maps, from the top; the numbers are written where the cells have room for
    them."""
    heights = [_height(block, LARGEST if index else TALL) for index, block in enumerate(blocks)]
    pixels, top = sum(heights) + (UNDER + OVER) * (len(blocks) - 1), BAR + TITLE + PUSHED
    traces, axes, texts, left = [], {}, [], pixels
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
    """In pixels: square cells of `cell` pixels at most, three maps in a row."""
    return int(min(TALL, len(block.rows) * min(WIDE * WIDTH / len(block.columns), cell)))


def _map(block: Part, matrix: np.ndarray, limit: float, height: int, subplot: Subplot) -> list[Any]:
    """The cells, and their numbers if they fit."""
    drawn = [
        heat_trace(matrix, block.rows, block.columns, "%{y}, %{x}: %{z:.3g}", subplot, "coloraxis")
    ]
    size = height / len(block.rows)
    return (
        drawn
        if size < CELL
        else [*drawn, cell_numbers(matrix, (block.rows, block.columns), limit, size, subplot)]
    )


def _axes(block: Part, height: int, subplot: Subplot) -> dict[str, Any]:
    """The axes of a map by name, with as many labels as have room."""
    rows, columns = (block.rows, block.rows, ""), (block.columns, block.columns, "")
    across = max(2, LETTERS // (1 + max(map(len, block.columns))))
    return map_axes(subplot, rows, columns, max(2, height // LINE_HEIGHT), across)
