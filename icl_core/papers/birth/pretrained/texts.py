"""The texts on which a language model is measured. Random tokens, the same ones twice: what the
second half costs, and what every head does there. And three recorded texts: their attention maps,
and what the model would say after each layer (the logit lens).

Only the context tells the second half of repeated tokens, so that what is gained there is learned
in context. Each sequence begins with the model's start token.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from icl_core.contract.experiment import names
from icl_core.papers.birth.pretrained.readers.checks import BadModel
from icl_core.papers.birth.pretrained.readers.model import (
    Change,
    HeadOutputs,
    Pass,
    Reader,
    forward,
)
from icl_core.papers.birth.pretrained.readers.tokens import Tokens
from icl_core.papers.birth.shared.behaviour import (
    average,
    by_chance,
    on_followers,
    on_previous,
    uniformity,
)

MEASURES = ("previous", "followers", "even", "uniformity")
DRAWS = 5
CHOOSING = 99  # the draw on which heads are chosen that the other draws take away


def generator_of(seed: int, draw: int, what: int) -> torch.Generator:
    """Return the generator of a draw; `what` sets apart what is drawn."""
    return torch.Generator().manual_seed(1000 * seed + 10 * draw + what)


def drawn_tokens(tokens: Tokens, count: int, generator: torch.Generator) -> Int[Tensor, "count"]:
    """Return different ordinary tokens, in random order."""
    order = torch.randperm(len(tokens.ordinary), generator=generator)[:count]
    return torch.tensor(tokens.ordinary)[order]


def sequences(
    tokens: Tokens, count: int, length: int, generator: torch.Generator
) -> Int[Tensor, "count T"]:
    """Return sequences of a start token and `length` different random tokens, twice."""
    rows = []
    for _ in range(count):
        half = drawn_tokens(tokens, length, generator)
        rows.append(torch.cat([torch.tensor([tokens.start]), half, half]))
    return torch.stack(rows)


class Losses(NamedTuple):
    """Cross entropy in nats, a mean over sequences: of every token after the first, of the first
    half, and of the second without its first token, which nothing announces."""

    each: Float[Tensor, "T"]
    first: float
    second: float


def losses(logits: Float[Tensor, "batch T N"], inputs: Int[Tensor, "batch T"]) -> Losses:
    """Return what each token of repeated sequences costs."""
    every = F.cross_entropy(logits[:, :-1].mT, inputs[:, 1:], reduction="none")  # (batch, T - 1)
    each = every.mean(0)
    half = len(each) // 2
    return Losses(each, float(each[:half].mean()), float(each[half + 1 :].mean()))


def head_scores(
    maps: list[Float[Tensor, "batch H T T"]], inputs: Int[Tensor, "batch T"]
) -> Float[np.ndarray, "measures layers H"]:
    """Return MEASURES of every head, by the measures of the full transformer's heads: attention on
    the previous token; in the second half on what followed the same token before, and what even
    attention has there; and how even it is."""
    T = inputs.shape[1]
    again = torch.arange(T) > T // 2  # queries whose token has come before
    where = again.expand(len(inputs), T)
    spread = inputs[:, None]  # (batch, 1, T)
    rows = []
    for layer in maps:
        even = average(by_chance(spread), where).expand(layer.shape[1])
        measures = (
            average(on_previous(layer)),
            average(on_followers(layer, spread), where),
            even,
            average(uniformity(layer)),
        )
        rows.append(torch.stack(measures))  # (measures, H)
    return torch.stack(rows, 1).float().numpy()


def ranked(scores: Float[np.ndarray, "layers H"]) -> list[tuple[int, int]]:
    """Return all heads as (layer, head), counted from 1, the highest score first."""
    order = np.argsort(-scores, axis=None, kind="stable")
    heads = scores.shape[1]
    return [(int(at) // heads + 1, int(at) % heads + 1) for at in order]


def mean_outputs(outcome: Pass) -> list[Float[Tensor, "H d_H"]]:
    """Return the mean output of every head over sequences and positions, a tensor a layer."""
    return [z.mean((0, 2)) for z in outcome.outputs]


def replacing(
    which: list[tuple[int, int]], by: list[Float[Tensor, "H d_H"]] | None
) -> Callable[[int, HeadOutputs], HeadOutputs]:
    """Return the change that puts a vector, or zero, in the place of some heads' outputs."""

    def outputs(layer: int, z: HeadOutputs) -> HeadOutputs:
        at = [head - 1 for each, head in which if each == layer]
        if not at:
            return z
        z = z.clone()
        z[:, at] = 0.0 if by is None else by[layer - 1][at][:, None]
        return z

    return outputs


