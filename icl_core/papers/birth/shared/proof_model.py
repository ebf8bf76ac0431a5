"""The simplified model of Theorem 3's proof (Appendix B.3), the gradient of its loss, and the
sequences that it is asked about.

    k_t = Φ1 sum_s A1[t, s] x_s        A1 = softmax(p_t^T W_K1 p_s / sqrt d) over s <= t,  Φ1 = W_O1
                                       W_V1
    c   = sum_t A2[t] x_t              A2 = softmax(x_T^T W_K2 k_t / sqrt d)
    logits = W_U W_O2 V2 c             asked at the last position T alone

The proof lets x_t mean less from step to step: for W_O2 it is the token with its position, and the
values are x_t + k_t; for W_K2 the values are x_t alone; for W_K1 it is the token alone, and so it
is in the model that results. Everything that a sequence needs stands in tables of readings, v^T W u
of a matrix and two of the vectors that it is read with.

A sequence z_1 … z_T ends with the trigger q. It has stood at some places before, once in the proof,
and what followed it there, o, is the answer. q and o are uniform, and so are all other tokens over
those that are not q.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from icl_core.papers.birth.shared.accuracy import hits
from icl_core.papers.birth.shared.model import Weights
from icl_core.papers.birth.shared.task import Batch


class Drawn(NamedTuple):
    """Sequences with their answers, and the index of the trigger's first occurrence; that of its
    output is one more."""

    tokens: Int[Tensor, "batch T"]
    answers: Int[Tensor, "batch"]
    first: Int[Tensor, "batch"]


def sample(N: int, T: int, batch: int, generator: torch.Generator) -> Drawn:
    """Return fresh sequences in which the trigger stands exactly once before (eq. 22).

    The first occurrence is at any place with equal probability. If o = q, the two occurrences stand
    side by side at the end.
    """

    def drawn(low: int, high: int, *shape: int) -> Tensor:
        return torch.randint(low, high, (batch, *shape), generator=generator)

    q = drawn(0, N)
    rows = torch.arange(batch)
    answers = drawn(0, N)
    same = answers == q
    first = torch.where(same, torch.tensor(T - 2), drawn(0, T - 2))
    tokens = (q[:, None] + drawn(1, N, T)) % N
    tokens[rows, first] = q
    tokens[rows, first + 1] = answers
    tokens[:, -1] = q
    return Drawn(tokens, answers, first)


def sample_repeated(
    N: int, T: int, triggers: int, occurrences: int, batch: int, generator: torch.Generator
) -> Drawn:
    """Return fresh sequences in which each of several triggers stands `occurrences` times before.

    After each stands its own output, and the last token is the first of them. Triggers differ from
    each other and from all outputs and other tokens. The pairs stand at random even places, so that
    they do not overlap; there are (T - 1) // 2 of these. The order of tokens alone tells which
    output is asked for: counting tells no more than that it is one of them.
    """
    characters = torch.rand(batch, N, generator=generator).argsort(1)
    q = characters[:, :triggers]  # (batch, triggers)

    def drawn(count: int) -> Tensor:
        """Return tokens that are no triggers, [batch, count]."""
        return characters.gather(1, torch.randint(triggers, N, (batch, count), generator=generator))

    outputs = drawn(triggers)
    tokens = drawn(T)
    slots = torch.rand(batch, (T - 1) // 2, generator=generator).argsort(1)
    places = 2 * slots[:, : triggers * occurrences]  # (batch, triggers × occurrences)
    tokens.scatter_(1, places, q.repeat_interleave(occurrences, 1))
    tokens.scatter_(1, places + 1, outputs.repeat_interleave(occurrences, 1))
    tokens[:, -1] = q[:, 0]
    return Drawn(tokens, outputs[:, 0], places[:, :occurrences].amin(1))


def as_batch(sequences: Drawn) -> Batch:
    """Return the sequences as a batch that asks the context for the last answer alone."""
    tokens = torch.cat([sequences.tokens, sequences.answers[:, None]], 1)  # (batch, T + 1)
    in_context = torch.zeros_like(sequences.tokens, dtype=torch.bool)
    in_context[:, -1] = True
    triggers = sequences.tokens[:, -1:]
    outputs = sequences.answers[:, None]
    return Batch(tokens, in_context, torch.zeros_like(in_context), triggers, outputs)


MATRICES = ("W_O2", "W_K2", "W_K1")  # in the order of Theorem 3
# what is read: x_t + k_t, x_t with its position, the token
STREAM = "stream"
PLACED = "placed"
TOKENS = "tokens"
# in the step on a matrix; TOKENS afterwards
READ = {
    "W_O2": STREAM,
    "W_K2": PLACED,
    "W_K1": TOKENS,
}
TABLE = {"W_O2": "says", "W_K2": "matches", "W_K1": "looks"}  # the table that a matrix makes


@dataclass(frozen=True, eq=False)
class Tables:
    """The readings. M and K are N, or N + T where positions are read too; M both again for layer
    1's means of them."""

    says: Float[Tensor, "N M"]  # w_U(k)^T W_O2 V2 u: what a token attended to adds to the logits
    matches: Float[Tensor, "N K"]  # q^T W_K2 Φ1 u / sqrt d: q is the last token
    looks: Float[Tensor, "T T"]  # p_t^T W_K1 p_s / sqrt d


