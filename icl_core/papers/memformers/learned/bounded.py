"""Prompts whose loss is bounded, as Theorem 5.1 asks: whitened covariates, w* and query lie on the
sphere of radius √d. Their covariance is the identity, as that of Gaussian ones, so that queries and
w* integrate out as there."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Tensors
from icl_core.in_context_regression import gram
from icl_core.machine import device
from icl_core.papers.memformers.shared import model, test_set, train, variants
from icl_core.papers.memformers.shared.task import Batch, integrated, roots
from icl_core.training.phases import Phase, Report

TEST_SEED = 2**31 + 73
POOL = 2**16  # prompts of which those without number are drawn


def plan(models: Mapping[str, Any], labels: Mapping[str, str]) -> list[Phase]:
    """Return what `every_depth` returns, trained and evaluated on prompts on spheres."""
    configs = train.by_phase(models)
    return [
        replace(phase, train=partial(_train, configs[phase.name], phase.label))
        for phase in train.every_depth(models, labels)
    ]


def on_sphere(shape: tuple[int, ...], axis: int, generator: torch.Generator) -> Tensor:
    """Draw vectors along `axis` of length √d, in uniformly distributed directions."""
    drawn = torch.randn(shape, generator=generator)
    length = drawn.norm(dim=axis, keepdim=True)
    return (drawn / length * shape[axis] ** 0.5).to(device.current_device())


def sampled(d: int, n: int, prompts: int, generator: torch.Generator) -> Tensor:
    """Draw prompts and return their S = U Uᵀ / n, [d, d, prompts]."""
    return gram(on_sphere((d, n, prompts), 0, generator))


@lru_cache(maxsize=2)
def held_out(d: int, n: int, prompts: int) -> tuple[tuple[None, Tensor], ...]:
    """Return the test set as `test_set.losses` takes it, S [d, d, block] block by block."""
    generator = torch.Generator().manual_seed(TEST_SEED)
    blocks = range(0, prompts, test_set.BLOCK)
    return tuple((None, sampled(d, n, test_set.BLOCK, generator)) for _ in blocks)


class Batches:
    """Give each step its prompts: the same at every step, with one w* and query each; or, where a
    config asks for fresh ones, some of a pool, over whose w* and queries the loss is a mean."""

    def __init__(self, config: Any) -> None:
        self.config = config
        self.generator = torch.Generator().manual_seed(130_000 + config.seed)
        fresh = config.batches == "fresh"
        self.pool = sampled(config.d, config.n, POOL, self.generator) if fresh else None
        self.fixed = None if fresh else self._fixed()

    def _fixed(self) -> Batch:
        d = self.config.d
        n = self.config.n
        prompts = self.config.batch
        S = []
        target = []
        query = []
        for seed in range(self.config.seed, self.config.seed + self.config.seeds):
            generator = torch.Generator().manual_seed(140_000 + seed)
            S.append(sampled(d, n, prompts, generator))
            target.append(on_sphere((d, 1, prompts), 0, generator))
            query.append(on_sphere((d, prompts), 0, generator))
        return Batch(torch.stack(S), torch.stack(target), query=torch.stack(query))

    def at(self, step: int) -> Batch:
        """Return the batch of a step."""
        if self.fixed is not None:
            return self.fixed
        assert self.pool is not None
        last = POOL - self.config.batch
        start = int(torch.randint(0, last + 1, (), generator=self.generator))
        return integrated(self.pool[..., start : start + self.config.batch])


def _train(config: Any, name: str, resumed: Tensors, report: Report) -> dict[str, np.ndarray]:
    """Train one method. Return `curve/*`, and `evaluated/loss`, `/median` and `/train` [seeds]."""
    generator = torch.Generator().manual_seed(10_000 + 100 * config.seed + config.layers)
    parameters = variants.initial(config, generator)
    root = roots(config)
    batches = Batches(config)
    watched = held_out(config.d, config.n, test_set.WATCHED)

    def watch(step: int) -> dict[str, np.ndarray]:
        losses = test_set.losses(parameters, config, root, watched)
        return {"loss": losses.double().mean(-1).cpu().numpy()}

    problem = train.problem(config, parameters, root, batches, watch)
    state = train.trained(name, config, problem, resumed, report)
    fresh = held_out(config.d, config.n, test_set.PROMPTS)
    losses = test_set.losses(parameters, config, root, fresh).double()  # [seeds, prompts]
    batch = batches.at(config.steps - 1)
    own, _ = model.loss_and_gradient(parameters, config, root, batch, "mean")
    evaluated = {"loss": losses.mean(-1), "median": losses.median(-1).values, "train": own}
    arrays = {
        f"evaluated/{measure}": value.cpu().numpy().astype(np.float32)
        for measure, value in evaluated.items()
    }
    return {**train.curves(config, state), **arrays}


def conjugate_gradient(models: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return `baseline/cg` [K] on the test set, and `baseline/cg_train` [seeds, N, K] on the
    prompts of each of the `models`."""
    first = replace(next(iter(models.values())), seeds=1)
    S = torch.cat([block for _, block in held_out(first.d, first.n, test_set.PROMPTS)], -1)
    generator = torch.Generator().manual_seed(TEST_SEED + 1)
    target = on_sphere((1, first.d, 1, S.shape[-1]), 1, generator)
    fresh = train.conjugate_gradient_on(first, Batch(S[None], target))
    own = [train.conjugate_gradient_on(each, Batches(each).at(0)) for each in models.values()]
    return {"baseline/cg": fresh[0], "baseline/cg_train": np.stack(own, 1)}