@torch.no_grad()
def losses_without(
    model: Reader,
    inputs: Int[Tensor, "batch T"],
    outcome: Pass,
    which: list[tuple[int, int]],
    by: list[Float[Tensor, "H d_H"]] | None,
) -> Losses:
    """Return what tokens cost with some heads replaced, by vectors or by zero. `outcome` is what
    the model makes of them as it is."""
    change = Change(outputs=replacing(which, by))
    return losses(changed_logits(model, outcome, which, change), inputs)


@torch.no_grad()
def losses_alone(
    model: Reader,
    inputs: Int[Tensor, "batch T"],
    outcome: Pass,
    by: list[Float[Tensor, "H d_H"]],
) -> Float[np.ndarray, "layers H halves"]:
    """Return what both halves of the first sequence cost without each head, one at a time, with a
    vector in its place. The heads of a layer are taken away side by side, each from a copy."""
    rows = []
    for layer in range(1, model.shape.layers + 1):
        change = Change(outputs=_each_replaced(layer, by[layer - 1]))
        copies = outcome.streams[layer - 1][:1].expand(model.shape.heads, -1, -1)  # (H, T, d)
        logits = model.onward(copies, layer, change).logits  # (H, T, N)
        each = [losses(one[None], inputs[:1]) for one in logits]
        rows.append([[without.first, without.second] for without in each])
    return np.array(rows)


def _each_replaced(
    wanted: int, by: Float[Tensor, "H d_H"]
) -> Callable[[int, HeadOutputs], HeadOutputs]:
    """Return the change that puts a vector in the place of head h in copy h of a sequence."""
    every = torch.arange(len(by))

    def outputs(layer: int, z: HeadOutputs) -> HeadOutputs:
        if layer != wanted:
            return z
        z = z.clone()
        z[every, every] = by[:, None]  # (H, T, d_H)
        return z

    return outputs


@torch.no_grad()
def followers_without(
    model: Reader,
    inputs: Int[Tensor, "batch T"],
    outcome: Pass,
    which: tuple[int, int],
    by: list[Float[Tensor, "H d_H"]],
    readers: list[tuple[int, int]],
) -> Float[np.ndarray, "readers"]:
    """Return the attention of some heads on what followed, in the second half, with one head
    replaced by a vector: that of a head which is not behind it stays."""
    first, _ = which
    change = Change(outputs=replacing([which], by))
    changed = model.onward(outcome.streams[first - 1], first, change, keep=True)
    maps = [*outcome.attention[: first - 1], *changed.attention]
    scores = dict(zip(MEASURES, head_scores(maps, inputs), strict=True))["followers"]
    return np.array([scores[layer - 1, number - 1] for layer, number in readers])


@torch.no_grad()
def changed_logits(
    model: Reader, outcome: Pass, which: list[tuple[int, int]], change: Change
) -> Float[Tensor, "batch T N"]:
    """Return the logits where some heads do something else: before the first layer that has one of
    them nothing changes."""
    first = min((layer for layer, _ in which), default=1)
    return model.onward(outcome.streams[first - 1], first, change).logits


SENTENCE = " A small brown dog sleeps under the old table."
PATTERN = "abcXabcXab"
MOST = 256  # tokens of a text that a run records
LONGEST = 1024  # tokens of a text that is read for a visitor
CELLS = MOST + 1  # rows of a stored map: of a longer text several positions share one
SHOWN = 11  # random tokens, said twice: as many as a map on the stage has room for


