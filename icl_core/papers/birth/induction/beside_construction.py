"""A trained matrix beside its construction: the same readings of both, aligned fairly, and how well
each recalls.

A construction's scale is free, and the softmax does not see everything. So what it cannot see is
removed first; then one factor is fitted; then the readings are subtracted.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from icl_core.papers.birth.shared.construction import construct
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.probes import OVER, Scores, margin, memory_scores, recall
from icl_core.papers.birth.shared.train import task_of

Readings = Float[Tensor, "rows columns"]
Seen = Bool[Tensor, "rows columns"]


class Aligned(NamedTuple):
    """Readings V W U^T of both memories without what the softmax cannot see."""

    trained: Readings
    constructed: Readings  # times the factor
    difference: Readings
    factor: float
    # R^2: the share of the trained readings' square that the construction accounts for
    explained: float


def visible(name: str, S: Readings, seen: Seen | None = None) -> Readings:
    """Return the readings S of the matrix `name` less what a softmax cannot see.

    For W_K1 and W_K2 that is each query's mean over its keys (rows); for W_O2 and W_F each input's
    mean over outputs (columns). Entries that are not `seen`, such as future keys, become zero.
    Raises `ValueError` for other names.
    """
    if name not in ("W_K1", "W_K2", "W_O2", "W_F"):
        raise ValueError(f"name must be W_K1, W_K2, W_O2 or W_F, got {name!r}")
    axis = 1 if name.startswith("W_K") else 0
    seen = torch.ones_like(S, dtype=torch.bool) if seen is None else seen
    count = seen.sum(axis, keepdim=True).clamp(min=1)  # (rows, 1) or (1, columns)
    mean = (S * seen).sum(axis, keepdim=True) / count  # (rows, 1) or (1, columns)
    return (S - mean) * seen  # (rows, columns)


def align(name: str, trained: Readings, constructed: Readings, seen: Seen | None = None) -> Aligned:
    """Fit the construction's readings to the trained ones by one factor, in least squares.

    The aligned readings do not depend on the scale of `constructed`, nor on anything that the
    softmax cannot see. Zero readings give the factor 0.
    """
    goal = visible(name, trained, seen).double()
    model = visible(name, constructed, seen).double()
    goal_square = float(goal.square().sum())
    model_square = float(model.square().sum())
    factor = float((goal * model).sum()) / model_square if model_square > 0 else 0.0
    fit = factor * model
    difference = goal - fit
    explained = 1 - float(difference.square().sum()) / goal_square if goal_square > 0 else 0.0
    dtype = trained.dtype
    return Aligned(goal.to(dtype), fit.to(dtype), difference.to(dtype), factor, explained)


def causal(T: int) -> Bool[Tensor, "t t"]:
    """Return which readings of W_K1 a causal model of length T ever uses: those of query t + 1
    (row t) with keys up to itself."""
    return torch.ones(T - 1, T - 1, dtype=torch.bool).tril(1)


@dataclass(frozen=True)
class Comparison:
    """Readings v_j^T W u_i of both, raw and aligned.

    recall, margin  (trained, constructed); None for W_F, which stores a table and no pairs
    matrix          the construction at factor one, [d, d]
    """

    trained: Scores
    constructed: Scores
    aligned: Aligned
    recall: tuple[float, float] | None
    margin: tuple[float, float] | None
    matrix: Tensor


def compare(name: str, weights: Weights, config: Any) -> Comparison:
    """Return the trained matrix `name` compared with what eqs. 7 and 8 build from the same
    embeddings."""
    task = task_of(config)
    built = construct(weights, task)
    trained = memory_scores(name, weights, task)
    constructed = memory_scores(name, built, task)
    seen = causal(config.T) if name == "W_K1" else None  # no query ever sees a later key
    aligned = align(name, trained.matrix, constructed.matrix, seen)
    recalls = None
    margins = None
    if over := OVER.get(name):
        recalls = (recall(trained.matrix, over), recall(constructed.matrix, over))
        margins = (margin(trained.matrix, over), aligned.factor * margin(constructed.matrix, over))
    return Comparison(trained, constructed, aligned, recalls, margins, built[name])


def rank(matrix: Tensor) -> int:
    """Return how many singular directions hold 99 % of the matrix's square; 0 for a zero matrix."""
    energy = torch.linalg.svdvals(matrix).double().square().cumsum(0)  # (d,)
    return int((energy < 0.99 * energy[-1]).sum()) + 1 if energy[-1] > 0 else 0


def wrong(name: str, scores: Scores) -> list[tuple[str, str, str, float]]:
    """Return the pairs that a matrix recalls wrongly, the worst first.

    Each has the name asked with, the answer, the right answer, and by how much the reading of the
    right answer is below that of the answer. Empty for W_F, which stores no pairs.
    """
    if name not in OVER:
        return []
    S = scores.matrix  # (asked, answers)
    asked = scores.rows
    answers = scores.columns
    if OVER[name] == "queries":
        S = scores.matrix.T
        asked = scores.columns
        answers = scores.rows
    best = S.max(1)
    gaps = (best.values - S.diagonal()).tolist()
    pairs = []
    for i, j in enumerate(best.indices.tolist()):
        if j != i:
            pairs.append((asked[i], answers[j], answers[i], gaps[i]))
    return sorted(pairs, key=lambda pair: -pair[3])
