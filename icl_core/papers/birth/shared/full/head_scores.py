"""One pass over held-out sequences: what a model achieves there, and what each of its
heads does."""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from icl_core.papers.birth.shared.accuracy import hits
from icl_core.papers.birth.shared.behaviour import Behaviour, Measures, measure, summary
from icl_core.papers.birth.shared.full.gradient import chunk_of
from icl_core.papers.birth.shared.full.model import Pass, Weights, forward, layers_of
from icl_core.papers.birth.shared.gradient import share
from icl_core.papers.birth.shared.task import Batch


def head_names(layers: int, heads: int) -> list[str]:
    """Return the ids of all heads, layer.head: "1.1", "1.2", …"""
    return [f"{layer}.{head}" for layer in range(1, layers + 1) for head in range(1, heads + 1)]


def passes(weights: Weights, batch: Batch, heads: int) -> Iterator[tuple[Tensor, Batch, Pass]]:
    """Return the model run over a batch, chunk by chunk: which sequences these are, they
    themselves, what it makes of them."""
    for rows in torch.arange(len(batch.inputs)).split(chunk_of(batch)):
        part = batch.take(rows, batch.tokens.device)
        yield rows, part, forward(weights, part.inputs, heads)


@torch.no_grad()
def evaluate(weights: Weights, batch: Batch, heads: int) -> dict[str, float]:
    """Return `achieved` of a model on a batch."""
    outcomes = [
        loss_and_hits(found.logits, part) for _, part, found in passes(weights, batch, heads)
    ]
    return achieved(batch, outcomes)


@torch.no_grad()
def look(weights: Weights, batch: Batch, heads: int) -> tuple[dict[str, float], Behaviour]:
    """`evaluate`, and what every head does, [layers × heads]."""
    outcomes = []
    measures = []
    for _, part, found in passes(weights, batch, heads):
        outcomes.append(loss_and_hits(found.logits, part))
        measures.append(measure(torch.cat(found.attention, 1), part.inputs))
    every = Measures(*(torch.cat(each) for each in zip(*measures, strict=True)))
    assert every.previous.shape[1] == heads * layers_of(weights)
    return achieved(batch, outcomes), summary(every, batch.in_context, batch.global_)


def loss_and_hits(
    logits: Float[Tensor, "batch T N"], part: Batch
) -> tuple[Float[Tensor, "batch T"], Float[Tensor, "batch T"]]:
    """Return the loss at every position, and whether the prediction is right."""
    loss = F.cross_entropy(logits.mT, part.targets, reduction="none")
    return loss, hits(logits, part.targets)


def achieved(batch: Batch, outcomes: list[tuple[Tensor, Tensor]]) -> dict[str, float]:
    """Return accuracy and loss in context, accuracy_new where the target is not the input itself,
    and the global loss; each with its standard error under its name with `_error`.

    `outcomes` are `loss_and_hits` of the batch's parts, in order.
    """
    loss, right = (torch.cat(each) for each in zip(*outcomes, strict=True))
    found = {
        "accuracy": share(right, batch.in_context),
        "accuracy_new": share(right, batch.in_context & (batch.targets != batch.inputs)),
        "in_context_loss": share(loss, batch.in_context),
        "global_loss": share(loss, batch.global_),
    }
    return {name: pair[0] for name, pair in found.items()} | {
        f"{name}_error": pair[1] for name, pair in found.items()
    }
