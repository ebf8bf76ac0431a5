"""Train one model for every depth, and the models it is compared with; where a config says so,
after a first phase.

In the authors' first phase A_l alone learns, without memory, on a new batch every 100 steps; then
the model begins there. In most of their notebooks ten steps are made of it, and none is kept; in
that of Figure 4 it is 900, and decides where GD++ ends.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from icl_core.contract.experiment import Progress, Tensors, names
from icl_core.papers.memformers.methods.claims import four_protocols
from icl_core.papers.memformers.methods.settings import Config
from icl_core.papers.memformers.shared import test_set, variants
from icl_core.papers.memformers.shared.baselines import baseline_losses
from icl_core.papers.memformers.shared.batched_trainings import at_once
from icl_core.papers.memformers.shared.load_run import preview_of
from icl_core.papers.memformers.shared.task import roots
from icl_core.papers.memformers.shared.train import (
    Batches,
    by_depth,
    by_phase,
    every_depth,
    frozen,
    measures,
    on_own_batch,
    problem,
    trained,
)
from icl_core.papers.memformers.shared.variants import VARIANTS, Parameters
from icl_core.training import loop, phases
from icl_core.training.phases import Made, Phase, Report

MAIN = "main"


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train every depth, evaluate each on fresh prompts, and compute the classical methods. Return,
    with K the largest depth:

    depth/layers   [K]
    evaluated/*    [seeds, K]
    beside/<id>/*  [seeds, K], the same of each companion in `names/beside`
    baseline/*     [K]
    curve/*        [seeds, evaluations] of the deepest model, beside `curve/step` [evaluations]; the
                   loss of the deepest companion as `curve/beside/<id>`
    snapshot/*     [snapshots, seeds, …] of the deepest model, beside `snapshot/step`
    final/<depth>/*, beside/<id>/final/<depth>/*
    frozen/rotation  [seeds, d, d], `frozen/eigenvalues` [d]
    authors/*      of the authors' own prompts: see `test_set.classical_of_authors`
    protocol/*     of four protocols: see `four_protocols.gathered`

    The trainings are no `run_grid`: every depth of every model is declared and read in
    `shared.train`, and its curves come padded. Raises `Diverged` and `Cancelled`.
    """
    models = _models(config)
    labels = {name: VARIANTS[model.variant].name for name, model in models.items()}
    plan = at_once(with_first_phases(every_depth(models, labels), models), by_phase(models))
    preview = partial(_preview, config)
    results = phases.run(plan, progress, partial(_curves, config), preview=preview)
    same_prompts = {} if config.batches == "fresh" else on_own_batch(config)
    if config.batches == "authors":
        same_prompts |= test_set.classical_of_authors(config)
    return {
        **_gathered(config, results),
        **four_protocols.gathered(config, models, results),
        **baseline_losses(config),
        **same_prompts,
        **frozen(config),
    }


def _models(config: Config) -> dict[str, Config]:
    """Return the configs of all models that a run trains, by name."""
    models = {MAIN: config, **companions(config)}
    return {**models, **four_protocols.models(config, models)}


def count(config: Config) -> int:
    """Return how many models a run trains, for each depth."""
    return len(_models(config))


def _preview(config: Config, results: Made) -> Tensors:
    """Return the deepest model as it is now; its training comes first."""
    return preview_of(config.layers, results.get(f"{MAIN} {config.layers}", {}))


def completed(config: Config, tensors: Tensors) -> dict[str, np.ndarray]:
    """Return what else the stage needs of a run in training: the covariances."""
    return frozen(config)


def companions(config: Config) -> dict[str, Config]:
    """Return the configs of the models trained beside the main one, by id; those that would be the
    same as the main one are left out."""
    one_head = {"heads": 1}
    choices: dict[str, dict[str, dict[str, Any]]] = {
        "none": {},
        "linear": _without_memory(config),
        "free": {"free": {"variant": "lfom", **one_head}},
        "one head": {"one-head": one_head},
        "coordinates": {other: {"coordinates": other} for other in _other_coordinates(config)},
        "protocols": {"linear": four_protocols.LINEAR},
        "all": {variant: {"variant": variant} for variant in ("linear", "cgd", "lfom", "shared")},
    }
    return {
        name: replace(config, **changes)
        for name, changes in choices[config.beside].items()
        if any(getattr(config, field) != value for field, value in changes.items())
    }


def _without_memory(config: Config) -> dict[str, dict[str, Any]]:
    """Return what makes a linear transformer of a model, by its id: covariates that move go on
    moving."""
    if VARIANTS[config.variant].moves_covariates:
        return {"linear-gd++": {"variant": "gd++ plain"}}
    return {"linear": {"variant": "linear", "heads": 1}}


def _other_coordinates(config: Config) -> tuple[str, ...]:
    """Return the other coordinates; none where the model does not learn in coordinates at all."""
    if config.preconditioner != "full" or not VARIANTS[config.variant].preconditioned:
        return ()
    return ("original",) if config.coordinates == "whitened" else ("whitened",)


def _curves(config: Config, results: Made) -> dict[str, np.ndarray]:
    """Return the curves of the deepest model, and the loss of its companions."""
    beside = list(companions(config))
    curves = {"names/beside": names(beside), **phases.curves(f"{MAIN} {config.layers}", results)}
    for name in beside:
        of_companion = phases.curves(f"{name} {config.layers}", results)
        if of_companion:
            curves[f"curve/beside/{name}"] = of_companion["curve/loss"]
    return curves


def _gathered(config: Config, results: Made) -> dict[str, np.ndarray]:
    """Return the run's tensors from the results of its trainings."""
    depths = range(1, config.layers + 1)
    tensors = {"depth/layers": np.array(depths), **_curves(config, results)}
    for name in (MAIN, *companions(config)):
        evaluated = "evaluated" if name == MAIN else f"beside/{name}"
        final = "final" if name == MAIN else f"beside/{name}/final"
        for measure in measures(config):
            tensors[f"{evaluated}/{measure}"] = by_depth(results, name, config.layers, measure)
        for depth in depths:
            for parameter, array in phases.final(results[f"{name} {depth}"]).items():
                tensors[f"{final}/{depth}/{parameter}"] = array
    deepest = results[f"{MAIN} {config.layers}"]
    snapshots = {name: array for name, array in deepest.items() if name.startswith("snapshot/")}
    return {**tensors, **snapshots}


FIRST_TRAINING = {"batches": "resampled", "beta_1": 0.99, "beta_2": 0.9, "clip": 0.01}


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
            partial(_train_first_phase, config),
            label=f"{phase.label}, A",
        )
        phases += [first, replace(phase, given=(first.name,))]
    return phases


def _train_first_phase(config: Config, resumed: Tensors, report: Report) -> dict[str, np.ndarray]:
    """Return `final/A`, and `final/B` where covariates move, as training without memory leaves
    them."""
    without = "gd++" if VARIANTS[config.variant].moves_covariates else "linear"
    alone = replace(
        config, variant=without, steps=config.first_steps, beside="none", **FIRST_TRAINING
    )
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
