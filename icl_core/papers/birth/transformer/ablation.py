"""What a head is needed for: its output replaced by its mean, by zero, or by its output on a
corrupted sequence.

The corrupted sequence is the same with other outputs: every trigger is where it was, and another
character follows it. A head that carries which output it was takes the prediction along; one that
only says where to look does not.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from icl_core.machine import cores
from icl_core.papers.birth.shared.accuracy import hits, share
from icl_core.papers.birth.shared.full.head_scores import achieved, loss_and_hits, passes
from icl_core.papers.birth.shared.full.model import (
    Change,
    Weights,
    after_heads,
    attend,
    logits_of,
    read,
)
from icl_core.papers.birth.shared.task import Batch, Task

POSITIONS = 2**14  # held-out positions on which a replacement is evaluated
WAYS = ("mean", "zero", "patch")
# "other": how often the model says what follows in the corrupted sequence
MEASURES = ("accuracy", "accuracy_error", "global_loss", "other")


def replacing(pairs: Collection[tuple[int, int]], by: Float[Tensor, "L batch H T d_H"]) -> Change:
    """Return the change that puts `by` in place of the outputs of some heads, `pairs` (layer, head)
    counted from 1."""

    def change(layer: int, z: Tensor) -> Tensor:
        indices = [head - 1 for head_layer, head in pairs if head_layer == layer]
        if not indices:
            return z
        z = z.clone()
        z[:, indices] = by[layer - 1][:, indices, : z.shape[2]]
        return z

    return change


def uncorrupted(task: Task, batch: Batch) -> Batch:
    """Return the sequences none of whose outputs is a trigger and that leave enough characters for
    others to take their places; maybe none."""
    is_both = batch.outputs[:, :, None] == batch.triggers[:, None, :]  # (batch, K, K)
    has_clash = is_both.flatten(1).any(1)  # (batch)
    free_count = (~_is_taken(task, batch)).sum(1).to(has_clash.device)  # (batch)
    has_room = free_count >= batch.triggers.shape[1]
    return batch.take((~has_clash & has_room).nonzero()[:, 0], batch.tokens.device)


def _is_taken(task: Task, batch: Batch) -> Bool[Tensor, "batch N"]:
    """Return whether each character is a trigger or an output, on the CPU."""
    is_taken = torch.zeros(len(batch.tokens), task.N, dtype=torch.bool)
    return is_taken.scatter_(1, batch.triggers.cpu(), True).scatter_(1, batch.outputs.cpu(), True)


def corrupted(task: Task, batch: Batch, seed: int = 0) -> Batch:
    """Return the same sequences with other outputs, drawn evenly among characters that are neither
    triggers nor the old outputs; every output is replaced, the first too."""
    is_free = ~_is_taken(task, batch)  # (batch, N)
    K = batch.triggers.shape[1]
    generator = torch.Generator().manual_seed(seed)
    outputs = torch.multinomial(is_free.double(), K, generator=generator)  # (batch, K)
    outputs = outputs.to(batch.tokens.device)
    # (batch, T, K): whether a token is trigger k, so that output k follows
    is_trigger = batch.tokens[:, :-1, None] == batch.triggers[:, None, :]
    followers = (is_trigger * outputs[:, None, :]).sum(-1)  # (batch, T)
    tokens = batch.tokens.clone()
    tokens[:, 1:] = torch.where(is_trigger.any(-1), followers, tokens[:, 1:])
    return Batch(tokens, batch.in_context, batch.global_, batch.triggers, outputs)


class _Part(NamedTuple):
    """A part of a bench's sequences, with what the model makes of it as it is.

    rows     of the part
    batch    its sequences
    streams  [L] of [rows, T, d], the stream before each layer
    outputs  [L] of [rows, H, T, d_H], the heads' outputs
    """

    rows: Tensor
    batch: Batch
    streams: list[Tensor]
    outputs: list[Tensor]


class Bench:
    """Held-out sequences on which heads of one model are replaced. What several measurements need
    is computed once, when the first one needs it.

    What a model computes before the first layer in which a head is replaced does not change, nor do
    the outputs of this layer's other heads: both are kept.
    """

    def __init__(self, weights: Weights, task: Task, batch: Batch, heads: int) -> None:
        self.weights = weights
        self.task = task
        self.heads = heads
        self.batch = batch
        self.clean = uncorrupted(task, batch)

    @property
    def patches(self) -> bool:
        """Return whether there are sequences that can be corrupted."""
        return len(self.clean.tokens) > 0

    @cached_property
    def mean(self) -> Float[Tensor, "L H T d_H"]:
        """Return the mean output of every head at every position, over the batch."""
        # (L, rows, H, T, d_H) to (L, H, T, d_H)
        sums = [torch.stack(part.outputs).sum(1) for part in self._parts]
        return torch.stack(sums).sum(0) / len(self.batch.inputs)

    @cached_property
    def corrupted(self) -> Batch:
        """Return the clean sequences with other outputs."""
        return corrupted(self.task, self.clean)

    @cached_property
    def other(self) -> Float[Tensor, "L batch H T d_H"]:
        """Return the heads' outputs on the corrupted sequences."""
        parts = _parts(self.weights, self.corrupted, self.heads)
        return torch.cat([torch.stack(part.outputs) for part in parts], 1)

    @cached_property
    def _parts(self) -> list[_Part]:
        return _parts(self.weights, self.batch, self.heads)

    @cached_property
    def _clean_parts(self) -> list[_Part]:
        return _parts(self.weights, self.clean, self.heads)

    @torch.no_grad()
    def measure(self, pairs: Iterable[tuple[int, int]], by: str) -> dict[str, float]:
        """Return the `MEASURES` after a replacement of some heads.

        pairs  (layer, head) counted from 1; none is the model as it is
        by     one of `WAYS`

        "other" is NaN for all ways but "patch", and so is everything for "patch" where no sequence
        can be corrupted.
        """
        pairs = list(pairs)
        if by == "patch":
            return self._patched(pairs) if self.patches else dict.fromkeys(MEASURES, float("nan"))
        outputs = self.mean if by == "mean" else torch.zeros_like(self.mean)  # (L, H, T, d_H)

        def outcome_of(part: _Part) -> tuple[Tensor, Tensor]:
            return loss_and_hits(self._logits(part, pairs, outputs[:, None]), part.batch)

        measures = achieved(self.batch, list(cores.in_order(outcome_of, self._parts)))
        return {name: measures.get(name, float("nan")) for name in MEASURES}

    def _patched(self, pairs: list[tuple[int, int]]) -> dict[str, float]:
        """Return the MEASURES where heads say what they say of the corrupted sequences."""
        clean = self.clean
        losses: list[Tensor] = []
        right: list[Tensor] = []
        as_corrupted: list[Tensor] = []
        other_outputs = self.other  # (L, batch, H, T, d_H)

        def logits_of_part(part: _Part) -> tuple[_Part, Tensor]:
            return part, self._logits(part, pairs, other_outputs[:, part.rows])

        for part, logits in cores.in_order(logits_of_part, self._clean_parts):
            loss, hit = loss_and_hits(logits, part.batch)
            losses.append(loss)
            right.append(hit)
            as_corrupted.append(hits(logits, self.corrupted.targets[part.rows]))
        accuracy, error = share(torch.cat(right), clean.in_context)
        global_loss, _ = share(torch.cat(losses), clean.global_)
        other, _ = share(torch.cat(as_corrupted), clean.in_context)
        return dict(zip(MEASURES, (accuracy, error, global_loss, other), strict=True))

    def _logits(
        self,
        part: _Part,
        pairs: list[tuple[int, int]],
        by: Float[Tensor, "L #batch H T d_H"],
    ) -> Float[Tensor, "batch T N"]:
        """Return the logits on a part with `by` in place of the outputs of some heads."""
        change = replacing(pairs, by)
        layers = len(part.streams)
        first = min((layer for layer, _ in pairs), default=layers)
        x = part.streams[first - 1]  # (batch, T, d)
        z = part.outputs[first - 1]  # (batch, H, T, d_H)
        for layer in range(first, layers + 1):
            if layer > first:
                read_by_heads = read(self.weights, x, f"attention{layer}")
                z, _ = attend(self.weights, layer, read_by_heads, self.heads)
            x = after_heads(self.weights, layer, x, change(layer, z))
        return logits_of(self.weights, x)


@torch.no_grad()
def _parts(weights: Weights, batch: Batch, heads: int) -> list[_Part]:
    """Return a batch in parts that fit the cache, each with what the model makes of it."""
    return [
        _Part(rows, part, outcome.streams, outcome.outputs)
        for rows, part, outcome in passes(weights, batch, heads)
    ]


def each_alone(
    bench: Bench, pairs: Iterable[tuple[int, int]]
) -> Mapping[str, Float[np.ndarray, "replaced measures"]]:
    """Return by way the `MEASURES` of the model as it is, and then with each of some heads, (layer,
    head) counted from 1, alone replaced."""
    replacements = [[], *([pair] for pair in pairs)]
    effects = {}
    for way in WAYS:
        rows = []
        for replacement in replacements:
            measures = bench.measure(replacement, way)
            rows.append([measures[name] for name in MEASURES])
        effects[way] = np.array(rows, np.float32)
    return effects
