"""Three gradient steps from zero, one matrix after the other: on batches, or in exact expectation;
and the example of Section 6: y is to be predicted from x = w_E(y) + p_t, the position being noise,
after one such step. Signal and noise of that step, for infinitely many inputs, for a batch, and for
one input a character."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from icl_core.papers.birth.shared import gradient as whole
from icl_core.papers.birth.shared import proof_model
from icl_core.papers.birth.shared import task as tasks
from icl_core.papers.birth.shared.accuracy import hits
from icl_core.papers.birth.shared.model import Weights, initialise
from icl_core.papers.birth.shared.proof_model import MATRICES, sample
from icl_core.papers.birth.shared.task import Counts, Task, make_task, shakespeare
from icl_core.papers.birth.steps import lemmas
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
            batch = tasks.sample(task, config.batch, generator)
            return whole.loss_and_gradient(weights, batch, train=(name,))[0][name]
        return proof_model.gradient(
            name, weights, sample(config.N, config.T, config.batch, generator)
        )

    return gradient


def exactly(name: str, step: int, weights: Weights) -> Tensor:
    """Return the coefficients of the proof's gradient in expectation."""
    return lemmas.expected(name, weights)


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


KNOWN = ("exact", "batch", "one")  # how many inputs: infinitely many, a batch, one a character


class Step(NamedTuple):
    """What the matrix says after one step of size N, so that a right answer reads about one."""

    tokens: Float[Tensor, "N N"]  # w_U(k)^T W_1 w_E(j): the signal on its diagonal
    places: Float[Tensor, "N T"]  # w_U(k)^T W_1 p_t: the noise

    @property
    def signal(self) -> float:
        """Return the mean reading of a right answer."""
        return float(self.tokens.diagonal().mean())

    @property
    def noise(self) -> float:
        """Return the root mean square reading of a position."""
        return float(self.places.square().mean().sqrt())

    @property
    def accuracy(self) -> float:
        """Return the share of right answers over all characters at all positions."""
        logits = self.tokens.T[:, None] + self.places.T  # [y, t, k]
        return float(hits(logits, torch.arange(len(self.tokens))[:, None]).double().mean())


def noise_step(weights: Weights, variant: str, batch: int, generator: torch.Generator) -> Step:
    """Take one step from zero; with infinitely many inputs by eq. 12.

    variant    how many inputs there are, one of KNOWN
    batch      their number, if they are a batch
    generator  draws them
    """
    E, P, U = (vectors.double() for vectors in (weights.W_E, weights.P, weights.W_U))
    N = len(E)
    T = len(P)
    if variant == "exact":
        W = U.T @ (E - E.mean(0))
    else:
        y = torch.arange(N)
        if variant == "batch":
            y = torch.randint(N, (batch,), generator=generator)
        t = torch.randint(T, (len(y),), generator=generator)
        # how often each answer came with each token and position
        counts = torch.zeros(N, N + T, dtype=torch.float64)
        counts.index_put_((y, y), torch.ones(()).double(), accumulate=True)
        counts.index_put_((y, N + t), torch.ones(()).double(), accumulate=True)
        W = N / len(y) * U.T @ (counts - counts.mean(0)) @ torch.cat([E, P])  # 1{y = k} − 1 / N
    return Step(U @ W @ E.T, U @ W @ P.T)