def sides(
    name: str, weights: Weights, read: str
) -> tuple[Float[Tensor, "rows d"], Float[Tensor, "M d"]]:
    """Return the vectors that a matrix is read with, on its left and on its right."""
    x = weights.W_E if read == TOKENS else torch.cat([weights.W_E, weights.P])
    if name == "W_O2":
        x = torch.cat([x, x @ weights.R1.T]) if read == STREAM else x
        return weights.W_U, x @ weights.V2.T
    if name == "W_K2":
        return weights.W_E if read == TOKENS else weights.W_E + weights.P[-1], x @ weights.R1.T
    return weights.P, weights.P


def scale(name: str, weights: Weights) -> float:
    """Return what readings of a matrix are multiplied with."""
    return 1.0 if name == "W_O2" else 1 / math.sqrt(weights.d)


def tables(weights: Weights, read: str = TOKENS) -> Tables:
    """Return the readings of all three matrices."""
    readings = {}
    for name, table in TABLE.items():
        left, right = sides(name, weights, read)
        readings[table] = scale(name, weights) * (left @ weights[name] @ right.T)
    return Tables(**readings)


def back(looks: Float[Tensor, "T T"]) -> Float[Tensor, "T T"]:
    """Return layer 1's attention, the same for all sequences."""
    future = torch.ones_like(looks, dtype=torch.bool).triu(1)
    return looks.masked_fill(future, -torch.inf).softmax(-1)


def forward(
    readings: Tables, tokens: Int[Tensor, "batch T"], read: str = TOKENS
) -> tuple[Float[Tensor, "batch N"], Float[Tensor, "batch T"]]:
    """Return logits of the answer, and the last position's attention in layer 2."""
    N = len(readings.says)
    T = tokens.shape[1]
    A1 = back(readings.looks)
    last = tokens[:, -1]
    scores = readings.matches[last[:, None], tokens]  # (batch, T)
    if read != TOKENS:
        scores = scores + readings.matches[last, N : N + T]
    attention = (scores @ A1.T).softmax(-1)
    if read == TOKENS:
        return _counted(attention, tokens, N) @ readings.says.T, attention
    parts = [_counted(attention, tokens, N), attention]
    if read == STREAM:
        through = attention @ A1
        parts += [_counted(through, tokens, N), through]
    weights = torch.cat(parts, 1)  # (batch, columns), those of `says` that the stream holds
    return weights @ readings.says[:, : weights.shape[1]].T, attention


