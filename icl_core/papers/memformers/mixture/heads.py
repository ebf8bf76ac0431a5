"""Trains heads in one dimension: one on each component of a Gaussian mixture, and one on the
mixture itself. All heads of a kind and all seeds are rows of one batch."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import torch

from icl_core.contract.experiment import Tensors
from icl_core.papers.memformers.mixture.prompts import Batches, distributions, sample_prompts
from icl_core.papers.memformers.mixture.settings import Config
from icl_core.papers.memformers.shared import train, variants
from icl_core.papers.memformers.shared.first_order import expected_losses
from icl_core.papers.memformers.shared.variants import VARIANTS, Parameters
from icl_core.training import loop
from icl_core.training.phases import Phase, Report

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
