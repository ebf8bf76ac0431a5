"""A trained matrix beside its construction: the same readings of both, aligned fairly, and how well
each recalls.

A construction's scale is free, and the softmax does not see everything. So first remove what it
cannot see, then fit one factor, then subtract.
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
    explained: (
        float  # R^2: share of the trained readings' square that the construction accounts for
    )


def visible(name: str, S: Readings, seen: Seen | None = None) -> Readings:
    """S less what a softmax cannot see. For W_K1 and W_K2 that is each query's mean over its keys
    (rows); for W_O2 and W_F each input's mean over outputs (columns). Entries not `seen`, such as
    future keys, become zero."""
    if name not in ("W_K1", "W_K2", "W_O2", "W_F"):
        raise ValueError(f"name must be W_K1, W_K2, W_O2 or W_F, got {name!r}")
    axis = 1 if name.startswith("W_K") else 0
    seen = torch.ones_like(S, dtype=torch.bool) if seen is None else seen
    mean = (S * seen).sum(axis, keepdim=True) / seen.sum(axis, keepdim=True).clamp(min=1)
    return (S - mean) * seen


def align(name: str, trained: Readings, constructed: Readings, seen: Seen | None = None) -> Aligned:
    """Fit the construction's readings to the trained ones by one factor, in least squares. The
    result does not depend on the scale of `constructed`, nor on anything that the softmax cannot
    see. Zero readings give the factor 0."""
    goal = visible(name, trained, seen).double()
    model = visible(name, constructed, seen).double()
    square = float(model.square().sum())
    whole = float(goal.square().sum())
    factor = float((goal * model).sum()) / square if square > 0 else 0.0
    difference = goal - factor * model
    explained = 1 - float(difference.square().sum()) / whole if whole > 0 else 0.0
    dtype = trained.dtype
    return Aligned(
        goal.to(dtype), (factor * model).to(dtype), difference.to(dtype), factor, explained
    )


def causal(T: int) -> Bool[Tensor, "t t"]:
    """Return which readings of W_K1 a causal model ever uses: query t + 1 (row t) with keys up to
    itself."""
    return torch.ones(T - 1, T - 1, dtype=torch.bool).tril(1)


@dataclass(frozen=True)
class Comparison:
    """Readings v_j^T W u_i of both, raw and aligned. `recall` and `margin`, each (trained,
    constructed), are None for W_F, which stores a table and no pairs. `matrix` is the construction
    at factor one, [d, d]."""

    trained: Scores
    constructed: Scores
    aligned: Aligned
    recall: tuple[float, float] | None
    margin: tuple[float, float] | None
    matrix: Tensor


def compare(name: str, weights: Weights, config: Any) -> Comparison:
    """Return the trained matrix `name` and what eqs. 7 and 8 build from the same embeddings."""
    task = task_of(config)
    built = construct(weights, task)
    trained, constructed = (memory_scores(name, each, task) for each in (weights, built))
    seen = causal(config.T) if name == "W_K1" else None  # no query ever sees a later key
    aligned = align(name, trained.matrix, constructed.matrix, seen)
    recalled = margins = None
    if over := OVER.get(name):
        recalled = (recall(trained.matrix, over), recall(constructed.matrix, over))
        margins = (margin(trained.matrix, over), aligned.factor * margin(constructed.matrix, over))
    return Comparison(trained, constructed, aligned, recalled, margins, built[name])


def rank(matrix: Tensor) -> int:
    """Return how many singular directions hold 99 % of the matrix's square; none of a zero
    matrix."""
    energy = torch.linalg.svdvals(matrix).double().square().cumsum(0)
    return int((energy < 0.99 * energy[-1]).sum()) + 1 if energy[-1] > 0 else 0


def wrong(name: str, found: Scores) -> list[tuple[str, str, str, float]]:
    """Return the pairs recalled wrongly: asked with, answered, should be, short by; the worst
    first."""
    if name not in OVER:
        return []
    S = found.matrix
    asked = found.rows
    answers = found.columns
    if OVER[name] == "queries":
        S, asked, answers = S.T, answers, asked
    best = S.max(1)
    gaps = (best.values - S.diagonal()).tolist()
    rows = [
        (asked[i], answers[j], answers[i], gaps[i])
        for i, j in enumerate(best.indices.tolist())
        if j != i
    ]
    return sorted(rows, key=lambda row: -row[3])
