"""What a model makes of one text: the visitor's own, read now by the model in memory. While none is
typed it is the sentence that the run has recorded, which needs no weights. And the same with
something else in the place of some heads: zero, their mean output, or the memory that the paper
constructs.

What is constructed is where a head looks; what it reads there and writes, by its own W_V and W_O,
stays. In a previous-token head's place stands attention on t − 1 alone (W_K¹ of eq. 7). In an
induction head's place it lies on what followed the same token earlier, evenly where there are
several such places (W_K² of eq. 7); a token that has not come before looks at the start token, as
trained heads do that find nothing.
"""

import time
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from icl_core.contract.experiment import CannotDraw, Run
from icl_core.machine import device
from icl_core.papers.birth.pretrained import texts
from icl_core.papers.birth.pretrained.load_run import (
    best_pair,
    check_heads,
    place_of,
    roles,
    scores,
    tokens_of,
    unpacked,
)
from icl_core.papers.birth.pretrained.readers.model import Change, Maps, Pass, Reader, forward
from icl_core.papers.birth.pretrained.recall import Head
from icl_core.papers.birth.pretrained.settings import View
from icl_core.papers.birth.pretrained.sources import RESIDENT
from icl_core.papers.birth.shared.behaviour import (
    INDUCTION,
    PREVIOUS,
    average,
    by_chance,
    following,
    on_followers,
    on_previous,
)

BYTES = 8192  # of a text
KEPT = 2  # texts that stay in memory, of SmolLM2 80 MB each at 1,024 tokens
SETS = 20  # of as many random heads, beside a graft
RECORDED = "sentence"  # the run's text that stands in while none is typed


class Reading:
    """What a model makes of a text.

    tokens   its tokens as text, the start token first
    ids      their numbers [T], equal where tokens are equal
    losses   what each token after the first costs in the end, in nats [T - 1]
    packed   the lower halves of all attention maps, as `texts.packed` gives them
    measures [layers, H] by name: the attention on the token before ("previous"), on what followed
             the same token earlier ("followers") as far as that is beyond even attention, NaN if
             no token comes twice, and on the start token ("start")
    seconds  how long it took to read; 0 of a recorded text
    streams  the stream before each layer and after the last; none of a recorded text
    means    every head's mean output over the text, a tensor [H, d_H] a layer; likewise
    """

    def __init__(
        self,
        tokens: list[str],
        ids: Int[Tensor, "T"],
        losses: Float[np.ndarray, "after"],
        packed: np.ndarray,
        measures: dict[str, Float[np.ndarray, "layers H"]],
        outcome: Pass | None = None,
        seconds: float = 0.0,
    ) -> None:
        self.tokens = tokens
        self.ids = ids
        self.losses = losses
        self.packed = packed
        self.measures = measures
        self.seconds = seconds
        self.streams = [] if outcome is None else outcome.streams
        self.means = [] if outcome is None else texts.mean_outputs(outcome)

    @property
    def positions_per_cell(self) -> int:
        """How many positions share a row of the maps."""
        return texts.positions_per_cell(len(self.tokens))

    def attention(self, layer: int, number: int) -> Float[np.ndarray, "n n"]:
        """Return the map of one head, both counted from 0."""
        return unpacked(self.packed[layer, number])

    def scores(self, measure: str) -> Float[np.ndarray, "layers H"]:
        """Return a measure of every head on this text. `CannotDraw` for "followers" if no token
        comes twice."""
        values = self.measures[measure]
        if not np.isfinite(values).all():
            raise CannotDraw("in this text no token comes twice: nothing can have followed it")
        return values


def measured(
    maps: list[Float[Tensor, "1 H T T"]], ids: Int[Tensor, "T"]
) -> dict[str, Float[np.ndarray, "layers H"]]:
    """Return the measures of a reading."""
    inputs = ids[None, None]  # (1, 1, T)
    even = average(by_chance(inputs))
    layers: dict[str, list[Tensor]] = {"previous": [], "followers": [], "start": []}
    for layer in maps:
        layers["previous"].append(average(on_previous(layer)))
        layers["followers"].append((average(on_followers(layer, inputs)) - even) / (1 - even))
        layers["start"].append(layer[0, :, 1:, 0].mean(1))
    return {name: torch.stack(rows).float().numpy() for name, rows in layers.items()}


def of_view(run: Run, view: View) -> Reading:
    """Return what the run's model makes of the visitor's text, or has made of the recorded one."""
    return read_now(run.config.source, view.typed) if view.typed else recorded(run)


def recorded(run: Run) -> Reading:
    """Return what the run holds of its sentence."""
    tokens = tokens_of(run, View(passage=RECORDED))
    ids = torch.tensor([tokens.index(token) for token in tokens])
    every = run[f"text/{RECORDED}/attention"]  # (layers, H, T (T + 1) / 2)
    maps = [torch.from_numpy(np.stack([unpacked(head) for head in layer])) for layer in every]
    return Reading(
        tokens,
        ids,
        run[f"text/{RECORDED}/loss"][-1].astype(np.float32),
        every,
        measured([layer[None] for layer in maps], ids),
    )


