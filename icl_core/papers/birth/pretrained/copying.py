"""What W_O W_V of an induction head copies (W_O² in the paper): if it attends to a token, does the
model say this token?

Read directly, what the head writes of a token is compared with the unembedding of all tokens asked
for. Through the layers behind it, the head's attention is moved within a sequence, from what
followed to a place drawn at random, and what the model then says is read: the layers behind may
translate what the head has written, and heads behind it may read it.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from icl_core.papers.birth.pretrained.readers.model import Change, Maps, Pass, Reader
from icl_core.papers.birth.pretrained.recall import Asked, Head, written
from icl_core.papers.birth.pretrained.repeated import changed_logits
from icl_core.papers.birth.shared.probes import recall

SMALL = 0.01  # of what is written: so little leaves the last norm's scale as it is


@torch.no_grad()
def directly(model: Reader, head: Head, every: Asked) -> float:
    """Return the share of tokens k for which what the head writes of k raises the logit of k more
    than what it writes of any other token does.

    The last norm has the scale of the mean stream.
    """
    stream = every.streams[-1].mean(0)  # (d,)
    plain = model.unembed(stream[None], every.tokens)  # (1, n)
    moved = model.unembed(stream + SMALL * written(model, head, every), every.tokens)
    # (n, n): rows are the tokens written of, columns the logits
    return recall((moved - plain).T, "keys")


class Moved(NamedTuple):
    """What the model says at the queries whose heads look elsewhere.

    says   share of queries at which it says the token that now is attended to
    gains  how much the logit of this token rises, in nats, beyond the mean of the sequence's tokens
    """

    says: float
    gains: float


def places(inputs: Int[Tensor, "batch T"], generator: torch.Generator) -> Int[Tensor, "batch L"]:
    """Return for every query of the second half a random position of the first half."""
    batch, T = inputs.shape
    half = T // 2
    return torch.randint(1, half + 1, (batch, half), generator=generator)


def looking_at(heads: list[Head], where: Int[Tensor, "batch L"]) -> Callable[[int, Maps], Maps]:
    """Return the change that has heads look at one position, from every query of the second
    half."""

    def change(layer: int, maps: Maps) -> Maps:
        at = [number - 1 for each, number in heads if each == layer]
        if not at:
            return maps
        maps = maps.clone()
        T = maps.shape[-1]
        half = where.shape[1]
        one = torch.zeros(len(where), half, T).scatter_(2, where[..., None], 1.0)
        for head in at:
            maps[:, head, T - half :] = one
        return maps

    return change


@torch.no_grad()
def moved(
    model: Reader,
    inputs: Int[Tensor, "batch T"],
    outcome: Pass,
    heads: list[Head],
    where: Int[Tensor, "batch L"],
) -> Moved:
    """Return what the model says where heads look at the positions `where`. `outcome` is what it
    makes of the sequences as it is."""
    half = where.shape[1]
    plain = outcome.logits[:, -half:]  # (batch, L, N)
    change = Change(attention=looking_at(heads, where))
    changed = changed_logits(model, outcome, heads, change)[:, -half:]
    wanted = inputs.gather(1, where)  # (batch, L): the tokens attended to
    says = (changed.argmax(-1) == wanted).double().mean()
    gain = changed - plain
    own = gain.gather(2, wanted[..., None])[..., 0]  # (batch, L)
    of_all = inputs[:, None, 1 : half + 1].expand(-1, half, -1)  # the sequence's tokens
    beyond = own - gain.gather(2, of_all).mean(-1)
    return Moved(float(says), float(beyond.mean()))
