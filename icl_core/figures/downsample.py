"""Large maps made small enough to be moved in the browser: means over square blocks of cells."""

from collections.abc import Sequence

import numpy as np

SIDE = 68  # cells along a side: a few more than 64, so that an alphabet of 65 is not coarsened


def block_means_of(
    matrix: np.ndarray, rows: Sequence[str], columns: Sequence[str]
) -> tuple[np.ndarray, Sequence[str], Sequence[str]]:
    """A matrix [rows, columns] and its labels; with more than 68 a side as means over square
    blocks."""
    block = block_of(matrix)
    if block == 1:
        return matrix, rows, columns
    return means(matrix, block), _spans(rows, block), _spans(columns, block)


def block_of(matrix: np.ndarray) -> int:
    """How many cells along its sides a block of a matrix has; 1 if it is small enough."""
    return -(-max(matrix.shape) // SIDE)


def means(matrix: np.ndarray, block: int) -> np.ndarray:
    """Means over `block` x `block` cells of [rows, columns]; the last ones over what is there."""
    rows, columns = (range(0, size, block) for size in matrix.shape)
    total = np.add.reduceat(
        np.add.reduceat(np.nan_to_num(matrix, posinf=0, neginf=0), rows, axis=0), columns, axis=1
    )
    high, wide = (np.minimum(block, size - np.arange(0, size, block)) for size in matrix.shape)
    return (total / (high[:, None] * wide)).astype(np.float32)


def _spans(labels: Sequence[str], block: int) -> list[str]:
    """Each block's labels as first–last."""
    groups = [labels[start : start + block] for start in range(0, len(labels), block)]
    return [group[0] if len(group) == 1 else f"{group[0]}–{group[-1]}" for group in groups]
