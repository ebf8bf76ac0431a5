"""The task of Section 2: in-context linear regression with covariance Σ = σ² Uᵀ D U and w* ~ N(0,
Σ⁻¹).

Everything is kept in whitened coordinates, x = Σ^½ u, w* = Σ^-½ v: one pool of prompts serves every
Σ, U and σ².
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from icl_core.in_context_regression import (
    Covariance,
    covariates,
    geometric,
    gram,
    grams,
    parse_eigenvalues,
    rotation,
)
from icl_core.machine import device
from icl_core.papers.memformers.shared import authors_prompts

PAPER = (1.0, 1.0, 0.25, 0.0625, 1.0)  # eigenvalues of Σ in the authors' code; Appendix D
SPECTRA = {
    "paper": "the paper's: 1, 1, 1/4, 1/16, 1",
    "geometric": "by condition number and decay",
    "isotropic": "all equal",
    "own": "my own",
}
POOL = 2**24  # numbers in a pool of prompts
FEWEST = 2**18  # prompts in it, where they fit
BLOCKS = 8  # batches in it at least: a step meets covariates again, but with other w*


def eigenvalues_of(config: Any) -> Tensor:
    """Return the eigenvalues of Σ that a config asks for, [d] float64, σ² included.

    The paper's five repeat for larger d. Raises `ValueError` for eigenvalues of one's own that are
    none.
    """
    if config.spectrum == "paper":
        values = torch.tensor([PAPER[i % len(PAPER)] for i in range(config.d)], dtype=torch.float64)
    elif config.spectrum == "own":
        values = parse_eigenvalues(config.own, config.d)
    else:
        condition = config.condition if config.spectrum == "geometric" else 1.0
        values = geometric(config.d, condition, config.decay)
    return values * config.sigma2


def covariances(config: Any) -> list[Covariance]:
    """Return the covariance of each seed: the same eigenvalues, an own rotation U; the authors' own
    where their prompts are asked for."""
    seeds = range(config.seed, config.seed + config.seeds)
    if getattr(config, "batches", "") == "authors":
        # they turn by U, and the rows of a `rotation` are eigenvectors
        rotations = [authors_prompts.rotation(config.d, seed).T.contiguous() for seed in seeds]
    else:
        rotations = [
            rotation(config.d, torch.Generator().manual_seed(20_000 + seed)) for seed in seeds
        ]
    return [Covariance(eigenvalues_of(config), each) for each in rotations]


def roots(config: Any) -> Tensor:
    """Return Σ^½ of every seed, [seeds, d, d] float32, on the device."""
    stacked = torch.stack([covariance.root for covariance in covariances(config)])
    return stacked.float().to(device.current_device())


@dataclass(frozen=True, eq=False)
class Batch:
    """Prompts of every seed, the last axis, in whitened coordinates.

    S  [seeds, d, d, prompts] U Uᵀ / n
    target  [seeds, d, m, prompts] w*: m = 1 sampled, or m = d unit vectors, over which the loss
            sums
    U  [seeds, d, n, prompts] the examples, if a model needs them one by one
    query  [seeds, d, prompts], or None: integrated out
    noise  [seeds, d, m, prompts] U ε / n of labels y = ⟨w*, x⟩ + ε, or None: labels without noise
    """

    S: Tensor
    target: Tensor
    U: Tensor | None = None
    query: Tensor | None = None
    noise: Tensor | None = None

    @property
    def prompts(self) -> int:
        """Return how many prompts each seed has."""
        return self.S.shape[-1]

    def part(self, prompts: slice) -> "Batch":
        """Return some of the prompts."""
        U, query, noise = (
            tensor if tensor is None else tensor[..., prompts]
            for tensor in (self.U, self.query, self.noise)
        )
        return Batch(self.S[..., prompts], self.target[..., prompts], U, query, noise)


class Pool:
    """Many prompts, drawn once, from which a step takes its own in a block: the S or, where
    `examples`, the U."""

    def __init__(self, config: Any, generator: torch.Generator, examples: bool) -> None:
        """Draw the pool from a `generator` that nothing was drawn from yet."""
        self.examples = examples
        self.n = config.n
        block = config.batch * config.seeds
        numbers = config.d * (config.n if examples else config.d)  # of a prompt
        count = max(BLOCKS * block, min(FEWEST, POOL // numbers))
        count = min(count, block * config.steps)
        self.held, state = _pool(config.d, config.n, count, generator.initial_seed(), examples)
        generator.set_state(state)

    def take(
        self, seeds: int, prompts: int, generator: torch.Generator
    ) -> tuple[Tensor, Tensor | None]:
        """Return S [seeds, d, d, prompts] of a block at a random place, and U [seeds, d, n,
        prompts], or None where the pool has no examples."""
        start = self.start(seeds, prompts, generator)
        block = self.held[:, :, start : start + seeds * prompts]
        # [d, d or n, seeds × prompts] -> [seeds, d, d or n, prompts]
        block = block.reshape(*block.shape[:2], seeds, prompts).permute(2, 0, 1, 3)
        if not self.examples:
            return block, None
        return torch.stack([gram(U) for U in block]), block

    def start(self, seeds: int, prompts: int, generator: torch.Generator) -> int:
        """Return the random place of the next block."""
        count = self.held.shape[-1]
        return int(torch.randint(0, count - seeds * prompts + 1, (), generator=generator))


@lru_cache(maxsize=2)  # every depth of a run meets the same
def _pool(d: int, n: int, count: int, seed: int, examples: bool) -> tuple[Tensor, Tensor]:
    """Return the prompts of a pool, U [d, n, count] or S [d, d, count], and the state of its
    generator behind them."""
    generator = torch.Generator().manual_seed(seed)
    held = (covariates if examples else grams)(d, n, count, generator, torch.float32)
    return held.to(device.current_device()), generator.get_state()


def gaussian(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Return standard normal numbers, drawn on the CPU so that every device sees the same."""
    return torch.randn(shape, generator=generator).to(device.current_device())


