"""One pass over held-out sequences: what a model achieves there, and what each of its
heads does; and whether the heads of a layer look one back where the next layer reads.

A head that finds the previous character need not do so at every position: only what the next layer
reads counts, and it reads early positions most. The authors' code probes this while it trains
(`score_cond_acc`): at an in-context query, take the position at which the next layer, its heads
averaged, looks most. From there, is a head's strongest look at the position before? Here also: how
much of its attention is there.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from icl_core.machine import cores
from icl_core.papers.birth.shared.accuracy import hits, share
from icl_core.papers.birth.shared.behaviour import Behaviour, Measures, measure, summary
from icl_core.papers.birth.shared.full.model import Pass, Weights, forward, layers_of
from icl_core.papers.birth.shared.full.train import chunk_of
from icl_core.papers.birth.shared.task import Batch


def head_names(layers: int, heads: int) -> list[str]:
    """Return the ids of all heads, layer.head: "1.1", "1.2", …"""
    return [f"{layer}.{head}" for layer in range(1, layers + 1) for head in range(1, heads + 1)]


def passes(weights: Weights, batch: Batch, heads: int) -> Iterator[tuple[Tensor, Batch, Pass]]:
    """Run the model over a batch in chunks that fit the cache. Yield of each chunk the indices of
    its sequences, the sequences, and what the model makes of them."""

    @torch.no_grad()  # also in a thread of its own
    def work(rows: Tensor) -> tuple[Tensor, Batch, Pass]:
        part = batch.take(rows, batch.tokens.device)
        return rows, part, forward(weights, part.inputs, heads)

    return cores.in_order(work, torch.arange(len(batch.inputs)).split(chunk_of(batch)))


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


PROBED = 2**13  # held-out positions on which the heads of a trained model are probed


class OneBack(NamedTuple):
    """What heads do where the next layer reads, a value a head; NaN for those of the last layer,
    which no layer reads.

    attention  their attention on the position before, means over queries
    strongest  the share of queries at which their strongest look is there (`score_cond_acc`)
    """

    attention: Float[np.ndarray, "*snapshots heads"]
    strongest: Float[np.ndarray, "*snapshots heads"]


@torch.no_grad()
def one_back_of(weights: Weights, batch: Batch, heads: int) -> OneBack:
    """Return `one_back` of a model at the in-context queries of a batch, [layers × heads]."""
    maps = []
    for _, _, outcome in passes(weights, batch, heads):
        maps.append(torch.cat(outcome.attention, 1))  # (chunk, layers × heads, T, T)
    return one_back(torch.cat(maps), batch.in_context, heads)


def one_back(
    maps: Float[Tensor, "batch all_heads T T"], queries: Bool[Tensor, "batch T"], heads: int
) -> OneBack:
    """Return what every head does where the next layer reads.

    maps     attention of all layers' heads, those of layer 1 first; rows are queries
    queries  the queries that count
    heads    heads a layer

    Queries from which the next layer looks at the first position are left out: nothing is before
    it. NaN also if no query is left.
    """
    count = maps.shape[1]
    attention = np.full(count, np.nan)
    strongest = np.full(count, np.nan)
    for start in range(0, count - heads, heads):
        reader = maps[:, start + heads : start + 2 * heads].mean(1)  # (batch, T, T)
        place = reader.argmax(-1)  # (batch, T): where the next layer looks most
        counted = queries & (place > 0)  # (batch, T)
        before = (place - 1).clamp(min=0)[..., None]  # (batch, T, 1)
        for head in range(start, start + heads):
            keys = place[..., None].expand_as(reader)  # (batch, T, T)
            rows = maps[:, head].gather(1, keys)  # (batch, T, T): at the places read
            masses = rows.gather(2, before)[..., 0]  # (batch, T)
            hits = rows.argmax(-1) == before[..., 0]  # (batch, T)
            attention[head] = float(masses[counted].double().mean())
            strongest[head] = float(hits[counted].double().mean())
    return OneBack(attention, strongest)
