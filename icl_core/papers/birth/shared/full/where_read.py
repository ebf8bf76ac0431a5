"""Whether the heads of a layer look one back where the next layer reads.

A head that finds the previous character need not do so at every position: only what the next layer
reads counts, and it reads early positions most. The authors' code probes this while it trains
(`score_cond_acc`): at an in-context query, take the position at which the next layer, its heads
averaged, looks most. From there, is a head's strongest look at the position before? Here also: how
much of its attention is there.
"""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from icl_core.papers.birth.shared.full.head_scores import passes
from icl_core.papers.birth.shared.full.model import Weights
from icl_core.papers.birth.shared.task import Batch

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
