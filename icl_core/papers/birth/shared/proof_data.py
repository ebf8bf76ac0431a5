"""Sequences of which one answer is asked, at their end: the data of Theorem 3's proof (Appendix
B.3), and the same with the trigger more than once before.

A sequence z_1 … z_T ends with the trigger q. It has stood at some places before, and what followed
it there, o, is the answer. q and o are uniform, and so are all other tokens over those that are not
q.
"""

from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

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
