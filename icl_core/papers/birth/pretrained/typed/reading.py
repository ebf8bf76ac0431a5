"""What a model makes of one text: the visitor's own, read now by the model in memory. While none is
typed it is the sentence that the run has recorded, which needs no weights."""

from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from icl_core.contract.experiment import CannotDraw, Run
from icl_core.papers.birth.pretrained import repeated, texts
from icl_core.papers.birth.pretrained.load_run import unpacked
from icl_core.papers.birth.pretrained.readers.model import Pass, forward
from icl_core.papers.birth.pretrained.settings import View
from icl_core.papers.birth.pretrained.typed.resident import RESIDENT
from icl_core.papers.birth.shared.behaviour import (
    average,
    by_chance,
    on_followers,
    on_previous,
)

BYTES = 2048  # of a text
KEPT = 2  # texts that stay in memory, 18 MB each at 256 tokens
RECORDED = "sentence"  # the run's text that stands in while none is typed


class Reading:
    """What a model makes of a text.

    tokens   its tokens as text, the start token first
    ids      their numbers [T], equal where tokens are equal
    losses   what each token after the first costs in the end, in nats [T - 1]
    packed   the lower halves of all attention maps, as `texts.packed` gives them
    streams  the stream before each layer and after the last; none of a recorded text
    means    every head's mean output over the text, a tensor [H, d_H] a layer; likewise
    """

    def __init__(
        self,
        tokens: list[str],
        ids: Int[Tensor, "T"],
        losses: Float[np.ndarray, "after"],
        packed: np.ndarray,
        outcome: Pass | None = None,
    ) -> None:
        self.tokens = tokens
        self.ids = ids
        self.losses = losses
        self.packed = packed
        self.streams = [] if outcome is None else outcome.streams
        self.means = [] if outcome is None else repeated.mean_outputs(outcome)

    def attention(self, layer: int, number: int) -> Float[np.ndarray, "T T"]:
        """Return the map of one head, both counted from 0."""
        return unpacked(self.packed[layer, number], len(self.tokens))

    def scores(self, measure: str) -> Float[np.ndarray, "layers H"]:
        """Return a measure of every head on this text: its attention on the token before
        ("previous"), or on what followed the same token earlier, as far as that is beyond even
        attention ("followers"). `CannotDraw` for the latter if no token comes twice."""
        rows = [self._of_layer(layer, measure) for layer in range(len(self.packed))]
        values = torch.stack(rows)  # (layers, H)
        if not values.isfinite().all():
            raise CannotDraw("in this text no token comes twice: nothing can have followed it")
        return values.float().numpy()

    def _of_layer(self, layer: int, measure: str) -> Float[Tensor, "H"]:
        heads = range(self.packed.shape[1])
        maps = torch.stack([torch.from_numpy(self.attention(layer, head)) for head in heads])
        maps = maps[None]  # (1, H, T, T)
        if measure == "previous":
            return average(on_previous(maps))
        ids = self.ids[None, None]  # (1, 1, T)
        even = average(by_chance(ids))
        return (average(on_followers(maps, ids)) - even) / (1 - even)


def of_view(run: Run, view: View) -> Reading:
    """Return what the run's model makes of the visitor's text, or has made of the recorded one."""
    return read_now(run.config.source, view.typed) if view.typed else recorded(run)


def recorded(run: Run) -> Reading:
    """Return what the run holds of its sentence."""
    tokens = run.names(f"text/{RECORDED}")
    return Reading(
        tokens,
        torch.tensor([tokens.index(token) for token in tokens]),
        run[f"text/{RECORDED}/loss"][-1].astype(np.float32),
        run[f"text/{RECORDED}/attention"],
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
        most = min(texts.MOST, model.shape.T - 1)  # the start token has a position, too
        if not 1 < len(encoded) <= most:
            raise CannotDraw(f"a text must have 2 to {most} tokens, got {len(encoded)}")
        ids = torch.tensor([tokens.start, *encoded])
        outcome = forward(model, ids[None], keep=True)
        labels = [tokens.decode(token) for token in ids.tolist()]
        losses = costs(outcome.logits[0], ids)
        return Reading(labels, ids, losses, texts.packed(outcome.attention), outcome)


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
