"""Large maps reduced to a size that the browser can animate: means over square blocks of cells."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

SIDE = 68  # most cells along a side; more than 65, the size of an alphabet that is drawn in full
_whole = ContextVar("maps are drawn with all their cells", default=False)


@contextmanager
def every_cell() -> Iterator[None]:
    """Draw maps with all their cells, for a file instead of the browser."""
    token = _whole.set(True)
    try:
        yield
    finally:
        _whole.reset(token)


def block_means_of(
    matrix: np.ndarray, rows: Sequence[str], columns: Sequence[str]
) -> tuple[np.ndarray, Sequence[str], Sequence[str]]:
    """Return a matrix [rows, columns] and the labels of its rows and columns, as means over square
    blocks if a side has more than SIDE cells."""
    block = block_of(matrix)
    if block == 1:
        return matrix, rows, columns
    return means(matrix, block), _spans(rows, block), _spans(columns, block)


def block_of(matrix: np.ndarray) -> int:
    """Return the cells along the side of a block of a matrix; 1 if the matrix is small enough."""
    return 1 if _whole.get() else -(-max(matrix.shape) // SIDE)


def means(matrix: np.ndarray, block: int) -> np.ndarray:
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
