"""Heads in one dimension, one for each component of a Gaussian mixture and one for the mixture
itself, and the prompts that they learn from. All heads of a kind and all seeds are rows of one
batch.

A prompt is one number here, S = mean of x² over its tokens. In units of E x² of the distribution in
question w* ~ N(0, 1), the query integrates out, and predicting zero loses 1, whatever the
distribution.
"""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Tensors
from icl_core.machine import device
from icl_core.papers.memformers.mixture.settings import (
    CHUNK,
    POOL,
    Config,
    Distribution,
    mixture_of,
)
from icl_core.papers.memformers.shared import test_set, train, variants
from icl_core.papers.memformers.shared.first_order import expected_losses
from icl_core.papers.memformers.shared.task import Batch, gaussian
from icl_core.papers.memformers.shared.variants import VARIANTS, Parameters
from icl_core.training import loop
from icl_core.training.phases import Phase, Report


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


KINDS = ("linear", "lfom")
WATCHED = 2**12  # prompts at each evaluation


def rows_of(config: Config, kind: str, layers: int) -> SimpleNamespace:
    """Return one kind's models at one depth, as the shared code wants its settings: `seeds` counts
    rows, seeds × distributions."""
    rows = config.seeds * len(distributions(config))
    model = {"variant": kind, "preconditioner": "full", "coordinates": "whitened", "heads": 1}
    training = {
        "learning_rate": config.learning_rate,
        "schedule": "cosine",
        "objective": "log",
        "clip": 0.0,
    }
    training |= {"beta_1": 0.9, "beta_2": 0.99, "initial": 0.1}
    return SimpleNamespace(
        d=1, n=config.n, layers=layers, seeds=rows, steps=config.steps, **model, **training
    )


def training_phase(config: Config, kind: str, layers: int) -> Phase:
    """Return the training of one kind at one depth, as a part of a run."""
    label = f"{VARIANTS[kind].name}, {layers} layer{'s' * (layers > 1)}"
    training = partial(_train, config, kind, layers)
    return Phase(f"{kind} {layers}", config.steps, training, partial(_curves, config), label=label)


def _train(
    config: Config, kind: str, layers: int, resumed: Tensors, report: Report
) -> dict[str, np.ndarray]:
    rows = rows_of(config, kind, layers)
    generator = torch.Generator().manual_seed(60_000 + 100 * config.seed + layers)
    of = problem(config, rows, variants.initial(rows, generator), Batches(config))
    state = train.trained(kind, rows, of, resumed, report)
    return {
        **_curves(config, state),
        **{f"final/{name}": array for name, array in state.snapshots[-1].items()},
    }


def problem(
    config: Config, rows: SimpleNamespace, parameters: Parameters, batches: Batches
) -> loop.Problem:
    """Return what the loop trains: the logarithm of every row's mean loss."""
    every = distributions(config)
    watched = [
        sample_prompts(each, config.n, WATCHED, torch.Generator().manual_seed(2**31 + 41))
        for each in every
    ]
    S = torch.stack(watched * config.seeds)[:, None, None]  # [rows, 1, 1, prompts]
    root = torch.ones(rows.seeds, 1, 1, device=S.device)

    def watch(step: int) -> loop.Measures:
        return {
            "loss": expected_losses(variants.table(parameters, rows, root), S)
            .double()
            .mean(-1)
            .cpu()
            .numpy()
        }

    # Predicting zero loses 1.
    return replace(train.problem(rows, parameters, root, batches, watch), ceiling=1e6)


def _curves(config: Config, state: loop.State) -> dict[str, np.ndarray]:
    """Return `curve/step` and `curve/loss` [seeds, distributions, evaluations]; what has not been
    reached is NaN."""
    curves = train.curves(config, state)
    return {
        **curves,
        "curve/loss": curves["curve/loss"].reshape(config.seeds, -1, len(curves["curve/step"])),
    }
