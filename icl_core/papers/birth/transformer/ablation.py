"""What a head is needed for: its output replaced by its mean, by zero, or by its output on a
corrupted sequence.

The corrupted sequence is the same with other outputs: every trigger is where it was, and another
character follows it. A head that carries which output it was takes the prediction along; one that
only says where to look does not.
"""

from collections.abc import Collection, Iterable, Mapping

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from icl_core.papers.birth.shared.accuracy import hits
from icl_core.papers.birth.shared.full.gradient import chunk_of
from icl_core.papers.birth.shared.full.head_scores import evaluate, passes
from icl_core.papers.birth.shared.full.model import Change, Weights, forward
from icl_core.papers.birth.shared.gradient import share
from icl_core.papers.birth.shared.task import Batch, Task

POSITIONS = 2**14  # held-out positions on which a replacement is evaluated
WAYS = ("mean", "zero", "patch")
MEASURES = (
    "accuracy",
    "accuracy_error",
    "global_loss",
    "other",
)  # "other": says what follows in the corrupted one


@torch.no_grad()
def means(weights: Weights, batch: Batch, heads: int) -> Float[Tensor, "L H T d_H"]:
    """The mean output of every head at every position, over the batch."""
    total = [torch.stack(found.outputs).sum(1) for _, _, found in passes(weights, batch, heads)]
    return torch.stack(total).sum(0) / len(batch.inputs)


def replacing(which: Collection[tuple[int, int]], by: Float[Tensor, "L batch H T d_H"]) -> Change:
    """The change that puts `by` in place of the outputs of some heads, (layer, head) counted from
    1."""

    def change(layer: int, z: Tensor) -> Tensor:
        at = [head - 1 for each, head in which if each == layer]
        if not at:
            return z
        z = z.clone()
        z[:, at] = by[layer - 1][:, at, : z.shape[2]]
        return z

    return change


def uncorrupted(task: Task, batch: Batch) -> Batch:
    """The sequences none of whose outputs is a trigger and that leave enough characters for others
    to take their places; maybe none."""
    clash = (batch.outputs[:, :, None] == batch.triggers[:, None, :]).flatten(1).any(1)
    room = (~_taken(task, batch)).sum(1).to(clash.device) >= batch.triggers.shape[1]
    return batch.take((~clash & room).nonzero()[:, 0], batch.tokens.device)


def _taken(task: Task, batch: Batch) -> Tensor:
    """The characters that are triggers or outputs, [batch, N] bool on the CPU."""
    none = torch.zeros(len(batch.tokens), task.N, dtype=torch.bool)
    return none.scatter_(1, batch.triggers.cpu(), True).scatter_(1, batch.outputs.cpu(), True)


def corrupted(task: Task, batch: Batch, seed: int = 0) -> Batch:
    """The same sequences with other outputs, drawn evenly among characters that are neither
    triggers nor the old outputs; every output is replaced, the first too."""
    taken = _taken(task, batch)
    K = batch.triggers.shape[1]
    drawn = torch.multinomial((~taken).double(), K, generator=torch.Generator().manual_seed(seed))
    drawn = drawn.to(batch.tokens.device)
    before = (
        batch.tokens[:, :-1, None] == batch.triggers[:, None, :]
    )  # (batch, T, K): what follows is output k
    other = (before * drawn[:, None, :]).sum(-1)
    tokens = batch.tokens.clone()
    tokens[:, 1:] = torch.where(before.any(-1), other, tokens[:, 1:])
    return Batch(tokens, batch.in_context, batch.global_, batch.triggers, drawn)


class Bench:
    """Held-out sequences on which heads of one model are replaced, with all that is
    computed once."""

    def __init__(self, weights: Weights, task: Task, batch: Batch, heads: int) -> None:
        self.weights, self.heads, self.batch = weights, heads, batch
        self.mean = means(weights, batch, heads)
        self.clean = uncorrupted(task, batch)
        if self.patches:
            self._corrupt(task)

    @property
    def patches(self) -> bool:
        """Whether there are sequences with which others can be corrupted."""
        return len(self.clean.tokens) > 0

    @torch.no_grad()
    def _corrupt(self, task: Task) -> None:
        self.corrupted = corrupted(task, self.clean)
        runs = [
            torch.stack(found.outputs)
            for _, _, found in passes(self.weights, self.corrupted, self.heads)
        ]
        self.other = torch.cat(
            runs, 1
        )  # head outputs on the corrupted sequences [L, batch, H, T, d_H]

    def measure(self, which: Iterable[tuple[int, int]], by: str) -> dict[str, float]:
        """The `MEASURES` after the replacement `by`, one of `WAYS`, of some heads; none is the
        model as it is."""
        chosen = list(which)
        if by == "patch":
            return self._patched(chosen) if self.patches else dict.fromkeys(MEASURES, float("nan"))
        mean = self.mean[:, None] if by == "mean" else torch.zeros_like(self.mean)[:, None]
        found = evaluate(self.weights, self.batch, self.heads, replacing(chosen, mean))
        return {name: found[name] for name in MEASURES if name in found} | {"other": float("nan")}

    @torch.no_grad()
    def _patched(self, which: list[tuple[int, int]]) -> dict[str, float]:
        clean, twin, right, as_twin, losses = self.clean, self.corrupted, [], [], []
        for rows in torch.arange(len(clean.inputs)).split(chunk_of(clean)):
            change = replacing(which, self.other[:, rows])
            logits = forward(self.weights, clean.inputs[rows], self.heads, change).logits
            right.append(hits(logits, clean.targets[rows]))
            as_twin.append(hits(logits, twin.targets[rows]))
            losses.append(F.cross_entropy(logits.mT, clean.targets[rows], reduction="none"))
        loss = torch.cat(losses)
        accuracy, error = share(torch.cat(right), clean.in_context)
        other, _ = share(torch.cat(as_twin), clean.in_context)
        return dict(
            zip(MEASURES, (accuracy, error, share(loss, clean.global_)[0], other), strict=True)
        )


def each_alone(
    bench: Bench, which: Iterable[tuple[int, int]]
) -> Mapping[str, Float[np.ndarray, "replaced measures"]]:
    """By way, the measures of the model as it is and then with each head alone replaced."""
    sets = [[], *([each] for each in which)]
    return {
        way: np.array(
            [[bench.measure(chosen, way)[name] for name in MEASURES] for chosen in sets], np.float32
        )
        for way in WAYS
    }
