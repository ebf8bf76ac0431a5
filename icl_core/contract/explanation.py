"""Explanations of the numbers on a map: the terms of which the number in a cell is computed.

A drawing of the stage has them in `Drawing.explanations`. Values only; the page shows them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

SUM, PRODUCT, MEAN = "sum", "product", "mean"
TOGETHER = {SUM: sum, PRODUCT: prod, MEAN: lambda values: sum(values) / len(values)}
MOST = 10  # terms that are listed
COMPETITORS = 5  # cells of the same softmax that are listed


@dataclass(frozen=True)
class Term:
    """A named number; `says` is what it is, in words."""

    name: str
    value: float
    says: str = ""


@dataclass(frozen=True)
class Competitor:
    """A cell of the same softmax, with its score and its share of the softmax."""

    name: str
    score: float
    share: float


@dataclass(frozen=True)
class Explanation:
    """How the number in a cell is computed.

    title   names the cell
    says    one or two sentences on the computation
    value   the number on the map
    terms   the numbers of which it is computed; if the map shows a share, those of its score
    joined  how the terms are combined: SUM, PRODUCT or MEAN
    share   the cell's share of its softmax; None if there is no softmax
    competitors  the cells with the largest scores in that softmax
    beside  numbers to compare it with: a construction's, an identity's
    """

    title: str
    says: str
    value: float
    terms: tuple[Term, ...]
    joined: str = SUM
    share: float | None = None
    competitors: tuple[Competitor, ...] = ()
    beside: tuple[Term, ...] = ()

    @property
    def total(self) -> float:
        """The number that the combined terms give."""
        return float(TOGETHER[self.joined]([term.value for term in self.terms]))


@dataclass(frozen=True, eq=False)
class Map:
    """A map of a drawing with explanations.

    title    its title
    matrix   the numbers [rows, columns] as shown; NaN for a blank cell
    sides    what a row is and what a column is
    rows     the label of each row
    columns  the label of each column
    explain  takes the indices of a row and a column and returns the cell's explanation
    """

    title: str
    matrix: np.ndarray
    sides: tuple[str, str]
    rows: Sequence[str]
    columns: Sequence[str]
    explain: Callable[[int, int], Explanation]

    @property
    def strongest(self) -> tuple[int, int]:
        """The row and column of the number with the largest absolute value.

        Rows with a single number come last: its share of a softmax is always 1.
        """
        sizes = np.nan_to_num(np.abs(self.matrix), nan=-1.0)
        few = np.isfinite(self.matrix).sum(1) < 2  # [rows]
        row, column = np.unravel_index(
            (sizes - few[:, None] * sizes.max()).argmax(), self.matrix.shape
        )
        return int(row), int(column)

    def is_blank(self, row: int, column: int) -> bool:
        """Return whether a cell has no number."""
        return bool(np.isnan(self.matrix[row, column]))


def largest(terms: Iterable[Term], rest: str, most: int = MOST) -> tuple[Term, ...]:
    """Return the terms of a sum in order of absolute value, largest first.

    If there are more than `most`, the smallest are added up to one term named by their count and
    `rest`.
    """
    ordered = sorted(terms, key=lambda term: -abs(term.value))
    if len(ordered) <= most:
        return tuple(ordered)
    small = ordered[most - 1 :]
    return (*ordered[: most - 1], Term(f"{len(small)} {rest}", sum(term.value for term in small)))


def softmax(
    names: Sequence[str], scores: np.ndarray, at: int
) -> tuple[float, tuple[Competitor, ...]]:
    """Return the share of the cell with index `at` in the softmax of `scores` [cells], and the
    cells with the largest scores, called by `names` [cells]."""
    shares = np.exp(scores - scores.max())
    shares = shares / shares.sum()  # [cells]
    largest_scores = np.argsort(-scores, kind="stable")[:COMPETITORS]
    competitors = tuple(
        Competitor(names[int(i)], float(scores[i]), float(shares[i])) for i in largest_scores
    )
    return float(shares[at]), competitors
