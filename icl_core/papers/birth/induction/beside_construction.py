"""A trained matrix beside its construction: the same readings of both, aligned fairly, and how well
each recalls; and the score of an explanation: how much of what a trained model achieves stays when
constructed matrices stand in for its own.

A construction's scale is free, and the softmax does not see everything. So what it cannot see is
removed first; then one factor is fitted; then the readings are subtracted.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from icl_core.contract.experiment import CannotDraw, Run
from icl_core.papers.birth.induction.load_run import weights_at
from icl_core.papers.birth.shared.accuracy import hits, share
from icl_core.papers.birth.shared.construction import construct
from icl_core.papers.birth.shared.model import Weights, forward
from icl_core.papers.birth.shared.probes import OVER, Scores, margin, memory_scores, recall
from icl_core.papers.birth.shared.task import Batch, Task
from icl_core.papers.birth.shared.train import held_out, task_of

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


POSITIONS = 2**13  # held-out positions on which the models are evaluated
AT_ONCE = 16  # sequences evaluated together, to bound the memory
# the names of the models with all matrices constructed: as they are, and without cross-talk
TOGETHER = "all together"
CLEANED = "cleaned"


class Kept(NamedTuple):
    """What stays of the trained model in context: the share of its accuracy, with its standard
    error, and the share of its logits' variance (R^2)."""

    accuracy: float
    error: float
    logits: float


def kept(run: Run, snapshot: int) -> dict[str, Kept]:
    """Return what stays of the trained model by what stands in: each constructed matrix alone, all
    together, and all without their cross-talk. Raises `CannotDraw` if no prediction in context is
    right."""
    trained = weights_at(run, snapshot)
    task = task_of(run.config)
    batch = held_out(task, max(AT_ONCE, POSITIONS // run.config.T), "cpu")
    own = logits_of(trained, batch)  # (batch, T, N)
    accuracy, _ = share(hits(own, batch.targets), batch.in_context)
    if not accuracy:
        raise CannotDraw(
            "no prediction in context is right at this step: there is no accuracy to keep"
        )
    return {
        name: _compared(own, logits_of(weights, batch), batch, accuracy)
        for name, weights in models(trained, task).items()
    }


def models(trained: Weights, task: Task) -> dict[str, Weights]:
    """Return the models that `kept` measures, by what stands in; each constructed matrix is
    multiplied by the factor that fits its readings best."""
    names = list(trained.trained())
    built = construct(trained, task, cross_talk="kept")
    cleaned = construct(trained, task, cross_talk="stream")
    with_cross_talk = {name: _fitted(name, trained, built, task) for name in names}
    without = {name: _fitted(name, trained, cleaned, task) for name in names}
    alone = {name: trained.with_(**{name: with_cross_talk[name]}) for name in names}
    return {
        **alone,
        TOGETHER: trained.with_(**with_cross_talk),
        CLEANED: trained.with_(**without),
    }


def _fitted(name: str, trained: Weights, built: Weights, task: Task) -> Float[Tensor, "d d"]:
    """Return the constructed matrix `name` times the factor that fits its readings best."""
    goal = memory_scores(name, trained, task).matrix
    model = memory_scores(name, built, task).matrix
    seen = causal(len(trained.P)) if name == "W_K1" else None  # no query ever sees a later key
    return align(name, goal, model, seen).factor * built[name]


@torch.no_grad()
def logits_of(weights: Weights, batch: Batch) -> Float[Tensor, "batch T N"]:
    """Return the logits less their mean at each position, which the softmax cannot see."""
    parts = [forward(weights, tokens)[0] for tokens in batch.inputs.split(AT_ONCE)]
    logits = torch.cat(parts)  # (batch, T, N)
    return logits - logits.mean(-1, keepdim=True)


def _compared(
    own: Float[Tensor, "batch T N"],
    other: Float[Tensor, "batch T N"],
    batch: Batch,
    own_accuracy: float,
) -> Kept:
    """Return what stays of the trained model's `own` logits and accuracy with `other` logits."""
    accuracy, error = share(hits(other, batch.targets), batch.in_context)
    of_trained = own[batch.in_context].double()  # (positions, N)
    of_other = other[batch.in_context].double()  # (positions, N)
    covariance = float((of_trained * of_other).sum())
    variances = float(of_trained.square().sum() * of_other.square().sum())
    explained = covariance**2 / variances if variances else 0.0
    return Kept(accuracy / own_accuracy, error / own_accuracy, explained)
