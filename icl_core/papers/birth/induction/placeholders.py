"""The score of an explanation: what a trained model keeps when constructed matrices stand in for
its own."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.contract.experiment import CannotDraw, Run
from icl_core.papers.birth.induction.beside_construction import align, causal
from icl_core.papers.birth.induction.load_run import weights_at
from icl_core.papers.birth.shared.accuracy import hits
from icl_core.papers.birth.shared.construction import construct
from icl_core.papers.birth.shared.gradient import share
from icl_core.papers.birth.shared.model import Weights, forward
from icl_core.papers.birth.shared.probes import memory_scores
from icl_core.papers.birth.shared.task import Batch, Task
from icl_core.papers.birth.shared.train import held_out, task_of

# held-out positions evaluated; sequences at once, to bound the memory
POSITIONS = 2**13
AT_ONCE = 16
TOGETHER = "all together"
CLEANED = "cleaned"


class Kept(NamedTuple):
    """What stays of the trained model: the share of its accuracy, with its standard error, and of
    the variance of its logits; both in context."""

    accuracy: float
    error: float
    logits: float


def kept(run: Run, snapshot: int) -> dict[str, Kept]:
    """By what stands in: each constructed matrix alone, all together, and all without their
    cross-talk."""
    trained = weights_at(run, snapshot)
    task = task_of(run.config)
    batch = held_out(task, max(AT_ONCE, POSITIONS // run.config.T), "cpu")
    own = logits_of(trained, batch)
    right = share(hits(own, batch.targets), batch.in_context)[0]
    if not right:
        raise CannotDraw(
            "no prediction in context is right at this step: there is no accuracy to keep"
        )
    return {
        name: _compared(own, logits_of(weights, batch), batch, right)
        for name, weights in models(trained, task).items()
    }


def models(trained: Weights, task: Task) -> dict[str, Weights]:
    """Return the models of which `kept` tells: each constructed matrix times the factor that fits
    its readings best."""
    names = list(trained.trained())
    made = {way: construct(trained, task, cross_talk=way) for way in ("kept", "stream")}
    fitted = {
        way: {name: _fitted(name, trained, built, task) for name in names}
        for way, built in made.items()
    }
    alone = {name: trained.with_(**{name: fitted["kept"][name]}) for name in names}
    return {
        **alone,
        TOGETHER: trained.with_(**fitted["kept"]),
        CLEANED: trained.with_(**fitted["stream"]),
    }


def _fitted(name: str, trained: Weights, built: Weights, task: Task) -> Float[Tensor, "d d"]:
    goal, model = (memory_scores(name, each, task).matrix for each in (trained, built))
    return (
        align(name, goal, model, causal(len(trained.P)) if name == "W_K1" else None).factor
        * built[name]
    )


@torch.no_grad()
def logits_of(weights: Weights, batch: Batch) -> Float[Tensor, "batch T N"]:
    """Return the logits less their mean at each position, which the softmax cannot see."""
    found = torch.cat([forward(weights, tokens)[0] for tokens in batch.inputs.split(AT_ONCE)])
    return found - found.mean(-1, keepdim=True)


def _compared(own: Tensor, other: Tensor, batch: Batch, right: float) -> Kept:
    accuracy, error = share(hits(other, batch.targets), batch.in_context)
    mine, theirs = (each[batch.in_context].double() for each in (own, other))
    crossed = float((mine * theirs).sum()) ** 2
    whole = float(mine.square().sum() * theirs.square().sum())
    return Kept(accuracy / right, error / right, crossed / whole if whole else 0.0)