@lru_cache(maxsize=KEPT)
@torch.no_grad()
def read_now(source: str, text: str) -> Reading:
    """Return what a model makes of a text. Raises `CannotDraw` for one that is too long, and
    `BadSetting` if the model is not here, cannot be read, or is in use."""
    size = len(text.encode(errors="surrogatepass"))
    if size > BYTES:
        raise CannotDraw(f"a text must have at most {BYTES} bytes, got {size}")
    with RESIDENT.borrow(source) as (model, tokens):
        encoded = tokens.encode(text)
        most = min(texts.LONGEST, model.shape.T - 1)  # the start token has a position, too
        if not 1 < len(encoded) <= most:
            raise CannotDraw(f"a text must have 2 to {most} tokens, got {len(encoded)}")
        ids = torch.tensor([tokens.start, *encoded])
        shape = model.shape
        numbers = shape.layers * shape.heads * len(ids) ** 2 + 2 * len(ids) * shape.N
        device.check_memory(4 * numbers, f"a text of {len(encoded)} tokens")
        began = time.perf_counter()
        outcome = forward(model, ids[None], keep=True)
        seconds = time.perf_counter() - began
        labels = [tokens.decode(token) for token in ids.tolist()]
        losses = costs(outcome.logits[0], ids)
        maps = outcome.attention
        return Reading(
            labels, ids, losses, texts.packed(maps), measured(maps, ids), outcome, seconds
        )


def costs(logits: Float[Tensor, "T N"], ids: Int[Tensor, "T"]) -> Float[np.ndarray, "after"]:
    """Return what each token after the first costs, in nats."""
    return F.cross_entropy(logits[:-1], ids[1:], reduction="none").numpy()


@torch.no_grad()
def losses_after(run: Run, view: View) -> Float[np.ndarray, "after"]:
    """Return what tokens cost if the stream after the layer shown is read as if it were the
    last."""
    at = run.snapshot_at(view)
    if not view.typed:
        return run[f"text/{RECORDED}/loss"][at].astype(np.float32)
    reading = of_view(run, view)
    with RESIDENT.borrow(run.config.source) as (model, _):
        return costs(model.unembed(reading.streams[at][0]), reading.ids)


class Grafted(NamedTuple):
    """What each token costs with a graft in the place of some heads, [T - 1], and in that of sets
    of as many random ones, [sets, T - 1], in nats."""

    heads: list[str]
    losses: Float[np.ndarray, "after"]
    random: Float[np.ndarray, "sets after"]


def heads_of(run: Run, view: View) -> list[str]:
    """Return the ids of the heads that are replaced."""
    if view.grafted == "pair":
        return best_pair(run)
    if view.grafted == "one":
        return [view.typed_head or run.names("strongest")[0]]
    return run.names("strongest")[: view.grafted_count]


def random_sets(run: Run, heads: list[str]) -> list[list[str]]:
    """Return sets of as many heads that are of neither kind, always the same."""
    strongest = {*run.names("strongest"), *run.names("previous"), *heads}
    others = [name for name in roles(run) if name not in strongest]
    generator = torch.Generator().manual_seed(run.config.seed)
    orders = [torch.randperm(len(others), generator=generator) for _ in range(SETS)]
    return [[others[index] for index in order[: len(heads)].tolist()] for order in orders]


def constructed_map(ids: Int[Tensor, "T"], does: str) -> Float[Tensor, "T T"]:
    """Return where the constructed head looks that does PREVIOUS or INDUCTION."""
    T = len(ids)
    wanted = torch.ones(T, T).diagonal(-1).diag_embed(-1) if does == PREVIOUS else following(ids)
    wanted = wanted.float()
    wanted[wanted.sum(1) == 0, 0] = 1.0  # nothing found: the start token
    return wanted / wanted.sum(1, keepdim=True)


def looking(heads: dict[Head, str], ids: Int[Tensor, "T"]) -> Callable[[int, Maps], Maps]:
    """Return the change that has heads, by what each does, look where the construction does."""
    wanted = {does: constructed_map(ids, does) for does in {*heads.values()}}

    def change(layer: int, maps: Maps) -> Maps:
        here = {number: does for (each, number), does in heads.items() if each == layer}
        if not here:
            return maps
        maps = maps.clone()
        for number, does in here.items():
            maps[:, number - 1] = wanted[does]
        return maps

    return change


def grafted(run: Run, view: View) -> Grafted:
    """Return what the visitor's text costs with the view's graft. `CannotDraw` without a text: a
    graft needs the weights."""
    check_heads(run)
    if not view.typed:
        raise CannotDraw("a graft needs the weights: type a text of your own first")
    return _grafted(run, view.typed, view.graft, tuple(heads_of(run, view)))


@lru_cache(maxsize=KEPT)  # two drawings show it
def _grafted(run: Run, text: str, graft: str, names: tuple[str, ...]) -> Grafted:
    heads = list(names)
    reading = read_now(run.config.source, text)
    with RESIDENT.borrow(run.config.source) as (model, _):
        losses = _losses(run, graft, model, reading, heads)
        random = [_losses(run, graft, model, reading, each) for each in random_sets(run, heads)]
    return Grafted(heads, losses, np.stack(random))


@torch.no_grad()
def _losses(
    run: Run, graft: str, model: Reader, reading: Reading, names: list[str]
) -> Float[np.ndarray, "after"]:
    """Return what tokens cost with a graft in the place of some heads."""
    heads: dict[Head, str] = {}
    for name in names:
        layer, number = place_of(run, name)
        looks_back = (
            scores(run, "previous")[layer, number] > scores(run, "followers")[layer, number]
        )
        heads[layer + 1, number + 1] = PREVIOUS if looks_back else INDUCTION
    if not heads:
        return reading.losses
    if graft == "constructed":
        change = Change(attention=looking(heads, reading.ids))
    else:
        by = reading.means if graft == "mean" else None
        change = Change(outputs=texts.replacing(list(heads), by))
    first = min(layer for layer, _ in heads)
    logits = model.onward(reading.streams[first - 1], first, change).logits
    return costs(logits[0], reading.ids)
