"""Learn methods of every number of steps from every number of prompts.

Prompts may have a bounded loss, as Theorem 5.1 asks: whitened covariates, w* and query lie on the
sphere of radius √d. Their covariance is the identity, as that of Gaussian ones, so that queries and
w* integrate out as there.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Progress, Tensors
from icl_core.in_context_regression import gram
from icl_core.machine import device
from icl_core.papers.memformers.learned.settings import Config, model_of, sizes_of
from icl_core.papers.memformers.shared import authors_prompts, model, test_set, train, variants
from icl_core.papers.memformers.shared.authors_prompts import LEFT_OUT
from icl_core.papers.memformers.shared.baselines import baseline_losses
from icl_core.papers.memformers.shared.batched_trainings import at_once
from icl_core.papers.memformers.shared.settings import Model
from icl_core.papers.memformers.shared.task import Batch, integrated, roots
from icl_core.papers.memformers.shared.train import (
    by_depth,
    by_phase,
    every_depth,
    on_own_batch,
)
from icl_core.training import phases
from icl_core.training.phases import Phase, Report

ENDLESS = "endless"
TESTED = 1000  # prompts that the authors test conjugate gradient on


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Learn from every number of prompts N and for every number of steps, all seeds together.
    `size/prompts` [N]; `evaluated/loss`, `/median`, `/train` [seeds, N, K] on fresh prompts and on
    its own; `endless/loss`, `/median` [seeds, K]; `curve/*` of the fewest prompts; `baseline/*`
    [K], `baseline/cg_train` [seeds, N, K]."""
    models = {str(size): model_of(config, size) for size in sizes_of(config)}
    every = {**models, ENDLESS: model_of(config, None)}
    labels = {name: f"{name} prompts" for name in every}
    if config.prompts == "spheres":
        plan = bounded_phases(every, labels)
    else:
        plan = at_once(every_depth(every, labels), by_phase(every))
    results = phases.run(plan, progress, partial(phases.curves, plan[0].name))
    of = partial(by_depth, results, layers=config.layers)  # [seeds, K]
    by_size = {
        measure: np.stack([of(size, measure=measure) for size in models], 1)
        for measure in ("loss", "median", "train")
    }
    return {
        **phases.curves(plan[0].name, results),
        **{f"evaluated/{measure}": losses for measure, losses in by_size.items()},
        **{f"endless/{measure}": of(ENDLESS, measure=measure) for measure in ("loss", "median")},
        "size/prompts": np.array(sizes_of(config)),
        **_baselines(config, models),
    }


def _baselines(config: Config, models: Mapping[str, Model]) -> dict[str, np.ndarray]:
    """Return `baseline/*` [K] on fresh prompts and `baseline/cg_train` [seeds, N, K]; of the
    authors' own prompts, `authors/cg` [K] too."""
    if config.prompts == "spheres":
        return bounded_conjugate_gradient(models)
    endless = model_of(config, None)
    own = [on_own_batch(model)["baseline/cg_train"] for model in models.values()]
    lines = {**baseline_losses(endless), "baseline/cg_train": np.stack(own, 1)}
    return {**lines, **_of_authors(config, endless)}


def _of_authors(config: Config, model: Model) -> dict[str, np.ndarray]:
    """Return `authors/cg` [K] of their own prompts: conjugate gradient on 1000 of them, with the
    example that the methods do not see."""
    if config.batches != "authors":
        return {}
    normals = authors_prompts.classical_batch(config.d, config.n + LEFT_OUT, 0, TESTED)
    losses = test_set.classical_on_batch(normals, model, config.n + LEFT_OUT)
    return {"authors/cg": losses["cg"]}


SPHERE_SEED = 2**31 + 73
POOL = 2**16  # prompts of which those without number are drawn


def bounded_phases(models: Mapping[str, Any], labels: Mapping[str, str]) -> list[Phase]:
    """Return what `every_depth` returns, trained and evaluated on prompts on spheres."""
    configs = train.by_phase(models)
    return [
        replace(phase, train=partial(_train_bounded, configs[phase.name], phase.label))
        for phase in train.every_depth(models, labels)
    ]


