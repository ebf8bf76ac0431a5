"""A trained matrix beside its construction: the same readings of both, aligned fairly, and how well each recalls."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from icl_core.papers.birth.induction.alignment import Aligned, align, causal
from icl_core.papers.birth.shared.construction import construct
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.probes import OVER, Scores, margin, memory_scores, recall
from icl_core.papers.birth.shared.train import task_of


@dataclass(frozen=True)
class Comparison:
    """Readings v_j^T W u_i of both, raw and aligned. `recall` and `margin`, each (trained, constructed), are None for
    W_F, which stores a table and no pairs. `matrix` is the construction at factor one, [d, d]."""

    trained: Scores
    constructed: Scores
    aligned: Aligned
    recall: tuple[float, float] | None
    margin: tuple[float, float] | None
    matrix: Tensor


def compare(name: str, weights: Weights, config: Any) -> Comparison:
    """The trained matrix `name` and what eqs. 7 and 8 build from the same embeddings."""
    task = task_of(config)
    built = construct(weights, task)
    trained, constructed = (memory_scores(name, each, task) for each in (weights, built))
    seen = causal(config.T) if name == "W_K1" else None  # no query ever sees a later key
    aligned = align(name, trained.matrix, constructed.matrix, seen)
    recalled = margins = None
    if name in OVER:
        over = OVER[name]
        recalled = (recall(trained.matrix, over), recall(constructed.matrix, over))
        margins = (margin(trained.matrix, over), aligned.factor * margin(constructed.matrix, over))
    return Comparison(trained, constructed, aligned, recalled, margins, built[name])


def rank(matrix: Tensor, share: float = 0.99) -> int:
    """How many singular directions hold `share` of the matrix's square."""
    energy = torch.linalg.svdvals(matrix).square().cumsum(0)
    return int((energy < share * energy[-1]).sum()) + 1


def wrong(name: str, found: Scores) -> list[tuple[str, str, str, float]]:
    """The pairs recalled wrongly: asked with, answered, should be, short by; the worst first."""
    over = OVER.get(name)
    if over is None:
        return []
    S, asked, answers = (
        (found.matrix, found.rows, found.columns) if over == "keys" else (found.matrix.T, found.columns, found.rows)
    )
    best = S.max(1)
    gaps = (best.values - S.diagonal()).tolist()
    rows = [(asked[i], answers[j], answers[i], gaps[i]) for i, j in enumerate(best.indices.tolist()) if j != i]
    return sorted(rows, key=lambda row: -row[3])
