"""Trains heads in one dimension: one on each component of a Gaussian mixture, and one on the mixture itself. All heads
of a kind and all seeds are rows of one batch."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from icl_core.experiment import Diverged, Tensors
from icl_core.papers.memformers.mixture.prompts import Batches, distributions, prompts
from icl_core.papers.memformers.mixture.settings import Config
from icl_core.papers.memformers.shared import first_order, model, variants
from icl_core.papers.memformers.shared.task import integrated
from icl_core.papers.memformers.shared.variants import Parameters
from icl_core.training import loop
from icl_core.training.phases import Phase, Report

KINDS = ("linear", "lfom")
RATE, BETAS = 0.05, (0.9, 0.99)
EVALUATIONS = 40
WATCHED = 2**12  # prompts at each evaluation


@dataclass(frozen=True)
class Rows:
    """One kind's models at one depth, as the shared code wants them: `seeds` counts rows, seeds × distributions."""

    variant: str
    layers: int
    seeds: int
    n: int
    d: int = 1
    heads: int = 1
    preconditioner: str = "full"
    coordinates: str = "whitened"


def rows_of(config: Config, kind: str, layers: int) -> Rows:
    """One kind's rows at one depth."""
    return Rows(kind, layers, config.seeds * len(distributions(config)), config.n)


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
        raise Diverged(f"{kind}, {layers} layers: {found}") from None
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
