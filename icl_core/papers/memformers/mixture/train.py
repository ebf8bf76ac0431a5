"""Trains heads in one dimension: one on each component of a Gaussian mixture, and one on the mixture itself.

A prompt is one number here, S = mean of x² over its tokens. In units of E x² of the distribution in question
w* ~ N(0, 1), the query integrates out, and predicting zero loses 1, whatever the distribution. All heads of a kind and
all seeds are rows of one batch.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from icl_core import device
from icl_core.experiment import Diverged, Tensors
from icl_core.papers.memformers.mixture.settings import Config, Distribution, mixture_of
from icl_core.papers.memformers.shared import first_order, model, variants
from icl_core.papers.memformers.shared.task import Batch, gaussian, integrated
from icl_core.papers.memformers.shared.variants import Parameters
from icl_core.training import loop
from icl_core.training.phases import Phase, Report

KINDS = {"linear": "linear transformer", "lfom": "LFOM Memformer"}
RATE, BETAS = 0.05, (0.9, 0.99)
EVALUATIONS = 40
POOL = 2**16  # prompts of each distribution that batches are cut from
WATCHED = 2**12  # judged at each evaluation
CHUNK = 2**14  # prompts drawn at a time; fixed, since it decides which prompts come


@dataclass(frozen=True)
class Rows:
    """The model as the other modules want to know it: `seeds` counts rows, seeds × distributions."""

    variant: str
    layers: int
    seeds: int
    n: int
    d: int = 1
    heads: int = 1
    preconditioner: str = "full"
    coordinates: str = "whitened"


def tokens(of: Distribution, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """x of a mixture, independent, on the CPU."""
    at = torch.rand(shape, generator=generator)
    edges = torch.tensor(of.weights).cumsum(0)[:-1]
    component = torch.bucketize(at, edges, right=True)
    means, deviations = torch.tensor(of.means), torch.tensor(of.variances).sqrt()
    return means[component] + deviations[component] * torch.randn(shape, generator=generator)


def prompts(of: Distribution, n: int, count: int, generator: torch.Generator) -> Tensor:
    """S / E x² of `count` prompts, on the device."""
    sizes = [min(CHUNK, count - start) for start in range(0, count, CHUNK)]
    parts = [tokens(of, (n, size), generator).square().mean(0) for size in sizes]
    return (torch.cat(parts) / of.second).to(device.device())


def distributions(config: Config) -> list[Distribution]:
    """What rows learn: each component, and last the mixture."""
    mixture = mixture_of(config)
    return [*mixture.components, mixture]


def rows_of(config: Config, kind: str, layers: int) -> Rows:
    """One kind's rows at one depth."""
    return Rows(kind, layers, config.seeds * len(distributions(config)), config.n)


class Batches:
    """Fresh prompts of every distribution for each step, cut from a pool."""

    def __init__(self, config: Config) -> None:
        self.config, self.generator = config, torch.Generator().manual_seed(50_000 + config.seed)
        count = max(POOL, config.batch * config.seeds)
        self.pool = torch.stack([prompts(each, config.n, count, self.generator) for each in distributions(config)])

    def at(self, step: int) -> Batch:
        """S [rows, 1, 1, batch] and as many w*; rows are seeds × distributions."""
        many, seeds, size = len(self.pool), self.config.seeds, self.config.batch
        start = int(torch.randint(0, self.pool.shape[1] - seeds * size + 1, (), generator=self.generator))
        S = self.pool[:, start : start + seeds * size].reshape(many, seeds, size).transpose(0, 1)
        return Batch(S.reshape(-1, 1, 1, size), gaussian((seeds * many, 1, 1, size), self.generator))


def training_phase(config: Config, kind: str, layers: int) -> Phase:
    """The training of one kind at one depth, as a part of a run."""
    return Phase(f"{kind} {layers}", config.steps, partial(_train, config, kind, layers), partial(_curves, config))


def _train(config: Config, kind: str, layers: int, resumed: Tensors, report: Report) -> dict[str, np.ndarray]:
    rows = rows_of(config, kind, layers)
    generator = torch.Generator().manual_seed(60_000 + 100 * config.seed + layers)
    parameters, batches = variants.initial(rows, generator), Batches(config)
    try:
        state = loop.train(
            problem(config, rows, parameters, batches),
            config.steps,
            [config.steps],
            loop.evaluations(config.steps, EVALUATIONS),
            resumed,
            report,
        )
    except Diverged as found:
        raise Diverged(f"{KINDS[kind]}, {layers} layers: {found}") from None
    return {**_curves(config, state), **{f"final/{name}": array for name, array in state.snapshots[-1].items()}}


def problem(config: Config, rows: Rows, parameters: Parameters, batches: Batches) -> loop.Problem:
    """What the loop trains: the logarithm of every row's mean loss."""
    watched = [prompts(each, config.n, WATCHED, _watching()) for each in distributions(config)]
    S = torch.stack(watched * config.seeds)[:, None, None]  # [rows, 1, 1, prompts]
    root = torch.ones(rows.seeds, 1, 1, device=S.device)

    def step(index: int):
        loss, gradient = model.loss_and_gradient(parameters, rows, root, batches.at(index), "log")
        return gradient, {"loss": loss.cpu().numpy()}

    def watch(index: int) -> dict[str, np.ndarray]:
        found = losses(variants.table(parameters, rows, root), S)
        return {"loss": found.double().mean(-1).cpu().numpy()}

    return loop.Problem(
        parameters,
        step,
        watch,
        lambda tensors: torch.optim.Adam(tensors, lr=RATE, betas=BETAS),
        (batches.generator,),
        loss="loss",
        schedule=loop.cosine(config.steps),
        ceiling=1e6,
    )


def _watching() -> torch.Generator:
    return torch.Generator().manual_seed(2**31 + 41)


def losses(table: first_order.Table, S: Tensor) -> Tensor:
    """The expected loss of every prompt, [rows, prompts], from S [rows or 1, 1, 1, prompts]; w* integrated out."""
    return first_order.errors(table, S, integrated(S[0]).target).square().sum((1, 2))


def _curves(config: Config, state: loop.State) -> dict[str, np.ndarray]:
    """`curve/step` and `curve/loss` [seeds, distributions, evaluations]; what has not been reached is NaN."""
    found = state.curves(loop.evaluations(config.steps, EVALUATIONS))
    return {**found, "curve/loss": found["curve/loss"].reshape(config.seeds, -1, len(found["curve/step"]))}
