"""Something else in the place of some heads while the visitor's text is read: zero, their mean
output, or the memory that the paper constructs.

What is constructed is where a head looks; what it reads there and writes, by its own W_V and W_O,
stays. In a previous-token head's place stands attention on t − 1 alone (W_K¹ of eq. 7). In an
induction head's place it lies on what followed the same token earlier, evenly where there are
several such places (W_K² of eq. 7); a token that has not come before looks at the start token, as
trained heads do that find nothing.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from icl_core.contract.experiment import CannotDraw, Run
from icl_core.papers.birth.pretrained import repeated
from icl_core.papers.birth.pretrained.load_run import head_id, place_of, scores
from icl_core.papers.birth.pretrained.readers.model import Change, Maps, Reader
from icl_core.papers.birth.pretrained.recall import Head
from icl_core.papers.birth.pretrained.settings import View
from icl_core.papers.birth.pretrained.typed.reading import KEPT, Reading, costs, read_now
from icl_core.papers.birth.pretrained.typed.resident import RESIDENT
from icl_core.papers.birth.shared.behaviour import INDUCTION, PREVIOUS, following


class Grafted(NamedTuple):
    """What each token costs with a graft in the place of some heads, and in that of as many random
    ones, in nats [T - 1]."""

    heads: list[str]
    losses: Float[np.ndarray, "after"]
    random: Float[np.ndarray, "after"]


def heads_of(run: Run, view: View) -> list[str]:
    """Return the ids of the heads that are replaced."""
    if view.grafted == "pair":
        return run.names("best")
    if view.grafted == "one":
        return [view.typed_head or run.names("strongest")[0]]
    return run.names("strongest")[: view.grafted_count]


def random_heads(run: Run, heads: list[str]) -> list[str]:
    """Return as many other heads, none of the strongest among them, always the same."""
    strongest = {*run.names("strongest"), *run.names("previous"), *heads}
    layers, count = scores(run, "previous").shape
    others = []
    for layer in range(layers):
        names = [head_id(layer, number) for number in range(count)]
        others += [name for name in names if name not in strongest]
    generator = torch.Generator().manual_seed(run.config.seed)
    order = torch.randperm(len(others), generator=generator)[: len(heads)]
    return [others[index] for index in order.tolist()]


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
    if not view.typed:
        raise CannotDraw("a graft needs the weights: type a text of your own first")
    return _grafted(run, view.typed, view.graft, tuple(heads_of(run, view)))


@lru_cache(maxsize=KEPT)  # two drawings show it
def _grafted(run: Run, text: str, graft: str, names: tuple[str, ...]) -> Grafted:
    heads = list(names)
    reading = read_now(run.config.source, text)
    with RESIDENT.borrow(run.config.source) as (model, _):
        sets = (heads, random_heads(run, heads))
        losses = [_losses(run, graft, model, reading, each) for each in sets]
    return Grafted(heads, *losses)


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
        change = Change(outputs=repeated.replacing(list(heads), by))
    first = min(layer for layer, _ in heads)
    logits = model.onward(reading.streams[first - 1], first, change).logits
    return costs(logits[0], reading.ids)
