"""Trains every model at every rate in both coordinates, and keeps their losses."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import torch

from icl_core.contract.experiment import Diverged, Progress, Tensors, names
from icl_core.papers.memformers.shared import test_set, variants
from icl_core.papers.memformers.shared.settings import Model
from icl_core.papers.memformers.shared.task import roots
from icl_core.papers.memformers.shared.train import Batches, curves, problem, trained
from icl_core.papers.memformers.speed.floors import loss_floors
from icl_core.papers.memformers.speed.models import MODELS, Timed
from icl_core.papers.memformers.speed.settings import BOTH, Config, model_of, rates_of
from icl_core.training import loop, phases
from icl_core.training.phases import Made, Phase, Report


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train `names/models` at every one of `rate/values` [rates] in each of `names/coordinates`,
    all seeds of one together. `curve/<coordinates>/<model>/<index of the rate>` [seeds,
    evaluations] beside `curve/step`: the loss on fresh prompts, NaN if the training diverged;
    `baseline/floor` and `baseline/floor_shared` [1] on the same ones."""
    results = phases.run(plan(config), progress, partial(_shown, config))
    return {**_shown(config, results), **loss_floors(config)}


def plan(config: Config) -> list[Phase]:
    """Return all trainings; those of one rate after those of another, so that models can be
    compared early."""
    phases_of_run = []
    for (index, rate), coordinates, model in product(enumerate(rates_of(config)), BOTH, MODELS):
        name = f"{coordinates} {model.id} {index}"
        trained = model_of(config, model, coordinates, rate)
        phases_of_run.append(_phase(name, trained, model, rate))
    return phases_of_run


def _phase(name: str, config: Model, model: Timed, rate: float) -> Phase:
    label = f"{model.name}, {config.coordinates} coordinates, rate {rate:g}"
    return Phase(
        name, config.steps, partial(_train, config, model), partial(curves, config), label=label
    )


def _train(config: Model, model: Timed, resumed: Tensors, report: Report) -> dict[str, np.ndarray]:
    """Return one training's `curve/…`; that of a training that diverges is NaN: it arrives
    nowhere."""
    # The same A in every model.
    generator = torch.Generator().manual_seed(10_000 + 100 * config.seed + config.layers)
    parameters = variants.initial(config, generator)
    root = roots(config)
    batches = Batches(config)
    blocks = test_set.held(config, test_set.WATCHED)

    def watch(step: int) -> loop.Measures:
        _, controlled = test_set.controlled_losses(parameters, config, root, blocks)
        return {"loss": controlled.double().mean(-1).cpu().numpy()}

    of = without(model.frozen, problem(config, parameters, root, batches, watch))
    try:
        return curves(config, trained(model.name, config, of, resumed, report))
    except Diverged:
        return curves(config, loop.State(curve={"loss": [[np.nan] * config.seeds]}))


def without(frozen: tuple[str, ...], of: loop.Problem) -> loop.Problem:
    """Return the problem with some parameters left as they are."""

    def gradient(step: int) -> tuple[Mapping[str, Any], loop.Measures]:
        gradients, measures = of.gradient(step)
        return {name: each for name, each in gradients.items() if name not in frozen}, measures

    return replace(of, gradient=gradient)


def _shown(config: Config, by_phase: Made) -> dict[str, np.ndarray]:
    """Return the losses of the trainings so far, and what they are of."""
    tensors = {
        "names/models": names([each.id for each in MODELS]),
        "names/coordinates": names(BOTH),
        "rate/values": np.array(rates_of(config)),
    }
    for name, each in by_phase.items():
        if each:
            tensors |= {
                "curve/step": each["curve/step"],
                f"curve/{name.replace(' ', '/')}": each["curve/loss"],
            }
    return tensors
