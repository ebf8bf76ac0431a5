"""Several trainings as one program: those that differ in their learning rate alone, and so read the
same tasks."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from torch import Tensor

from icl_core.contract.knobs import knobs_of
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import train as single
from icl_core.papers.gdssm.shared.settings import Config
from icl_core.training import batched, loop, rows
from icl_core.training.phases import Wanted

MOST = 20  # runs at once: beyond it a run costs hardly less
CACHE = 2**19  # numbers of all rows' windows that stay in a core's cache


def alike(config: Config) -> Hashable:
    """What trainings of one program have in common."""
    return tuple(
        (name, getattr(config, name)) for name in knobs_of(Config) if name != "learning_rate"
    )


def most(config: Config) -> int:
    """How many go together. Not where the optimiser has two rates, or products mix the seeds with
    all else."""
    alone = config.optimiser != "ours" or config.recurrence == "full"
    return (
        1
        if alone
        else max(1, min(MOST, CACHE // (config.seeds * config.N * config.f * config.batch)))
    )


def train(
    configs: Sequence[Config], wanted: Mapping[int, Wanted]
) -> Iterator[tuple[int, dict[str, np.ndarray] | Exception]]:
    """The trainings that are wanted, each by the index of its config as it ends: what it made, or
    what ended it."""
    indices, config = list(wanted), configs[min(wanted)]
    weights, measure = [single.initial(config) for _ in indices], single.watched(config)
    problems = [
        single.problem(configs[index], own, measure)
        for index, own in zip(indices, weights, strict=True)
    ]
    members = [
        batched.Member(problem, wanted[index].resumed, wanted[index].report)
        for index, problem in zip(indices, problems, strict=True)
    ]

    def join(kinds: Sequence[batched.Kind]) -> batched.Whole:
        (rates,) = kinds
        count = len(rates.indices)
        leader = problems[rates.indices[0]].generators[0]
        apart = replace(weights[0].with_(**rates.parameters), runs=count)

        def gradient(step: int) -> tuple[list[dict[str, Tensor]], loop.Measures]:
            of_rows, measures = single.gradient(apart, single.draw(config, config.batch, leader))
            return [of_rows], measures

        def evaluate(step: int) -> Sequence[loop.Measures]:
            return rows.by_member(measure(apart), [config.seeds] * count)

        return batched.Whole(gradient, evaluate, [0] * count)

    ended: dict[int, loop.State] = {}
    for index, what in batched.train(members, join, config.steps, single.evaluations(config)):
        if isinstance(what, Exception):
            yield indices[index], what
        else:
            ended[index] = what
    yield from _evaluate_ended(
        config, {indices[at]: (weights[at], state) for at, state in ended.items()}
    )


def _evaluate_ended(
    config: Config, ended: Mapping[int, tuple[models.Model, loop.State]]
) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
    """Of each what `single.train` gives, evaluated all at once."""
    if ended:
        found = single.evaluate(config, [weights for weights, _ in ended.values()])
        for (index, (_, state)), own in zip(
            ended.items(), split(found, config.seeds), strict=False
        ):
            yield index, {**single.kept(state), **own}


def split(
    found: Mapping[str, np.ndarray], seeds: int, rows: tuple[str, ...] = ("evaluated",)
) -> Iterator[dict]:
    """What was found of the rows of several runs, run by run: what begins with one of `rows` has
    the rows first, all else is the same for all."""
    start = 0
    while True:
        yield {
            name: array[start : start + seeds] if name.startswith(rows) else array
            for name, array in found.items()
        }
        start += seeds
