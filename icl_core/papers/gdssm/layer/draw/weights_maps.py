"""Parts of two models as rows of three maps, learned, constructed and difference, all on one scale."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from icl_core.figure import Figure
from icl_core.figures.grid import BAR, TITLE, Subplot, diverging, heat, map_axes, names
from icl_core.figures.heatmaps import CELL, PUSHED, SIDE, WIDE, numbers
from icl_core.figures.style import FAINT, TICKS, layout, note
from icl_core.papers.gdssm.layer.draw.weights_parts import DECAYS, RATE, Part

TITLES = ("learned", "constructed", "difference")
TALL, LARGEST = 460, 54  # pixels of a block of weights at most, and of a cell of decays and rates
UNDER, OVER = 26, 34  # pixels for the labels under a block, and for the heading over one
LETTERS, LINE_HEIGHT = 36, 17  # of labels: how many have room under a map, and the pixels of one beside it


@dataclass(frozen=True, eq=False)
class Block:
    """A matrix [rows, columns] of each model, with a name for each row and column."""

    heading: str
    trained: np.ndarray
    constructed: np.ndarray
    rows: Sequence[str]
    columns: Sequence[str]
    largest: float = np.inf  # pixels of a cell

    @property
    def height(self) -> int:
        """In pixels: square cells, three maps in a row."""
        rows, columns = self.trained.shape
        return int(min(TALL, rows * min(WIDE * _width() / columns, self.largest)))


def laid(parts: Sequence[Part]) -> list[Block]:
    """Weights of equally many columns under one another; then decays and rates: those with a number an entry of the
    state as a map each, those with a number a row of it under one another, single numbers in one row."""
    weights = [part for part in parts if part.kind not in (DECAYS, RATE)]
    found = []
    for columns in dict.fromkeys(part.columns for part in weights):
        same = [part for part in weights if part.columns == columns]
        rows = [row for part in same for row in part.rows]
        found.append(Block(_heading(same), *_both(same, np.concatenate), rows, columns, TALL if not found else LARGEST))
    others = [part for part in parts if part.kind in (DECAYS, RATE)]
    single, rows, entries = ([part for part in others if part.trained.ndim == ndim] for ndim in range(3))
    for part in entries:
        entry = names(None, len(part.trained))
        heading = f"{part.meaning}, by entry of the state"
        found.append(Block(heading, part.trained, part.constructed, entry, entry, LARGEST))
    if rows:
        row = names(None, len(rows[0].trained))
        heading = f"{_heading(rows)}, by row of the state"
        found.append(Block(heading, *_both(rows, np.stack), [part.name for part in rows], row, LARGEST))
    if single:
        ours, theirs = _both(single, np.stack)
        found.append(Block(_heading(single), ours[None], theirs[None], [" "], [part.name for part in single], LARGEST))
    return found


def figure(blocks: Sequence[Block], limit: float) -> Figure:
    """Every block's three maps, from the top; the numbers are written where the cells have room for them."""
    heights = [block.height for block in blocks]
    pixels, top = sum(heights) + (UNDER + OVER) * (len(blocks) - 1), BAR + TITLE + PUSHED
    traces, axes, texts, left = [], {}, [], pixels
    for index, (block, height) in enumerate(zip(blocks, heights, strict=True)):
        y = max(0.0, (left - height) / pixels), left / pixels
        maps = (block.trained, block.constructed, block.trained - block.constructed)
        lefts = [column * (_width() + SIDE) for column in range(3)]
        row = [Subplot(3 * index + i + 1, (x, min(1.0, x + _width())), y, TITLES[i]) for i, x in enumerate(lefts)]
        for matrix, subplot in zip(maps, row, strict=True):
            traces += _map(block, matrix, limit, subplot)
            axes |= _axes(block, subplot)
        texts += [subplot.heading() for subplot in row] if index == 0 else []
        font = {"size": TICKS, "color": FAINT}
        above = {"font": font, "xanchor": "left", "yanchor": "bottom", "yshift": 6}
        texts += [note(block.heading, 0, y[1], **above)] if block.heading else []
        left -= height + UNDER + OVER
    axes["coloraxis"] = diverging(limit, "entry", 1 + (TITLE + 8) / pixels)
    style = layout(top + pixels + UNDER + 8, {"t": top, "b": UNDER + 8}, annotations=texts, **axes)
    return Figure(data=traces, layout=style)  # at once: adding map by map takes three times as long


def _map(block: Block, matrix: np.ndarray, limit: float, subplot: Subplot) -> list[Any]:
    """The cells, and their numbers if they fit."""
    rows, columns = names(block.rows, len(block.rows)), names(block.columns, len(block.columns))
    drawn = [heat(matrix, rows, columns, "%{y}, %{x}: %{z:.3g}", subplot, "coloraxis")]
    size = block.height / len(rows)
    return drawn if size < CELL else [*drawn, numbers(matrix, (rows, columns), limit, size, subplot)]


def _axes(block: Block, subplot: Subplot) -> dict[str, Any]:
    """The axes of a map by name, with as many labels as have room."""
    rows, columns = names(block.rows, len(block.rows)), names(block.columns, len(block.columns))
    across = max(2, LETTERS // (1 + max(map(len, columns))))
    return map_axes(subplot, (rows, rows, ""), (columns, columns, ""), max(2, block.height // LINE_HEIGHT), across)


def _both(parts: Sequence[Part], joined: Callable[[list[np.ndarray]], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The parts of the trained and of the constructed model, put together."""
    return joined([part.trained for part in parts]), joined([part.constructed for part in parts])


def _heading(parts: Sequence[Part]) -> str:
    """What the parts are, each said once; of the weights nothing, unless all are the same."""
    meanings = list(dict.fromkeys(part.meaning for part in parts))
    return "" if "" in meanings else "; ".join(meanings)


def _width() -> float:
    return (1 - 2 * SIDE) / 3
