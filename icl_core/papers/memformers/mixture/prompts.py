"""Prompts of a Gaussian mixture in one dimension.

A prompt is one number here, S = mean of x² over its tokens. In units of E x² of the distribution in
question w* ~ N(0, 1), the query integrates out, and predicting zero loses 1, whatever the
distribution.
"""

import torch
from torch import Tensor

from icl_core.machine import device
from icl_core.papers.memformers.mixture.settings import (
    CHUNK,
    POOL,
    Config,
    Distribution,
    mixture_of,
)
from icl_core.papers.memformers.shared import test_set
from icl_core.papers.memformers.shared.task import Batch, gaussian


def tokens(of: Distribution, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Draw x of a mixture, independent, on the CPU."""
    at = torch.rand(shape, generator=generator)
    edges = torch.tensor(of.weights).cumsum(0)[:-1]
    component = torch.bucketize(at, edges, right=True)
    means = torch.tensor(of.means)
    deviations = torch.tensor(of.variances).sqrt()
    return means[component] + deviations[component] * torch.randn(shape, generator=generator)


def sample_prompts(of: Distribution, n: int, count: int, generator: torch.Generator) -> Tensor:
    """Draw S / E x² of `count` prompts, on the device."""
    sizes = [min(CHUNK, count - start) for start in range(0, count, CHUNK)]
    parts = [tokens(of, (n, size), generator).square().mean(0) for size in sizes]
    return (torch.cat(parts) / of.second).to(device.current_device())


def distributions(config: Config) -> list[Distribution]:
    """Return what rows learn: each component, and last the mixture."""
    mixture = mixture_of(config)
    return [*mixture.components, mixture]


def held_out(config: Config, of: int = -1) -> Tensor:
    """Return S of the test set of one distribution, the mixture being the last: the same for
    all models."""
    generator = torch.Generator().manual_seed(2**31 + 43)
    return sample_prompts(distributions(config)[of], config.n, test_set.PROMPTS, generator)


def met(config: Config) -> Batch:
    """Return the prompts met at test time, of every seed, with their w*."""
    generator = torch.Generator().manual_seed(70_000 + config.seed)
    count = config.gate_prompts
    mixture = mixture_of(config)
    S = torch.stack(
        [sample_prompts(mixture, config.n, count, generator) for _ in range(config.seeds)]
    )
    return Batch(S[:, None, None], gaussian((config.seeds, 1, 1, count), generator))


class Batches:
    """Fresh prompts of every distribution for each step, cut from a pool."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.generator = torch.Generator().manual_seed(50_000 + config.seed)
        count = max(POOL, config.batch * config.seeds)
        self.pool = torch.stack(
            [
                sample_prompts(each, config.n, count, self.generator)
                for each in distributions(config)
            ]
        )

    def at(self, step: int) -> Batch:
        """Return S [rows, 1, 1, batch] and as many w*; rows are seeds × distributions."""
        many = len(self.pool)
        seeds = self.config.seeds
        size = self.config.batch
        start = int(
            torch.randint(0, self.pool.shape[1] - seeds * size + 1, (), generator=self.generator)
        )
        S = self.pool[:, start : start + seeds * size].reshape(many, seeds, size).transpose(0, 1)
        return Batch(
            S.reshape(-1, 1, 1, size), gaussian((seeds * many, 1, 1, size), self.generator)
        )