def on_sphere(shape: tuple[int, ...], axis: int, generator: torch.Generator) -> Tensor:
    """Draw vectors along `axis` of length √d, in uniformly distributed directions."""
    drawn = torch.randn(shape, generator=generator)
    length = drawn.norm(dim=axis, keepdim=True)
    return (drawn / length * shape[axis] ** 0.5).to(device.current_device())


def sampled_on_sphere(d: int, n: int, prompts: int, generator: torch.Generator) -> Tensor:
    """Draw prompts and return their S = U Uᵀ / n, [d, d, prompts]."""
    return gram(on_sphere((d, n, prompts), 0, generator))


@lru_cache(maxsize=2)
def held_out_on_sphere(d: int, n: int, prompts: int) -> tuple[tuple[None, Tensor], ...]:
    """Return the test set as `test_set.losses` takes it, S [d, d, block] block by block."""
    generator = torch.Generator().manual_seed(SPHERE_SEED)
    blocks = range(0, prompts, test_set.BLOCK)
    return tuple((None, sampled_on_sphere(d, n, test_set.BLOCK, generator)) for _ in blocks)


class BoundedBatches:
    """Give each step its prompts: the same at every step, with one w* and query each; or, where a
    config asks for fresh ones, some of a pool, over whose w* and queries the loss is a mean."""

    def __init__(self, config: Any) -> None:
        self.config = config
        self.generator = torch.Generator().manual_seed(130_000 + config.seed)
        fresh = config.batches == "fresh"
        self.pool = sampled_on_sphere(config.d, config.n, POOL, self.generator) if fresh else None
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
            S.append(sampled_on_sphere(d, n, prompts, generator))
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


def _train_bounded(
    config: Any, name: str, resumed: Tensors, report: Report
) -> dict[str, np.ndarray]:
    """Train one method. Return `curve/*`, and `evaluated/loss`, `/median` and `/train` [seeds]."""
    generator = torch.Generator().manual_seed(10_000 + 100 * config.seed + config.layers)
    parameters = variants.initial(config, generator)
    root = roots(config)
    batches = BoundedBatches(config)
    watched = held_out_on_sphere(config.d, config.n, test_set.WATCHED)

    def watch(step: int) -> dict[str, np.ndarray]:
        losses = test_set.losses(parameters, config, root, watched)
        return {"loss": losses.double().mean(-1).cpu().numpy()}

    problem = train.problem(config, parameters, root, batches, watch)
    state = train.trained(name, config, problem, resumed, report)
    fresh = held_out_on_sphere(config.d, config.n, test_set.PROMPTS)
    losses = test_set.losses(parameters, config, root, fresh).double()  # [seeds, prompts]
    batch = batches.at(config.steps - 1)
    own, _ = model.loss_and_gradient(parameters, config, root, batch, "mean")
    evaluated = {"loss": losses.mean(-1), "median": losses.median(-1).values, "train": own}
    arrays = {
        f"evaluated/{measure}": value.cpu().numpy().astype(np.float32)
        for measure, value in evaluated.items()
    }
    return {**train.curves(config, state), **arrays}


def bounded_conjugate_gradient(models: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return `baseline/cg` [K] on the test set, and `baseline/cg_train` [seeds, N, K] on the
    prompts of each of the `models`."""
    first = replace(next(iter(models.values())), seeds=1)
    S = torch.cat(
        [block for _, block in held_out_on_sphere(first.d, first.n, test_set.PROMPTS)], -1
    )
    generator = torch.Generator().manual_seed(SPHERE_SEED + 1)
    target = on_sphere((1, first.d, 1, S.shape[-1]), 1, generator)
    fresh = train.conjugate_gradient_on(first, Batch(S[None], target))
    own = [
        train.conjugate_gradient_on(each, BoundedBatches(each).at(0)) for each in models.values()
    ]
    return {"baseline/cg": fresh[0], "baseline/cg_train": np.stack(own, 1)}