def _counted(
    weight: Float[Tensor, "batch T"], tokens: Int[Tensor, "batch T"], N: int
) -> Float[Tensor, "batch N"]:
    """Return the weight on each token."""
    return weight.new_zeros(len(tokens), N).scatter_add(1, tokens, weight)


def gradient(name: str, weights: Weights, sequences: Drawn) -> Float[Tensor, "rows M"]:
    """Return how the mean loss changes with each reading of a matrix, by autograd. The gradient
    with respect to the matrix is the sum of the outer products of its two sides with these
    coefficients (`matrix`)."""
    read = READ[name]
    readings = tables(weights, read)
    leaf = getattr(readings, TABLE[name]).detach().requires_grad_()
    logits, _ = forward(replace(readings, **{TABLE[name]: leaf}), sequences.tokens, read)
    torch.nn.functional.cross_entropy(logits, sequences.answers).backward()
    assert leaf.grad is not None
    return leaf.grad


def matrix(
    name: str, coefficients: Float[Tensor, "rows M"], weights: Weights
) -> Float[Tensor, "d d"]:
    """Return the gradient: a sum of outer products v u^T with these coefficients (Lemmas 1, 2, 4,
    5)."""
    left, right = sides(name, weights, READ[name])
    return scale(name, weights) * (left.T @ coefficients.to(left) @ right)


@torch.no_grad()
def measures(weights: Weights, sequences: Drawn) -> Mapping[str, float]:
    """Return, on sequences that no step saw: the share of right answers, and of answers that are
    the trigger; the last position's attention on the output, and on all from the trigger's first
    occurrence on; layer 1's on t − 1."""
    readings = tables(weights)
    logits, attention = forward(readings, sequences.tokens)
    first = sequences.first[:, None]
    later = torch.arange(sequences.tokens.shape[1]) >= first
    return {
        "accuracy": float(hits(logits, sequences.answers).double().mean()),
        "trigger": float(hits(logits, sequences.tokens[:, -1]).double().mean()),
        "on_output": float(attention.gather(1, first + 1).mean()),
        "from_trigger": float((attention * later).sum(1).mean()),
        "previous": float(back(readings.looks).diagonal(-1).mean()),
    }


@torch.no_grad()
def with_positions(weights: Weights, sequences: Drawn) -> dict[str, float]:
    """Return the share of right answers where some of the stream holds positions as well as tokens,
    by which part does."""
    N = len(weights.W_E)
    bare = tables(weights)
    full = tables(weights, PLACED)
    # a token, and keys of positions
    key_match = scale("W_K2", weights) * weights.W_E @ weights.W_K2 @ weights.R1 @ weights.P.T
    no_says = torch.zeros_like(full.says[:, N:])
    no_match = torch.zeros_like(key_match)
    parts = {
        "none": (bare.says, no_says, bare.matches, no_match),
        "values": (bare.says, full.says[:, N:], bare.matches, no_match),
        "keys": (bare.says, no_says, bare.matches, key_match),
        "query": (bare.says, no_says, full.matches[:, :N], no_match),
        "all": (full.says[:, :N], full.says[:, N:], full.matches[:, :N], full.matches[:, N:]),
    }
    accuracy = {}
    for name, (says, at, matches, match_at) in parts.items():
        readings = Tables(torch.cat([says, at], 1), torch.cat([matches, match_at], 1), bare.looks)
        logits, _ = forward(readings, sequences.tokens, PLACED)
        accuracy[name] = float(hits(logits, sequences.answers).double().mean())
    return accuracy


def both_stored(weights: Weights) -> tuple[Tensor, Tensor]:
    """Return the readings of W_O2 on a character, and on what layer 1 makes of it (eq. 16),
    [output, input] each."""
    says = weights.W_U @ weights.W_O2 @ weights.V2
    return says @ weights.W_E.T, says @ weights.R1 @ weights.W_E.T
