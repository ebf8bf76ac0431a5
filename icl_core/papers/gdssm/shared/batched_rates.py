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
    """Return what trainings of one program have in common."""
    return tuple(
        (name, getattr(config, name)) for name in knobs_of(Config) if name != "learning_rate"
    )


def most(config: Config) -> int:
    """Return how many runs go together: one where the optimiser has two rates, or where products
    mix the seeds with all else."""
    if config.optimiser != "ours" or config.recurrence == "full":
        return 1
    return max(1, min(MOST, CACHE // (config.seeds * config.N * config.f * config.batch)))


def train(
    configs: Sequence[Config], wanted: Mapping[int, Wanted]
) -> Iterator[tuple[int, dict[str, np.ndarray] | Exception]]:
    """Train the runs that are wanted as one. Yield each by the index of its config as it ends: the
    run's tensors, or the exception that ended it."""
    indices = list(wanted)
    config = configs[min(wanted)]
    weights = [single.initial(config) for _ in indices]
    measure = single.watched(config)
    problems = [
        single.problem(configs[index], own, measure)
        for index, own in zip(indices, weights, strict=True)
    ]
    members = [
        batched.Member(problem, wanted[index].resumed, wanted[index].report)
        for index, problem in zip(indices, problems, strict=True)
    ]

    def join(kinds: Sequence[batched.Kind]) -> batched.Whole:
        """Return the runs that still train as one model, their seeds one after another."""
        (rates,) = kinds
        count = len(rates.indices)
        leader = problems[rates.indices[0]].generators[0]
        model = replace(weights[0].with_(**rates.parameters), runs=count)

        def gradient(step: int) -> tuple[list[dict[str, Tensor]], loop.Measures]:
            gradients, measures = single.gradient(model, single.draw(config, config.batch, leader))
            return [gradients], measures

        def evaluate(step: int) -> Sequence[loop.Measures]:
            return rows.by_member(measure(model), [config.seeds] * count)

        return batched.Whole(gradient, evaluate, [0] * count)

    ended: dict[int, loop.State] = {}
    for member, state in batched.train(members, join, config.steps, single.evaluations(config)):
        if isinstance(state, Exception):
            yield indices[member], state
        else:
            ended[member] = state
    yield from _evaluate_ended(
        config, {indices[member]: (weights[member], state) for member, state in ended.items()}
    )


def _evaluate_ended(
    config: Config, ended: Mapping[int, tuple[models.Model, loop.State]]
) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
    """Yield of each run what `single.train_layer` returns, evaluated all at once."""
    if ended:
        losses = single.evaluate(config, [weights for weights, _ in ended.values()])
        by_run = split(losses, config.seeds)
        for (index, (_, state)), own in zip(ended.items(), by_run, strict=False):
            yield index, {**single.kept(state), **own}


def split(
    results: Mapping[str, np.ndarray], seeds: int, rows: tuple[str, ...] = ("evaluated",)
) -> Iterator[dict]:
    """Yield the results of several runs, run by run: those whose name begins with one of `rows`
    have the rows of all runs first, all else is the same for all."""
    start = 0
    while True:
        yield {
            name: array[start : start + seeds] if name.startswith(rows) else array
            for name, array in results.items()
        }
        start += seeds
