"""The authors' first phase: A_l alone, without memory, on a new batch every 100 steps; then the
model begins there.

In most of their notebooks ten steps are made of it, and none is kept; in that of Figure 4 it is
900, and decides where GD++ ends.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from icl_core.contract.experiment import Tensors
from icl_core.papers.memformers.methods.settings import Config
from icl_core.papers.memformers.shared import variants
from icl_core.papers.memformers.shared.task import roots
from icl_core.papers.memformers.shared.train import Batches, problem, trained
from icl_core.papers.memformers.shared.variants import VARIANTS, Parameters
from icl_core.training import loop
from icl_core.training.phases import Phase, Report

TRAINING = {"batches": "resampled", "beta_1": 0.99, "beta_2": 0.9, "clip": 0.01}


def with_first_phases(plan: list[Phase], models: Mapping[str, Config]) -> list[Phase]:
    """The trainings of `plan`, each named "<model> <depth>", behind the first phase that its model
    asks for."""
    found = []
    for phase in plan:
        name, _, depth = phase.name.rpartition(" ")
        config = replace(models[name], layers=int(depth))
        if config.first_steps:
            first = Phase(
                f"{phase.name} first",
                config.first_steps,
                partial(_train, config),
                label=f"{phase.label}, A",
            )
            found += [first, replace(phase, given=(first.name,))]
        else:
            found.append(phase)
    return found


def _train(config: Config, resumed: Tensors, report: Report) -> dict[str, np.ndarray]:
    """A, and B where covariates move, that a memory which is not there yet leaves."""
    without = "gd++" if VARIANTS[config.variant].moves_covariates else "linear"
    alone = replace(config, variant=without, steps=config.first_steps, beside="none", **TRAINING)
    generator = torch.Generator().manual_seed(10_000 + 100 * config.seed + config.layers)
    parameters, batches = variants.initial(alone, generator), Batches(alone)
    root = roots(config)  # the authors' prompts have rotations of their own
    of = problem(alone, parameters, root, batches, lambda step: {})

    def without_memory(step: int) -> tuple[Parameters, loop.Measures]:
        gradient, measures = of.gradient(step)
        return {name: each for name, each in gradient.items() if name != "Gamma"}, measures

    trained("the first phase", alone, replace(of, gradient=without_memory), resumed, report)
    return {
        f"final/{name}": each.cpu().numpy() for name, each in parameters.items() if name != "Gamma"
    }
