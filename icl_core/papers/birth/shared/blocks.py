"""A matrix read with everything that it meets in the residual stream, not only with what it is to
store: spurious memories show up beside the stored ones.

A memory is read as V W U^T (`memories.py`). Here V and U are all parts of the stream, end to end;
the block in which both are what it stores is the memory's own map.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.figures import visible_characters
from icl_core.papers.birth.shared.memories import memory_tokens
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.superposition import place
from icl_core.papers.birth.shared.task import Task

SHOWN = 32  # of the characters, the most frequent, and of the positions, the first, that are drawn
STORED = {
    "W_K1": ("p", "p"),
    "W_K2": ("w_E", "R¹ w_E"),
    "W_O2": ("w_U", "w_E"),
    "W_F": ("w_U", "w_E"),
}


Parts = Float[Tensor, "n d"]


class Blocks(NamedTuple):
    """All readings of a matrix: rows queries or outputs, columns keys or inputs. Of each side the
    parts by name, in order, with a label for each of their vectors."""

    matrix: Float[np.ndarray, "rows columns"]
    rows: dict[str, list[str]]
    columns: dict[str, list[str]]

    def block(self, row: str, column: str) -> Float[np.ndarray, "rows columns"]:
        """Return the readings of two parts."""
        return self.matrix[span(self.rows, row), span(self.columns, column)]


class Read(NamedTuple):
    """A block: the mean along its diagonal, NaN if its sides differ in kind, and the root mean
    square of all else. Of positions the diagonal is that of equal ones or of neighbours, whichever
    is stronger."""

    row: str
    column: str
    diagonal: float
    rest: float


def span(parts: Mapping[str, list[str]], name: str) -> slice:
    """Return where a part's rows or columns are."""
    before = list(parts)[: list(parts).index(name)]
    start = sum(len(parts[each]) for each in before)
    return slice(start, start + len(parts[name]))


def blocks_of(name: str, weights: Weights, task: Task, most: int | None = None) -> Blocks:
    """Return the readings of W_K1, W_K2, W_O2 or W_F with all that it meets; `most` characters and
    positions at most."""
    keys = _stream(name, weights)
    V = keys if name.startswith("W_K") else {"w_U": weights.W_U}
    U = {part: each @ weights.V2.T for part, each in keys.items()} if name == "W_O2" else keys
    return block_products(V, {part: each @ weights[name].T for part, each in U.items()}, task, most)


def block_products(
    V: Mapping[str, Parts], U: Mapping[str, Parts], task: Task, most: int | None
) -> Blocks:
    """Return the products of all vectors V with all U, which are what a matrix makes of the vectors
    read."""
    places = next(iter(len(each) for part, each in {**U, **V}.items() if _place(part)))
    kept = {False: _frequent(task, most), True: torch.arange(places)[:most]}
    labels = {
        False: visible_characters([task.characters[i] for i in kept[False]]),
        True: [place(int(at)) for at in kept[True]],
    }
    rows, columns = (
        torch.cat([each[kept[_place(part)]] for part, each in side.items()]) for side in (V, U)
    )
    named = ({part: labels[_place(part)] for part in side} for side in (V, U))
    return Blocks((rows @ columns.T).numpy(), *named)


def _stream(name: str, weights: Weights) -> dict[str, Float[Tensor, "n d"]]:
    """Return the parts of the stream that a matrix reads."""
    found = {"w_E": weights.W_E, "p": weights.P}
    if name != "W_K1":
        found |= {f"R¹ {part}": each @ weights.R1.T for part, each in found.items()}
    if name == "W_F":
        found["W_O² W_V² w_E"] = weights.W_E @ weights.V2.T @ weights.W_O2.T
    return found


def _place(part: str) -> bool:
    """Return whether a part has a vector a position, not a character."""
    return part.endswith("p")


def _frequent(task: Task, most: int | None) -> Tensor:
    """Return the most frequent characters, in the order of the vocabulary."""
    return task.unigram.argsort(descending=True, stable=True)[:most].sort().values


def readings(found: Blocks, name: str, task: Task) -> list[Read]:
    """Return what stands in every block, row by row."""
    return [_read(found, name, task, row, column) for row in found.rows for column in found.columns]


def _read(found: Blocks, name: str, task: Task, row: str, column: str) -> Read:
    block = found.block(row, column).astype(np.float64)
    if _place(row) != _place(column):
        return Read(row, column, math.nan, _rms(block))
    if (row, column) == STORED[
        name
    ]:  # its pairs: a position and the one before it, a trigger and its copy
        among = np.diagonal(block, -1) if name == "W_K1" else np.diagonal(block)
        pairs = among[memory_tokens(task).numpy()] if name == "W_K2" else among
    else:
        among = pairs = max(
            (np.diagonal(block, -at) for at in range(1 + _place(row))),
            key=lambda each: abs(each.mean()),
        )
    rest = np.square(block).sum() - np.square(among).sum()
    return Read(
        row, column, float(pairs.mean()), math.sqrt(max(0.0, rest) / (block.size - among.size))
    )


def _rms(block: np.ndarray) -> float:
    return float(np.sqrt(np.square(block).mean()))


def spurious(found: list[Read], name: str) -> list[Read]:
    """Return the blocks that hold a diagonal of their own though nothing is to be stored there, the
    strongest first."""
    others = [
        each
        for each in found
        if (each.row, each.column) != STORED[name] and abs(each.diagonal) >= each.rest
    ]
    return sorted(others, key=lambda each: -abs(each.diagonal))
