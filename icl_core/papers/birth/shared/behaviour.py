"""What an attention head does, measured on its maps alone, whatever model they come from.

Maps are [..., T, T], rows the queries, causal. Tokens are [..., T] and broadcast against the maps:
those of several heads [batch, heads, T, T] are measured with tokens[:, None]. Every measure is a
value a query [..., T]; `average` takes its mean where it is asked for.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

# what a head does, `role`
PREVIOUS = "previous"
INDUCTION = "induction"
UNIFORM = "uniform"
OTHER = "other"
# share of the mass that makes a role; share of the greatest entropy that is called uniform
MOST = 0.4
EVEN = 0.9
ROWS = 16  # the first rows have few keys: any map looks alike there


def following(tokens: Int[Tensor, "*heads T"]) -> Bool[Tensor, "*heads T T"]:
    """[t, s]: the key s, no later than the query t, follows an earlier occurrence of the query's
    token."""
    same = tokens[..., :, None] == tokens[..., None, :]  # [..., t, s]
    shifted = torch.zeros_like(same)
    shifted[..., 1:] = same[..., :-1]
    return shifted.tril()


def on_previous(attention: Float[Tensor, "*heads T T"]) -> Float[Tensor, "*heads T"]:
    """Return the mass on t − 1; NaN at the first position, which has none before it."""
    first = attention.new_full((*attention.shape[:-2], 1), math.nan)
    return torch.cat([first, attention.diagonal(-1, -2, -1)], -1)


def on_followers(
    attention: Float[Tensor, "*heads T T"], tokens: Int[Tensor, "*#heads T"]
) -> Float[Tensor, "*heads T"]:
    """Return the mass on what followed the earlier occurrences of the query's token; NaN where
    nothing did."""
    follows = following(tokens)
    return (attention * follows).sum(-1).masked_fill(~follows.any(-1), math.nan)


def by_chance(tokens: Int[Tensor, "*heads T"]) -> Float[Tensor, "*heads T"]:
    """`on_followers` of a uniform attention: the share of the keys that they are."""
    follows = following(tokens)
    keys = torch.arange(1, tokens.shape[-1] + 1, device=tokens.device)
    return (follows.sum(-1) / keys).masked_fill(~follows.any(-1), math.nan)


def uniformity(attention: Float[Tensor, "*heads T T"]) -> Float[Tensor, "*heads T"]:
    """Return the entropy of a row as a share of log t, the most it can be: 1 is spread evenly, 0 is
    all on one key. NaN in the first `ROWS` rows of a longer map."""
    T = attention.shape[-1]
    entropy = torch.special.entr(attention).sum(-1)  # 0 log 0 = 0
    shares = entropy / torch.arange(1, T + 1, device=attention.device).log()
    few = torch.arange(T, device=attention.device) < min(ROWS, T - 1)
    return shares.masked_fill(few, math.nan)


def average(
    values: Float[Tensor, "batch *heads T"], where: Bool[Tensor, "batch T"] | None = None
) -> Float[Tensor, "*heads"]:
    """Return the mean over sequences and over the queries `where` that have a value: NaN if none
    has."""
    is_counted = values.isfinite()
    if where is not None:
        is_counted = is_counted & where.reshape(
            len(where), *[1] * (values.dim() - 2), where.shape[-1]
        )
    total = values.where(is_counted, 0.0).double().sum((0, -1))
    return total / is_counted.sum((0, -1))


def by_position(values: Float[Tensor, "batch *heads T"]) -> Float[Tensor, "*heads T"]:
    """Return the mean over sequences at every position, of those that have a value there; NaN where
    none has."""
    return values.nanmean(0)


class Measures(NamedTuple):
    """Every measure at every query, [batch, *heads, T]; `even` is what a uniform attention has on
    followers."""

    previous: Tensor
    followers: Tensor
    even: Tensor
    uniformity: Tensor


class Behaviour(NamedTuple):
    """The measures of some heads, [*heads] each; those on followers at triggers that have come
    before, and at other characters that come again."""

    previous: Tensor
    triggers: Tensor
    others: Tensor
    uniformity: Tensor
    triggers_even: Tensor  # what a uniform attention would have
    others_even: Tensor


def measure(
    attention: Float[Tensor, "batch *heads T T"], tokens: Int[Tensor, "batch T"]
) -> Measures:
    """Return all measures of some sequences: those of several chunks can be put end to end before
    they are averaged."""
    spread = tokens.reshape(len(tokens), *[1] * (attention.dim() - 3), -1)
    followers = on_followers(attention, spread)
    return Measures(
        on_previous(attention),
        followers,
        by_chance(spread).expand_as(followers),
        uniformity(attention),
    )


def summary(
    measures: Measures, in_context: Bool[Tensor, "batch T"], others: Bool[Tensor, "batch T"]
) -> Behaviour:
    """Return what every head does: `in_context` and `others` are the queries that are triggers and
    that are none (`Batch.in_context`, `Batch.global_`)."""
    return Behaviour(
        average(measures.previous),
        average(measures.followers, in_context),
        average(measures.followers, others),
        average(measures.uniformity),
        average(measures.even, in_context),
        average(measures.even, others),
    )


def beyond(mass: float, even: float) -> float:
    """Return how far a mass has come from a uniform attention's to all of it: 0 is chance, 1 is
    all. A sequence that repeats one character holds little but its followers, so the mass alone
    would say little."""
    return (mass - even) / (1 - even) if even < 1 else 0.0


def role(previous: float, followers: float, even: float, uniform: float) -> str:
    """Return what a head does, by what most of its attention is on: its mass on t − 1 and, at
    triggers, on followers, as far as that is beyond a uniform attention's `even`. One with too
    little on either is uniform if it is spread evenly."""
    masses = {PREVIOUS: previous, INDUCTION: beyond(followers, even)}
    most = max(masses, key=lambda name: -1 if math.isnan(masses[name]) else masses[name])
    if masses[most] >= MOST:
        return most
    return UNIFORM if uniform >= EVEN else OTHER