def fixed_batch(config: Any, generator: torch.Generator, examples: bool) -> Batch:
    """Return a batch that stays, from a generator of its own: with w* and query of each prompt, and
    the U where `examples`. The same prompts for every model; a "common" one is drawn once and
    turned with every seed's rotation."""
    common = config.batches == "common"
    shape = (config.d, config.n, config.batch)
    drawn = 1 if common else config.seeds
    U = torch.stack(
        [covariates(*shape, generator).to(device.current_device()) for _ in range(drawn)]
    )
    target = gaussian((drawn, config.d, 1, config.batch), generator)
    query = gaussian((drawn, config.d, config.batch), generator)
    noise = label_noise(U, config.noise, generator) if config.noise else None
    if common:
        turn = rotations(config)
        U = turned(turn, U[0])
        target = turned(turn, target[0])
        query = turned(turn, query[0])
        noise = None if noise is None else turned(turn, noise[0])
    S = torch.stack([gram(of_seed) for of_seed in U])
    return Batch(S, target, U if examples else None, query, noise)


def label_noise(U: Tensor, noise: float, generator: torch.Generator) -> Tensor:
    """Return U ε / n of labels with noise ε ~ N(0, `noise`²), [seeds, d, 1, prompts], of the
    examples U [seeds, d, n, prompts]."""
    seeds, _, n, prompts = U.shape
    epsilon = noise * gaussian((seeds, 1, n, prompts), generator)
    return (U * epsilon).sum(2, keepdim=True) / n


def turned_batch(config: Any, drawn: authors_prompts.Normals, examples: bool) -> Batch:
    """Return one of the authors' batches as every seed meets it, with the U where `examples`."""
    turn = rotations(config)
    U = turned(turn, drawn.U.to(turn))  # [seeds, d, n, prompts]
    target = turned(turn, drawn.target.to(turn)[:, None])
    query = turned(turn, drawn.query.to(turn))
    S = torch.stack([gram(of_seed) for of_seed in U])
    return Batch(S, target, U if examples else None, query)


def rotations(config: Any) -> Tensor:
    """Return Uᵀ of every seed, [seeds, d, d] float32, on the device: it turns what is drawn in the
    eigenbasis of Σ into a seed's coordinates."""
    stacked = torch.stack([covariance.rotation.T for covariance in covariances(config)])
    return stacked.float().to(device.current_device())


def turned(turn: Tensor, vectors: Tensor) -> Tensor:
    """Return the same `vectors` [d, …] as every seed of `turn` [seeds, d, d] meets them, [seeds, d,
    …]."""
    return (turn @ vectors.flatten(1)).unflatten(2, vectors.shape[1:])


def integrated(S: Tensor, U: Tensor | None = None, share: float = 0.0) -> Batch:
    """Return the prompts S [d, d, prompts] (and U [d, n, prompts]) with w* and the query integrated
    out, and noise in the labels of variance n `share` as well; for all seeds."""
    unit = torch.eye(S.shape[0], dtype=S.dtype, device=S.device)[None, :, :, None]  # [1, d, d, 1]
    target = unit.expand(1, -1, -1, S.shape[-1])
    examples = None if U is None else U[None]
    if not share:
        return Batch(S[None], target, examples)
    # U ε / n has covariance `share` S: d more columns, without a target, stand for it.
    root = torch.linalg.cholesky(S.permute(2, 0, 1).double()).to(S) * share**0.5
    columns = root.permute(1, 2, 0)[None]  # [1, d, d, prompts]
    none = torch.zeros_like(columns)
    return Batch(
        S[None],
        torch.cat([target, none], 2),
        examples,
        noise=torch.cat([none, columns], 2),
    )
