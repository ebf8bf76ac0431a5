"""What heads do where the next layer reads: planted in maps, in a constructed model, and missed by
a mean over all positions."""

import math

import numpy as np
import pytest
import torch

from icl_core.papers.birth.shared import model as simplified
from icl_core.papers.birth.shared.behaviour import average, on_previous
from icl_core.papers.birth.shared.construction import construct
from icl_core.papers.birth.shared.full.head_scores import one_back
from icl_core.papers.birth.shared.full.model import forward
from icl_core.papers.birth.shared.task import make_task, sample
from tests.papers.test_birth_transformer import as_full

T = 6


def causal(rows: list[list[float]]) -> torch.Tensor:
    """Return a map whose row t has the given first weights, the rest of its mass on itself."""
    attention = torch.zeros(T, T)
    for t, weights in enumerate(rows):
        attention[t, : len(weights)] = torch.tensor(weights)
        attention[t, t] += 1 - sum(weights)
    return attention


def test_only_the_places_that_are_read_count():
    """The reader looks from queries 3, 4 and 5 at places 2, 1 and 0; the head looks one back from
    2 with .9 and from 1 with .2, and everywhere else at itself."""
    head = causal([[], [0.2], [0.0, 0.9], [], [], []])
    other = causal([[], [], [], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0], [0.0] * 4 + [1.0]])
    reader = causal([[], [], [], [0.0, 0.0, 0.8], [0.0, 0.6], [0.7]])
    unread = causal([[] for _ in range(T)])
    maps = torch.stack([head, other, reader, unread])[None]
    queries = torch.tensor([[False, False, False, True, True, True]])
    outcome = one_back(maps, queries, heads=2)
    # with a second head that looks at the query itself, the mean of both looks there most
    assert outcome.attention[:2] == pytest.approx([0.0, 1.0])
    outcome = one_back(maps[:, [0, 2]], queries, heads=1)
    # query 5 reads the first place, which has none before it
    assert outcome.attention[0] == pytest.approx((0.9 + 0.2) / 2)
    assert outcome.strongest[0] == pytest.approx(1 / 2)
    assert math.isnan(outcome.attention[1]) and math.isnan(outcome.strongest[1])


def test_a_loop_over_queries_measures_the_same():
    generator = torch.Generator().manual_seed(3)
    scores = torch.randn(2, 6, 9, 9, generator=generator, dtype=torch.float64)
    maps = scores.masked_fill(torch.ones(9, 9).triu(1).bool(), -math.inf).softmax(-1)
    queries = torch.rand(2, 9, generator=generator) < 0.6
    outcome = one_back(maps, queries, heads=2)
    for head in range(4):
        rows = places_read(maps, queries, head)
        on_previous_one = [float(row[place - 1]) for row, place in rows]
        assert outcome.attention[head] == pytest.approx(np.mean(on_previous_one))
        strongest = [int(row.argmax()) == place - 1 for row, place in rows]
        assert outcome.strongest[head] == pytest.approx(np.mean(strongest))
    assert np.isnan(outcome.attention[4:]).all()


def places_read(maps: torch.Tensor, queries: torch.Tensor, head: int) -> list:
    """Return the head's row at every place that the next layer reads, and the place."""
    rows = []
    for sequence, query in queries.nonzero().tolist():
        start = 2 * (head // 2) + 2
        place = int(maps[sequence, start : start + 2, query].sum(0).argmax())
        if place:
            rows.append((maps[sequence, head, place], place))
    return rows


def test_the_constructed_head_looks_one_back_where_it_is_read():
    task = make_task(N=16, K=3, T=32)
    embedded = simplified.initialise(
        16, 64, 32, torch.Generator().manual_seed(0), embeddings="orthonormal"
    )
    batch = sample(task, 64, torch.Generator().manual_seed(1))
    with torch.no_grad():
        outcome = forward(as_full(construct(embedded, task).to(torch.float64)), batch.inputs, 1)
    maps = torch.cat(outcome.attention, 1)
    measured = one_back(maps, batch.in_context, 1)
    assert measured.strongest[0] == 1
    assert measured.attention[0] > 0.99

    # a head that looks at itself wherever it is not read is as good, and a mean does not see that
    places = maps[:, 1].argmax(-1)  # (batch, T)
    is_read = torch.zeros_like(batch.in_context)
    for sequence, query in batch.in_context.nonzero().tolist():
        is_read[sequence, places[sequence, query]] = True
    lazy = maps.clone()
    lazy[:, 0] = torch.where(is_read[..., None], maps[:, 0], torch.eye(32, dtype=maps.dtype))
    assert one_back(lazy, batch.in_context, 1).attention[0] == measured.attention[0]
    assert average(on_previous(lazy))[0] < 0.5
