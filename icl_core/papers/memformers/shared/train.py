"""Trains one model for every depth, all seeds in one pass, and then what is to stand beside them."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from icl_core.experiment import Diverged, Progress, Tensors
from icl_core.papers.memformers.shared import judging, model, variants
from icl_core.papers.memformers.shared.baselines import baselines, on_batch
from icl_core.papers.memformers.shared.batches import Batches
from icl_core.papers.memformers.shared.distance import distances
from icl_core.papers.memformers.shared.settings import Config
from icl_core.papers.memformers.shared.task import covariances, roots
from icl_core.papers.memformers.shared.variants import Parameters, initial
from icl_core.training import loop, phases, several_seeds
from icl_core.training.phases import Made, Phase, Report

SNAPSHOTS = 12
EVALUATIONS = 40
BETAS = (0.9, 0.99)


def run(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train every depth, judge each on fresh prompts, and put the classical methods beside them.

    `depth/layers` [K]; `judged/*` and `beside/<name>/*` [seeds, K]; `baseline/*` [K]; `curve/*` [seeds, evaluations]
    of the deepest model beside `curve/step`; `snapshot/*` [snapshots, seeds, …] of it beside `snapshot/step`;
    `final/<depth>/*`; `frozen/rotation` [seeds, d, d], `frozen/eigenvalues` [d]. Raises `Diverged` and `Cancelled`.
    """
    trainings = _trainings(config)
    made = phases.run(
        [training_phase(name, part) for name, part in trainings.items()], progress, partial(_curves_of, config)
    )
    same = {} if config.batches == "fresh" else on_own_batch(config)
    return {**_gather(config, trainings, made), **baselines(config), **same, **frozen(config)}


def on_own_batch(config: Config) -> dict[str, np.ndarray]:
    """`baseline/cg_train` [seeds, K]: conjugate gradient on the prompts of the last batch."""
    return on_batch(config, Batches(config).at(config.steps - 1))


def companions(config: Config) -> dict[str, Config]:
    """What is trained beside a model, by name."""
    free = {"variant": "lfom", "heads": 1}
    choices: dict[str, dict[str, dict[str, Any]]] = {
        "none": {},
        "linear": {"linear transformer": {"variant": "linear", "heads": 1}},
        "free": {"Γ free": free},
        "one head": {"one head": {"heads": 1}},
        "coordinates": {f"learned in {other} coordinates": {"coordinates": other} for other in _other(config)},
        "all": {
            "linear transformer": {"variant": "linear"},
            "CGD-like": {"variant": "cgd"},
            "LFOM": {"variant": "lfom"},
            "Γ shared": {"variant": "shared"},
        },
    }
    return {
        name: replace(config, **change)
        for name, change in choices[config.beside].items()
        if any(getattr(config, field) != value for field, value in change.items())
    }


def _other(config: Config) -> tuple[str, ...]:
    """The other coordinates, where a model learns in coordinates at all."""
    if config.preconditioner == "scalar" or config.variant.startswith("learned"):
        return ()
    return ("original",) if config.coordinates == "whitened" else ("whitened",)


def _trainings(config: Config) -> dict[str, Config]:
    """One training for each model and depth, deepest first: its curves are the ones to watch."""
    models = {"main": config, **companions(config)}
    return {
        f"{name} {layers}": replace(setting, layers=layers)
        for layers in range(config.layers, 0, -1)
        for name, setting in models.items()
    }


def training_phase(name: str, config: Config) -> Phase:
    """One depth's training, as a part of a run."""
    return Phase(name, config.steps, partial(_train, config, name), partial(_curves, config))


def _train(config: Config, name: str, resumed: Tensors, report: Report) -> dict[str, np.ndarray]:
    """Train one depth, all seeds together: its curves, snapshots, final parameters and what it is judged to be."""
    generator = torch.Generator().manual_seed(10_000 + 100 * config.seed + config.layers)
    parameters, root = initial(config, generator), roots(config)
    batches = Batches(config)
    problem = _problem(config, parameters, root, batches)
    at = loop.log_spaced(config.steps, SNAPSHOTS)
    try:
        state = loop.train(problem, config.steps, at, loop.evaluations(config.steps, EVALUATIONS), resumed, report)
    except Diverged as problem_found:
        raise Diverged(f"{name.rpartition(' ')[0]}, {config.layers} layers: {problem_found}") from None
    losses = judging.losses(parameters, config, root, judging.JUDGED)
    mean, error = judging.mean_and_log_error(losses)
    judged = {
        "loss": mean,
        "error": error,
        "median": losses.median(-1).values,
        "noise": judging.noise(parameters, config, root),
        "train": _training_loss(config, parameters, root, batches, state),
    }
    return {
        **_curves(config, state),
        **{f"judged/{key}": np.asarray(value.cpu(), np.float32) for key, value in judged.items()},
        **state.kept(np.float16),
    }


