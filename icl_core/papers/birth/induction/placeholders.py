"""The score of an explanation: how much of what a trained model achieves stays when constructed
matrices stand in for its own."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.contract.experiment import CannotDraw, Run
from icl_core.papers.birth.induction.beside_construction import align, causal
from icl_core.papers.birth.induction.load_run import weights_at
from icl_core.papers.birth.shared.accuracy import hits, share
from icl_core.papers.birth.shared.construction import construct
from icl_core.papers.birth.shared.model import Weights, forward
from icl_core.papers.birth.shared.probes import memory_scores
from icl_core.papers.birth.shared.task import Batch, Task
from icl_core.papers.birth.shared.train import held_out, task_of

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