def recorded(
    tokens: Tokens, generator: torch.Generator, own: str = "", most: int = MOST
) -> dict[str, Int[Tensor, "T"]]:
    """Return the texts by name, each after the start token, but for those that the model has no
    tokens for; a visitor's `own`, of which the first `most` tokens are read, if there is one.
    Raises `BadModel` for characters of the latter that the model has no tokens for."""
    texts = {"random": sequences(tokens, 1, SHOWN, generator)[0, 1:].tolist()}
    with suppress(BadModel):
        # of a model of single characters, its beginning
        texts["sentence"] = tokens.encode(SENTENCE)[:SHOWN] * 2
    with suppress(BadModel):
        letters = {letter: tokens.encode(letter)[0] for letter in dict.fromkeys(PATTERN)}
        texts["pattern"] = [letters[letter] for letter in PATTERN]
    if own:
        texts["own"] = tokens.encode(own)[:most]
    return {name: torch.tensor([tokens.start, *text]) for name, text in texts.items()}


@torch.no_grad()
def record(
    model: Reader, tokens: Tokens, generator: torch.Generator, own: str = ""
) -> dict[str, np.ndarray]:
    """Return of every text, under `text/<name>/`

    attention    [layers, heads, T (T + 1) / 2], the maps' lower halves row by row in parts of 255
    loss         [layers + 1, T - 1], what each next token costs, in nats, after each layer
    said         [layers + 1, T], the likeliest next token, an index into `names/said`
    probability  [layers + 1, T], its probability

    and `names/text/<name>`, its tokens as text.
    """
    arrays = {}
    ids: list[int] = []  # of all tokens that are said
    most = min(MOST, model.shape.T - 1)  # the start token has a position, too
    for name, text in recorded(tokens, generator, own, most).items():
        outcome = forward(model, text[None], keep=True)
        read = [_lens(model, stream[0], text) for stream in outcome.streams]
        losses, said, probabilities = (np.stack(parts) for parts in zip(*read, strict=True))
        ids += np.unique(said).tolist()
        arrays |= {
            f"text/{name}/attention": packed(outcome.attention),
            f"text/{name}/loss": losses.astype(np.float16),
            f"text/{name}/said": said,
            f"text/{name}/probability": probabilities.astype(np.float16),
            f"names/text/{name}": names(tokens.decode(token) for token in text.tolist()),
        }
    kept = sorted(set(ids))
    for name in [name for name in arrays if name.endswith("/said")]:
        arrays[name] = np.searchsorted(kept, arrays[name]).astype(np.int16)
    return arrays | {"names/said": names(tokens.decode(token) for token in kept)}


def positions_per_cell(T: int) -> int:
    """Return how many positions share a row of the stored maps of a text."""
    return -(-T // CELLS)


def packed(attention: list[Float[Tensor, "1 H T T"]]) -> np.ndarray:
    """Return the lower halves of a text's maps row by row in parts of 255, [layers, H,
    n (n + 1) / 2], with n = T, or fewer of a long text (`coarse`)."""
    layers = [coarse(maps[0].numpy()) for maps in attention]
    rows, columns = np.tril_indices(layers[0].shape[-1])
    halves = [maps[:, rows, columns] for maps in layers]
    return np.rint(255 * np.stack(halves)).astype(np.uint8)


def coarse(maps: Float[np.ndarray, "H T T"]) -> Float[np.ndarray, "H n n"]:
    """Return maps of which several positions share a cell: the attention of its queries, in the
    mean, on its keys, all together. Rows still come to 1."""
    T = maps.shape[-1]
    each = positions_per_cell(T)
    if each == 1:
        return maps
    starts = np.arange(0, T, each)
    by_keys = np.add.reduceat(maps, starts, axis=2)  # (H, T, n)
    queries = np.diff([*starts, T])  # in each cell
    return np.add.reduceat(by_keys, starts, axis=1) / queries[:, None]


def _lens(
    model: Reader, stream: Float[Tensor, "T d"], text: Int[Tensor, "T"]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what each next token costs, the likeliest one and its probability, where the stream is
    read as if it were that after the last layer."""
    logits = model.unembed(stream)  # (T, N)
    losses = F.cross_entropy(logits[:-1], text[1:], reduction="none")
    probabilities, said = logits.softmax(-1).max(-1)
    return losses.numpy(), said.numpy(), probabilities.numpy()
