"""What heads do, measured: against loops, and on maps whose behaviour is planted."""

import math

import pytest
import torch

from icl_core.papers.birth.shared import behaviour
from icl_core.papers.birth.shared.behaviour import (
    EVEN,
    INDUCTION,
    OTHER,
    PREVIOUS,
    UNIFORM,
    Behaviour,
    role,
)
from icl_core.papers.birth.shared.task import Batch, make_task, sample


def maps(batch: int, heads: int, T: int) -> torch.Tensor:
    scores = torch.randn(
        batch, heads, T, T, generator=torch.Generator().manual_seed(1), dtype=torch.float64
    )
    return scores.masked_fill(torch.ones(T, T).triu(1).bool(), -math.inf).softmax(-1)


def followers(tokens: list[int], t: int) -> list[int]:
    return [s for s in range(1, t + 1) if tokens[s - 1] == tokens[t]]


def test_every_measure_equals_its_loop():
    task = make_task(N=12, K=3, T=40)
    tokens = sample(task, 3, torch.Generator().manual_seed(0)).inputs
    attention = maps(3, 2, 40)
    previous = behaviour.on_previous(attention)
    mass = behaviour.on_followers(attention, tokens[:, None])
    even = behaviour.by_chance(tokens)
    spread = behaviour.uniformity(attention)
    for b in range(3):
        for t in range(1, 40):
            keys = followers(tokens[b].tolist(), t)
            row = attention[b, 1, t]
            assert float(previous[b, 1, t]) == float(row[t - 1])
            expected = sum(float(row[s]) for s in keys) if keys else math.nan
            assert float(mass[b, 1, t]) == pytest.approx(expected, abs=1e-12, nan_ok=True)
            assert float(even[b, t]) == pytest.approx(
                len(keys) / (t + 1) if keys else math.nan, nan_ok=True
            )
            entropy = -sum(float(p) * math.log(float(p)) for p in row[: t + 1]) / math.log(t + 1)
            assert float(spread[b, 1, t]) == pytest.approx(
                entropy if t >= 16 else math.nan, abs=1e-6, nan_ok=True
            )
    assert previous[:, :, 0].isnan().all() and mass[:, :, 0].isnan().all()


def test_average_is_over_the_queries_asked_for():
    # [batch, heads, T]
    values = torch.tensor([[[math.nan, 1.0, 2.0]], [[math.nan, 3.0, math.nan]]])
    where = torch.tensor([[True, True, False], [True, True, True]])
    assert behaviour.average(values).tolist() == [2.0]
    assert behaviour.average(values, where).tolist() == [2.0]
    assert behaviour.average(values, where & False).isnan().all()
    torch.testing.assert_close(
        behaviour.by_position(values), torch.tensor([[math.nan, 2.0, 2.0]]), equal_nan=True
    )


def planted(tokens: torch.Tensor) -> torch.Tensor:
    """Heads that look one back, at followers (at themselves where there are none), everywhere, at
    the first token."""
    T = tokens.shape[1]
    back = torch.eye(T).roll(-1, 1).tril().clone()
    back[0, 0] = 1
    follows = behaviour.following(tokens).float()
    induction = torch.where(follows.any(-1, keepdim=True), follows, torch.eye(T))
    even = torch.ones(T, T).tril()
    first = torch.zeros(T, T)
    first[:, 0] = 1
    heads = (head.expand(len(tokens), T, T) for head in (back, induction, even, first))
    attention = torch.stack(list(heads), 1)
    return attention / attention.sum(-1, keepdim=True)


def summed(attention: torch.Tensor, batch: Batch) -> Behaviour:
    return behaviour.summary(
        behaviour.measure(attention, batch.inputs), batch.in_context, batch.global_
    )


def test_planted_heads_are_called_what_they_are():
    batch = sample(make_task(T=64), 16, torch.Generator().manual_seed(3))
    heads = summed(planted(batch.inputs), batch)
    assert isinstance(heads, Behaviour) and heads.previous.shape == (4,)
    for mass in (heads.previous[0], heads.triggers[1], heads.others[1]):
        assert float(mass) == pytest.approx(1)
    assert float(heads.uniformity[2]) == pytest.approx(1) and float(heads.uniformity[3]) == 0
    torch.testing.assert_close(heads.triggers[2], heads.triggers_even[2])
    measures = zip(
        heads.previous, heads.triggers, heads.triggers_even, heads.uniformity, strict=True
    )
    roles = [role(*map(float, head)) for head in measures]
    assert roles == [PREVIOUS, INDUCTION, UNIFORM, OTHER]


def test_a_head_that_knows_its_triggers_differs_from_one_that_does_not():
    batch = sample(make_task(T=64, triggers="fixed"), 16, torch.Generator().manual_seed(3))
    induction, even = planted(batch.inputs)[:, 1:3].unbind(1)
    knows = torch.where(batch.in_context[:, :, None], induction, even)
    head = summed(knows[:, None], batch)
    assert float(head.triggers) == pytest.approx(1)
    assert float(head.others) == pytest.approx(float(head.others_even))


def test_what_is_not_known_makes_no_role():
    assert role(math.nan, math.nan, math.nan, EVEN) == UNIFORM
    assert role(0.5, math.nan, math.nan, 0.2) == PREVIOUS