def _problem(config: Config, parameters: Parameters, root: Tensor, batches: Batches) -> loop.Problem:
    def step(index: int):
        loss, gradient = model.loss_and_gradient(parameters, config, root, batches.at(index), config.objective)
        clipped = several_seeds.clipped(gradient, config.clip) if config.clip else gradient
        return clipped, {"loss": loss.cpu().numpy()}

    def watch(index: int) -> dict[str, np.ndarray]:
        loss = judging.losses(parameters, config, root, judging.WATCHED).double().mean(-1)
        found = {"loss": loss.cpu().numpy()}
        if "A" in parameters and config.preconditioner == "full":
            by_layer = distances(variants.preconditioners(parameters, config, root)).cpu().numpy()
            found |= {f"distance_{layer}": by_layer[:, layer] for layer in range(config.layers)}
        return found

    return loop.Problem(
        parameters,
        step,
        watch,
        lambda tensors: torch.optim.Adam(tensors, lr=config.rate, betas=BETAS),
        (batches.generator,),
        loss="loss",
        schedule=loop.cosine(config.steps) if config.schedule == "cosine" else lambda step: 1.0,
        # predicting zero loses d; of the logarithm every step is bounded, and rare prompts may be this bad
        ceiling=1e6 * config.d if config.objective == "mean" else 1e30,
    )


def _training_loss(config: Config, parameters: Parameters, root: Tensor, batches: Batches, state: Any) -> Tensor:
    """What the model loses on the prompts it was trained on, [seeds]; of fresh ones, on those of the last tenth."""
    if config.batches == "fresh":
        rows = np.array(state.batch["loss"][-max(1, config.steps // 10) :])  # [steps, seeds]
        return torch.from_numpy(rows.mean(0))
    return model.loss_and_gradient(parameters, config, root, batches.at(config.steps - 1), "mean")[0]


def _curves(config: Config, state: loop.State) -> dict[str, np.ndarray]:
    return state.curves(loop.evaluations(config.steps, EVALUATIONS))


def _curves_of(config: Config, made: Made) -> Tensors:
    """The deepest model's curves, and those of what was trained beside it."""
    found = phases.curves(f"main {config.layers}", made)
    for name in companions(config):
        other = made.get(f"{name} {config.layers}", {})
        found |= {f"curve/loss of {name}": other["curve/loss"]} if "curve/loss" in other else {}
    return found


def _gather(config: Config, trainings: Mapping[str, Config], made: Made) -> dict[str, np.ndarray]:
    """The run's tensors from those of its trainings."""
    depths = range(1, config.layers + 1)
    found: dict[str, np.ndarray] = {"depth/layers": np.array(depths), **_curves_of(config, made)}
    for name in ("main", *companions(config)):
        prefix = "judged" if name == "main" else f"beside/{name}"
        for measure in ("loss", "error", "median", "noise", "train"):
            found[f"{prefix}/{measure}"] = np.stack([made[f"{name} {L}"][f"judged/{measure}"] for L in depths], 1)
        for depth in depths:
            place = f"final/{depth}" if name == "main" else f"final of {name}/{depth}"
            found |= {f"{place}/{key}": array for key, array in phases.final(made[f"{name} {depth}"]).items()}
    deepest = made[f"main {config.layers}"]
    found |= {name: array for name, array in deepest.items() if name.startswith("snapshot/")}
    return {**found, **snapshot_steps(config)}


def snapshot_steps(config: Config) -> dict[str, np.ndarray]:
    """`snapshot/step` [snapshots]."""
    return {"snapshot/step": np.array(loop.log_spaced(config.steps, SNAPSHOTS))}


def frozen(config: Config) -> dict[str, np.ndarray]:
    found = covariances(config)
    rotations = torch.stack([each.rotation for each in found])
    return {
        "frozen/rotation": rotations.numpy().astype(np.float32),
        "frozen/eigenvalues": found[0].eigenvalues.numpy().astype(np.float32),
    }
