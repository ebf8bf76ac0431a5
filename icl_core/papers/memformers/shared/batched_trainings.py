"""Several trainings of one depth as one program: those that differ in Σ, rate, first values or seed
alone."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Diverged
from icl_core.contract.knobs import knobs_of
from icl_core.papers.memformers.shared import first_order, model
from icl_core.papers.memformers.shared.task import Batch
from icl_core.papers.memformers.shared.train import (
    Batches,
    Begun,
    begin,
    end,
    evaluations,
    limited,
    name_diverged,
)
from icl_core.papers.memformers.shared.variants import VARIANTS
from icl_core.training import batched, loop
from icl_core.training.phases import Wanted

FREE = ("spectrum", "condition", "decay", "own", "sigma2", "initial", "learning_rate", "seed")
MOST = 20  # runs at once: beyond it a run costs hardly less


def alike(config: Any) -> Hashable:
    """What trainings of one program have in common: all else is a number a row."""
    return tuple(
        (name, getattr(config, name)) for name in knobs_of(type(config)) if name not in FREE
    )


def most(config: Any) -> int:
    """How many go together: while all their prompts stay in a core's cache, and come in one chunk,
    as a run's own."""
    fits = first_order.CHUNK // (config.seeds * config.d**2 * config.batch)
    return max(1, min(MOST, fits)) if VARIANTS[config.variant].has_one_w else 1


def train(
    name: str, configs: Sequence[Any], wanted: Mapping[int, Wanted]
) -> Iterator[tuple[int, dict[str, np.ndarray] | Exception]]:
    """The trainings that are wanted, each by the index of its config as it ends: what it made, or
    what ended it."""
    indices = list(wanted)
    begun = [begin(configs[index]) for index in indices]
    members = [
        batched.Member(b.problem, wanted[i].resumed, wanted[i].report)
        for i, b in zip(indices, begun, strict=True)
    ]
    config = configs[indices[0]]

    def join(which: Sequence[int], parameters: dict[str, Tensor]) -> batched.Whole:
        return _joined([begun[index] for index in which], parameters)

    ended: dict[int, loop.State] = {}
    for index, what in batched.train(members, join, config.steps, evaluations(config)):
        if isinstance(what, loop.State):
            ended[index] = what
        else:
            why = (
                name_diverged(what, name, begun[index].config)
                if isinstance(what, Diverged)
                else what
            )
            yield indices[index], why
    for index, state in ended.items():
        yield indices[index], end(begun[index], state)


def _joined(begun: Sequence[Begun], parameters: dict[str, Tensor]) -> batched.Whole:
    """All rows on the prompts of their own seeds."""
    config, root = begun[0].config, torch.cat([each.root for each in begun])
    seeds = [each.config.seed for each in begun]
    leaders = [seeds.index(seed) for seed in seeds]  # the prompts depend on the seed alone

    def gradient(step: int):
        batch = _batch({leader: begun[leader].batches for leader in leaders}, leaders, step)
        loss, found = model.loss_and_gradient(parameters, config, root, batch, config.objective)
        return limited(found, config), {"loss": loss.cpu().numpy()}

    def evaluate(step: int):  # of that many prompts a row alone fills a core
        rows = [each.problem.evaluate(step) for each in begun]
        return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}

    return batched.Whole(gradient, evaluate, leaders)


def _batch(of: Mapping[int, Batches], leaders: Sequence[int], step: int) -> Batch:
    """The prompts of all rows; once, where they are the same for all."""
    drawn = {leader: batches.at(step) for leader, batches in of.items()}
    first = drawn[leaders[0]]
    if len(drawn) == 1 and len(first.S) == 1:
        return first
    each = [drawn[leader] for leader in leaders]
    queries = [batch.query for batch in each if batch.query is not None]
    S, target = (
        torch.cat(parts) for parts in zip(*((batch.S, batch.target) for batch in each), strict=True)
    )
    return Batch(S, target, None, torch.cat(queries) if queries else None)
