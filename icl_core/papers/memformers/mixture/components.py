"""Prompts of one component each, in one dimension, as in the authors' code: every token and w* from
N(μ_m, σ_m²).

Theorem 4.1 speaks of such prompts ("any new prompt from component m"); in `prompts`, tokens of one
prompt mix.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from icl_core.machine import device
from icl_core.papers.memformers.mixture.settings import Config, Distribution, mixture_of

FRESH = 2**14  # prompts of each component in the test set
BLOCK = 2**12  # of them that are drawn at once


@dataclass(frozen=True, eq=False)
class Tokens:
    """Prompts over their tokens: x [rows, n + 1, prompts], the query last, and w*
    [rows, prompts]."""

    x: Tensor
    target: Tensor


def of_component(
    of: Distribution, n: int, count: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Draw x [n + 1, count] and w* [count] of one component, on the CPU."""
    mean = of.means[0]
    deviation = of.variances[0] ** 0.5
    x, target = (torch.randn(shape, generator=generator) for shape in ((n + 1, count), (count,)))
    return mean + deviation * x, mean + deviation * target


def training(config: Config) -> Tokens:
    """Return the batch that every head learns from, rows seeds × components: the same for both
    kinds and all depths."""
    rows = []
    for seed in range(config.seed, config.seed + config.seeds):
        generator = torch.Generator().manual_seed(80_000 + seed)
        rows += [
            of_component(each, config.n, config.batch, generator)
            for each in mixture_of(config).components
        ]
    return _stacked(rows)


def met(config: Config) -> Tokens:
    """Return the prompts that gates are learned on, of every seed: of components that are drawn by
    their weights."""
    mixture = mixture_of(config)
    rows = []
    for seed in range(config.seed, config.seed + config.seeds):
        generator = torch.Generator().manual_seed(90_000 + seed)
        weights = torch.tensor(mixture.weights)
        drawn = torch.multinomial(weights, config.gate_prompts, True, generator=generator)
        counts = drawn.bincount(minlength=len(weights)).tolist()
        parts = [
            of_component(each, config.n, k, generator)
            for each, k in zip(mixture.components, counts, strict=True)
        ]
        x, target = zip(*parts, strict=True)
        rows.append((torch.cat(x, 1), torch.cat(target)))
    return _stacked(rows)


def met_of_each(config: Config) -> Tokens:
    """Return prompts of a single component, rows seeds × components, for gates that are to find its
    head (Theorem 4.1)."""
    rows = []
    for seed in range(config.seed, config.seed + config.seeds):
        generator = torch.Generator().manual_seed(100_000 + seed)
        rows += [
            of_component(each, config.n, config.gate_prompts, generator)
            for each in mixture_of(config).components
        ]
    return _stacked(rows)


def fresh(config: Config, component: int) -> Iterator[Tensor]:
    """Return x [1, n + 1, block] of fresh prompts of one component whose query is 1; the same for
    all models.

    What a model leaves is linear in w* and in the query: with both 1, its square times (E x²)² is
    the expected loss.
    """
    generator = torch.Generator().manual_seed(2**31 + 47 + component)
    for _ in range(0, FRESH, BLOCK):
        x, _ = of_component(mixture_of(config).components[component], config.n, BLOCK, generator)
        x[-1] = 1.0
        yield x[None].to(device.current_device())


def nothing_learned(config: Config) -> float:
    """Return what predicting zero loses: the weighted mean of (E x²)²."""
    mixture = mixture_of(config)
    return sum(
        w * each.second**2 for w, each in zip(mixture.weights, mixture.components, strict=True)
    )


def _stacked(rows: list[tuple[Tensor, Tensor]]) -> Tokens:
    x, target = zip(*rows, strict=True)
    return Tokens(
        torch.stack(x).to(device.current_device()), torch.stack(target).to(device.current_device())
    )
