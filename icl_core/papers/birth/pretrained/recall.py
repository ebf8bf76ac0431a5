"""What a pair of heads has stored in a language model: what W_K² recalls (eq. 9), and what W_O W_V
copies (W_O² in the paper).

W_K²: does the query of a token pick what the earlier head has written about the same token? As in
the paper, score(k, j) = q(k)^T W_K (W_O W_V r(j)), where the earlier head has attended to token j
and the later one asks for token k; keys compete for each query. Three things are otherwise than in
the paper's model. A token is what the stream holds of it at the layer that reads it, after a start
token: below the first layers it is no longer its embedding. The norm is applied to what the head
has written but for its scale, which is one factor a key. And the query stands `offset` positions
after the key, which rotates it.

W_O W_V: if an induction head attends to a token, does the model say this token? Read directly, what
the head writes of a token is compared with the unembedding of all tokens asked for. Through the
layers behind it, the head's attention is moved within a sequence, from what followed to a place
drawn at random, and what the model then says is read: the layers behind may translate what the head
has written, and heads behind it may read it.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from icl_core.papers.birth.pretrained.readers.model import Change, Maps, Pass, Reader, forward
from icl_core.papers.birth.pretrained.texts import changed_logits
from icl_core.papers.birth.shared.probes import recall

Head = tuple[int, int]  # layer and number, counted from 1
CHUNK = 128  # sequences at once
OFFSETS = (1, 4, 16, 32, 64, 128, 256)
FILLED = 1e-3  # of the largest spread: directions with less are rounding
AT = 32  # the offset of the map of pairs: that of tokens repeated after 32


class Asked(NamedTuple):
    """Tokens that are asked for, with the stream before every layer and after the last where each
    is the second token, after the start token."""

    tokens: Int[Tensor, "n"]
    streams: list[Float[Tensor, "n d"]]


@torch.no_grad()
def asked(model: Reader, start: int, tokens: Int[Tensor, "n"]) -> Asked:
    """Return tokens with what the model makes of them."""
    chunks = []
    for part in tokens.split(CHUNK):
        inputs = torch.stack([torch.full_like(part, start), part], 1)  # (chunk, 2)
        outcome = forward(model, inputs, keep=True)
        chunks.append([stream[:, 1] for stream in outcome.streams])
    streams = [torch.cat(parts) for parts in zip(*chunks, strict=True)]
    return Asked(tokens, streams)


@torch.no_grad()
def values(model: Reader, head: Head, every: Asked) -> Float[Tensor, "n d_H"]:
    """Return the output z of a head that attends to one token alone, of every token."""
    layer, number = head
    r = model.read(layer, every.streams[layer - 1])  # (n, d)
    _, _, values = model.attend(layer, r, 0)  # (n, H, d_H)
    return values[:, number - 1]


@torch.no_grad()
def written(model: Reader, head: Head, every: Asked) -> Float[Tensor, "n d"]:
    """Return what such a head writes into the stream, W_O z."""
    layer, number = head
    z = values(model, head, every)  # (n, d_H)
    others = torch.zeros(len(z), model.shape.heads, z.shape[-1])
    others[:, number - 1] = z
    return model.write(layer, others)


@torch.no_grad()
def scores(
    model: Reader, previous: Head, induction: Head, every: Asked, offset: int
) -> Float[Tensor, "n n"]:
    """Return the score between the query of every token (rows) and what `previous` has written of
    every token (columns), in nats."""
    queries = _queries(model, induction, every, offset)
    return _scores(model, queries, induction, written(model, previous, every))


def _queries(model: Reader, head: Head, every: Asked, offset: int) -> Float[Tensor, "n d_H"]:
    """Return the query of every token at the position `offset`."""
    layer, number = head
    r = model.read(layer, every.streams[layer - 1])  # (n, d)
    queries, _, _ = model.attend(layer, r, offset)  # (n, H, d_H)
    return queries[:, number - 1]


def _scores(
    model: Reader,
    queries: Float[Tensor, "n d_H"],
    head: Head,
    copies: Float[Tensor, "n d"],
) -> Float[Tensor, "n n"]:
    """Return the score between the queries of a head (rows) and what another head has written at
    position 0 (columns)."""
    layer, number = head
    _, keys, _ = model.attend(layer, model.read_part(layer, copies), 0)  # (n, H, d_H)
    return queries @ keys[:, number - 1].T


@torch.no_grad()
def of_pairs(
    model: Reader, previous: list[Head], induction: list[Head], every: Asked, offset: int
) -> Float[np.ndarray, "previous induction"]:
    """Return the recall of every pair of heads; NaN where the induction head is not in a later
    layer."""
    recalls = np.full((len(previous), len(induction)), np.nan, np.float32)
    queries = [_queries(model, head, every, offset) for head in induction]
    for row, first in enumerate(previous):
        copies = written(model, first, every)
        for column, second in enumerate(induction):
            if first[0] < second[0]:
                scores = _scores(model, queries[column], second, copies)
                recalls[row, column] = recall(scores, "keys")
    return recalls


@torch.no_grad()
def constructed(
    model: Reader, previous: Head, induction: Head, every: Asked, whiten: bool
) -> Float[Tensor, "n n"]:
    """Return the scores of the memory that eq. 7 constructs for the same tokens,
    W = sum_k r(k) c(k)^T with c(k) what `previous` has written of k: r(k)^T W c(j). It is a full
    matrix, and nothing rotates.

    Means over tokens are removed, since the paper's vectors have none. `whiten` makes the vectors
    uncorrelated, too, with variances of 1, as random ones nearly are.
    """
    layer, _ = induction
    queries = model.read(layer, every.streams[layer - 1])  # (n, d)
    copies = model.read_part(layer, written(model, previous, every))
    queries = queries - queries.mean(0)
    copies = copies - copies.mean(0)
    if whiten:
        queries = whitened(queries)
        copies = whitened(copies)
    memory = queries.T @ copies  # (d, d)
    return queries @ memory @ copies.T


def whitened(vectors: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    """Return vectors as their coordinates along the principal directions that they fill, each
    scaled to the same size."""
    left, sizes, right = torch.linalg.svd(vectors, full_matrices=False)
    filled = sizes > FILLED * sizes[0]
    return left[:, filled] @ right[filled]  # sum over directions u_i v_i^T


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
