"""How a number on a map is made: values only, which the page shows.

A drawing of the stage tells in `Drawing.explanations` what its maps hold and of which terms the
number in any cell is made.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

SUM, PRODUCT, MEAN = "sum", "product", "mean"
TOGETHER = {SUM: sum, PRODUCT: prod, MEAN: lambda values: sum(values) / len(values)}
MOST, RIVALS = 10, 5  # terms, and cells beside it, that are listed


@dataclass(frozen=True)
class Term:
    """A named number, and what it is."""

    name: str
    value: float
    says: str = ""


@dataclass(frozen=True)
class Competitor:
    """A cell with which another one shares a softmax: its score, its share."""

    name: str
    score: float
    share: float


@dataclass(frozen=True)
class Explanation:
    """How the number of a cell is made.

    title   which cell it is
    says    how the number comes about, in a sentence or two
    value   what the map shows
    terms   what makes it, `joined` by SUM, PRODUCT or MEAN: the number itself or, if the map shows
            the share, the score
    share   the share of the softmax that the cell has, among its `rivals` with the largest scores
    beside  what it is compared with: a construction, an identity
    """

    title: str
    says: str
    value: float
    terms: tuple[Term, ...]
    joined: str = SUM
    share: float | None = None
    rivals: tuple[Competitor, ...] = ()
    beside: tuple[Term, ...] = ()

    @property
    def total(self) -> float:
        """What the terms make together."""
        return float(TOGETHER[self.joined]([term.value for term in self.terms]))


@dataclass(frozen=True, eq=False)
class Map:
    """A map of a drawing: its numbers [rows, columns] as shown, NaN where a cell is blank; what a
    row and a column are, `sides`, and the label of each; `explain` takes the indices of a row and a
    column."""

    title: str
    matrix: np.ndarray
    sides: tuple[str, str]
    rows: Sequence[str]
    columns: Sequence[str]
    explain: Callable[[int, int], Explanation]

    @property
    def strongest(self) -> tuple[int, int]:
        """The row and column of the largest number, by size; not in a row of one number, whose
        share is always all."""
        sizes = np.nan_to_num(np.abs(self.matrix), nan=-1.0)
        few = np.isfinite(self.matrix).sum(1) < 2
        found = np.unravel_index((sizes - few[:, None] * sizes.max()).argmax(), self.matrix.shape)
        return int(found[0]), int(found[1])

    def is_blank(self, row: int, column: int) -> bool:
        """Whether there is no number in a cell."""
        return bool(np.isnan(self.matrix[row, column]))


def largest(terms: Iterable[Term], rest: str, most: int = MOST) -> tuple[Term, ...]:
    """The terms of a sum, largest first; of more than `most` the smaller ones as one, called by
    their number and `rest`."""
    found = sorted(terms, key=lambda term: -abs(term.value))
    if len(found) <= most:
        return tuple(found)
    small = found[most - 1 :]
    return (*found[: most - 1], Term(f"{len(small)} {rest}", sum(term.value for term in small)))


def softmax(
    names: Sequence[str], scores: np.ndarray, at: int
) -> tuple[float, tuple[Competitor, ...]]:
    """The share of the cell `at` among all of `names`, and the cells with the largest scores
    [names]."""
    shares = np.exp(scores - scores.max())
    shares = shares / shares.sum()
    first = np.argsort(-scores, kind="stable")[:RIVALS]
    return float(shares[at]), tuple(
        Competitor(names[int(i)], float(scores[i]), float(shares[i])) for i in first
    )
