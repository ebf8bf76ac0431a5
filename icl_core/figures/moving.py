"""What a film moves: matrices in time, made small enough to play, and as many frames as fit a page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from icl_core.figures.grid import names

SIDE = 68  # cells along a side: a few more than 64, so that an alphabet of 65 is not coarsened
BUDGET = 2_800_000  # bytes of a film: a page stays quick below 3 MB
BYTES = 6.0  # a cell of 4 bytes in base64, of which Plotly escapes every slash


@dataclass(frozen=True, eq=False)
class Moving:
    """A matrix in time, [frames, rows, columns], with its labels (None: positions from 1). A matrix of more than 68
    rows or columns plays as means over square blocks. `limit` of its colours: its largest value over all frames."""

    title: str
    frames: Any
    row_labels: Sequence[str] | None = None
    column_labels: Sequence[str] | None = None

    @property
    def limit(self) -> float:
        """The range of colours over all frames, -limit to limit."""
        return float(np.nanmax(np.abs(self.frames), initial=0)) or 1.0

    def small(self) -> "Moving":
        """The matrix as it plays: at most 68 rows and columns."""
        frames, title = np.asarray(self.frames, dtype=np.float32), self.title
        rows, columns = names(self.row_labels, frames.shape[1]), names(self.column_labels, frames.shape[2])
        block = -(-max(frames.shape[1:]) // SIDE)
        if block > 1:
            frames, title = means(frames, block), f"{title}, {block} × {block} means"
            rows, columns = _spans(rows, block), _spans(columns, block)
        return Moving(title, rounded(frames), rows, columns)


@dataclass(frozen=True, eq=False)
class Attending:
    """A head's attention in time, [frames, T, T] over the characters `tokens`, of which the first 68 play."""

    title: str
    frames: Any
    tokens: Sequence[str]
    boxes: Sequence[tuple[int, int, str]] = ()

    def small(self) -> "Attending":
        """The part that plays, with the keys after each query blank."""
        size = min(len(self.tokens), SIDE)
        part = np.array(np.asarray(self.frames)[:, :size, :size], dtype=np.float32)
        part[:, *np.triu_indices(size, 1)] = np.nan
        title = self.title if size == len(self.tokens) else f"{self.title}, first {size}"
        return Attending(title, rounded(part), self.tokens[:size], [box for box in self.boxes if max(box[:2]) < size])


def rounded(values: np.ndarray) -> np.ndarray:
    """Single precision kept to 12 bits, so to 0.03 %: the zeros behind them need no escape and pack well."""
    bits = np.array(values, dtype=np.float32).view(np.uint32)
    return ((bits + np.uint32(0x400)) & np.uint32(0xFFFFF800)).view(np.float32)


def means(frames: np.ndarray, block: int) -> np.ndarray:
    """Means over `block` x `block` cells of [frames, rows, columns]; the last ones over what is there."""
    rows, columns = (range(0, size, block) for size in frames.shape[1:])
    filled = np.nan_to_num(frames, posinf=0, neginf=0)
    total = np.add.reduceat(np.add.reduceat(filled, rows, axis=1), columns, axis=2)
    high, wide = (np.minimum(block, size - np.arange(0, size, block)) for size in frames.shape[1:])
    return (total / (high[:, None] * wide)).astype(np.float32)


def _spans(labels: Sequence[str], block: int) -> list[str]:
    """Each block's labels as first–last."""
    groups = [labels[start : start + block] for start in range(0, len(labels), block)]
    return [group[0] if len(group) == 1 else f"{group[0]}–{group[-1]}" for group in groups]


def played(count: int, cells: int) -> list[int]:
    """The frames that play, evenly spread with the first and the last: all, if `cells` in each fit the budget."""
    most = max(2, int(BUDGET / (cells * BYTES + 2000)) - 1)  # the figure itself holds one frame more
    return sorted({round(index) for index in np.linspace(0, count - 1, min(count, most))})
