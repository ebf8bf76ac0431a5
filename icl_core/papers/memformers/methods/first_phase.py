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
    """Return the trainings of `plan`, each named "<model> <depth>", each behind the first phase if
    its model asks for one."""
    phases: list[Phase] = []
    for phase in plan:
        name, _, depth = phase.name.rpartition(" ")
        config = replace(models[name], layers=int(depth))
        if not config.first_steps:
            phases.append(phase)
            continue
        first = Phase(
            f"{phase.name} first",
            config.first_steps,
            partial(_train, config),
            label=f"{phase.label}, A",
        )
        phases += [first, replace(phase, given=(first.name,))]
    return phases


def _train(config: Config, resumed: Tensors, report: Report) -> dict[str, np.ndarray]:
    """Return `final/A`, and `final/B` where covariates move, as training without memory leaves
    them."""
    without = "gd++" if VARIANTS[config.variant].moves_covariates else "linear"
    alone = replace(config, variant=without, steps=config.first_steps, beside="none", **TRAINING)
    generator = torch.Generator().manual_seed(10_000 + 100 * config.seed + config.layers)
    parameters = variants.initial(alone, generator)
    root = roots(config)  # the authors' prompts have rotations of their own
    whole = problem(alone, parameters, root, Batches(alone), lambda step: {})

    def without_memory(step: int) -> tuple[Parameters, loop.Measures]:
        gradient, measures = whole.gradient(step)
        return {name: each for name, each in gradient.items() if name != "Gamma"}, measures

    trained("the first phase", alone, replace(whole, gradient=without_memory), resumed, report)
    return {
        f"final/{name}": each.cpu().numpy() for name, each in parameters.items() if name != "Gamma"
    }
