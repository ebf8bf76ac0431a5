"""Three gradient steps from zero, one matrix after the other: on batches, or in exact
expectation."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

import torch
from torch import Tensor

from icl_core.papers.birth.shared import gradient as whole
from icl_core.papers.birth.shared import proof_model
from icl_core.papers.birth.shared.model import Weights, initialise
from icl_core.papers.birth.shared.proof_model import MATRICES, sample
from icl_core.papers.birth.shared.task import Counts, Task, make_task, shakespeare
from icl_core.papers.birth.steps import exact_expectation
from icl_core.papers.birth.steps.settings import Config

TRIGGERS = 5  # a sequence of the whole model's task; the proof has one
BATCHES = 1000  # the seeds of batches begin here
# a matrix, the step's index, what has been learned: the coefficients
Gradient = Callable[[str, int, Weights], Tensor]


@lru_cache(maxsize=4)
def task_of(config: Config) -> Task:
    """Return which vectors the memories are to pair, and how often each is met: in the proof all
    equally often."""
    if config.setup == "whole":
        return make_task(config.N, TRIGGERS, config.T)
    characters = shakespeare().characters
    even = torch.ones(len(characters), dtype=torch.float64)
    counts = Counts(characters, even, even.expand(len(even), -1))
    return make_task(config.N, 1, config.T, counts=counts)


@lru_cache(maxsize=4)
def begun(config: Config) -> Weights:
    """Return the model before its first step: what is learned is zero."""
    weights = initialise(
        config.N, config.d, config.T, _generator(config.seed), "paper", with_F=False
    )
    return weights.with_(**{name: torch.zeros(config.d, config.d) for name in MATRICES})


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def on_batches(config: Config) -> Gradient:
    """Return the function that takes a gradient, each step on a fresh batch, and returns its
    coefficients; in the whole model the gradient itself."""
    task = task_of(config)

    def gradient(name: str, step: int, weights: Weights) -> Tensor:
        generator = _generator(BATCHES * (1 + step) + config.seed)
        if config.setup == "whole":
            batch = task.sample(task, config.batch, generator)
            return whole.loss_and_gradient(weights, batch, train=(name,))[0][name]
        return proof_model.gradient(
            name, weights, sample(config.N, config.T, config.batch, generator)
        )

    return gradient


def exactly(name: str, step: int, weights: Weights) -> Tensor:
    """Return the coefficients of the proof's gradient in expectation."""
    return exact_expectation.expected(name, weights)


def taken(config: Config, name: str, coefficients: Tensor, weights: Weights) -> Weights:
    """Return the weights with a matrix that has gone its step from zero."""
    if config.setup == "whole":
        G = coefficients.to(weights.W_E)
    else:
        G = proof_model.matrix(name, coefficients, weights)
    return weights.with_(**{name: -config.rates[name] * G})


def walk(
    config: Config,
    gradient: Gradient,
    order: Sequence[str],
    cache: dict[tuple[str, ...], Tensor] | None = None,
) -> list[tuple[Tensor, Weights]]:
    """Take a step on each matrix of an order. Return the coefficients of each step, and the weights
    after it.

    cache  keeps the coefficients by the steps that led there, for orders that begin alike
    """
    cache = {} if cache is None else cache
    weights = begun(config)
    steps = []
    for step, name in enumerate(order):
        path = tuple(order[: step + 1])
        if path not in cache:
            cache[path] = gradient(name, step, weights)
        weights = taken(config, name, cache[path], weights)
        steps.append((cache[path], weights))
    return steps


def seeds_of(config: Config) -> list[Config]:
    """Return one config a seed."""
    return [
        replace(config, seed=(config.seed + index) % 100, seeds=1) for index in range(config.seeds)
    ]
