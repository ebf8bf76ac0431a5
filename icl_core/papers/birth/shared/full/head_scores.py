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
    """Run the model over a batch in chunks that fit the cache. Yield of each chunk the indices of
    its sequences, the sequences, and what the model makes of them."""
    for rows in torch.arange(len(batch.inputs)).split(chunk_of(batch)):
        part = batch.take(rows, batch.tokens.device)
        yield rows, part, forward(weights, part.inputs, heads)


@torch.no_grad()
def evaluate(weights: Weights, batch: Batch, heads: int) -> dict[str, float]:
    """Return `achieved` of a model on a batch."""
    outcomes = []
    for _, part, outcome in passes(weights, batch, heads):
        outcomes.append(loss_and_hits(outcome.logits, part))
    return achieved(batch, outcomes)


@torch.no_grad()
def look(weights: Weights, batch: Batch, heads: int) -> tuple[dict[str, float], Behaviour]:
    """Return what `evaluate` returns, and what every head does, [layers × heads]."""
    outcomes = []
    measures = []
    for _, part, outcome in passes(weights, batch, heads):
        outcomes.append(loss_and_hits(outcome.logits, part))
        maps = torch.cat(outcome.attention, 1)  # (chunk, layers × heads, T, T)
        measures.append(measure(maps, part.inputs))
    every = Measures(*(torch.cat(chunks) for chunks in zip(*measures, strict=True)))
    assert every.previous.shape[1] == heads * layers_of(weights)
    return achieved(batch, outcomes), summary(every, batch.in_context, batch.global_)


def loss_and_hits(
    logits: Float[Tensor, "batch T N"], part: Batch
) -> tuple[Float[Tensor, "batch T"], Float[Tensor, "batch T"]]:
    """Return the cross entropy at every position, in nats, and how often the prediction is right
    there (`hits`)."""
    loss = F.cross_entropy(logits.mT, part.targets, reduction="none")
    return loss, hits(logits, part.targets)


def achieved(batch: Batch, outcomes: list[tuple[Tensor, Tensor]]) -> dict[str, float]:
    """Return accuracy and loss in context, accuracy_new where the target is not the input itself,
    and the global loss; each with its standard error under its name with `_error`.

    `outcomes` are `loss_and_hits` of the batch's parts, in order.
    """
    losses, rights = zip(*outcomes, strict=True)
    loss = torch.cat(losses)  # (batch, T)
    right = torch.cat(rights)  # (batch, T)
    shares = {
        "accuracy": share(right, batch.in_context),
        "accuracy_new": share(right, batch.in_context & (batch.targets != batch.inputs)),
        "in_context_loss": share(loss, batch.in_context),
        "global_loss": share(loss, batch.global_),
    }
    means = {name: mean for name, (mean, _) in shares.items()}
    errors = {f"{name}_error": error for name, (_, error) in shares.items()}
    return means | errors
