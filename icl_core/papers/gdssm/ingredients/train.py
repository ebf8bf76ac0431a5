"""Trains the layer and those without one of its parts, one after the other, and evaluates them on
the same tasks. Plain Adam without weight decay, a cosine to zero, as for the whole layer."""

from functools import partial

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Progress, Tensors, names
from icl_core.machine import device
from icl_core.papers.gdssm.ingredients.model import (
    Layer,
    constructed,
    forward,
    initial,
    loss_share,
    windows_of,
)
from icl_core.papers.gdssm.ingredients.settings import VARIANTS, Config, Variant
from icl_core.papers.gdssm.shared import closed_forms
from icl_core.papers.gdssm.shared.task import Tasks, loss, sample
from icl_core.training import loop, phases, several_seeds

EVALUATIONS = 5, 30  # every so many steps at first, and so many of these
WATCHED, TEST_SET = 2**10, 2**15  # held-out tasks
PART = 2**11  # tasks at a time
CEILING = 1e4  # times the loss of predicting zero


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train and evaluate all variants.

    `names/variants`; for each, by its id: `curve/*` and `evaluated/*` [seeds, ...];
    `constructed/*` [1], its construction at the rate that is best on the same tasks, or predicting
    zero; `exact/*` [1], its expected loss; `curve/step`; `baseline/zero` and `baseline/one` [1], of
    predicting zero and of one step on the test set.
    """
    plan = [
        phases.Phase(
            id,
            config.steps,
            partial(_train, config, variant),
            partial(_curves, id),
            label=variant.label,
        )
        for id, variant in VARIANTS.items()
    ]
    results = phases.run(plan, progress, _partial_curves)
    everything = {name: array for tensors in results.values() for name, array in tensors.items()}
    known = _beside(config)
    zero = float(known["baseline/zero"][0])
    unused = {"baseline/one": known["constructed/all"], "baseline/zero": np.array([zero])}
    return {**everything, "names/variants": names(results), **known, **unused}


def held_out(config: Config, count: int) -> Tasks:
    """Return tasks that no training saw, the same for every seed and variant."""
    return _draw(config, count, torch.Generator().manual_seed(2**31 + 17))


def _draw(config: Config, count: int, generator: torch.Generator) -> Tasks:
    return sample(config.f, config.N, count, generator).to(device.current_device())


def _partial_curves(results: phases.Made) -> dict[str, np.ndarray]:
    """Return the curves of the variants trained so far and of the one in training."""
    curves = {name: array for tensors in results.values() for name, array in tensors.items()}
    longest = max((tensors["curve/step"] for tensors in results.values()), key=len)
    partial_curves = {name: array for name, array in curves.items() if name.startswith("curve/")}
    return {**partial_curves, "curve/step": longest, "names/variants": names(VARIANTS)}


def _train(
    config: Config, variant: Variant, resumed: Tensors, report: phases.Report
) -> dict[str, np.ndarray]:
    """Train one model from start to end, or on from `resumed`."""
    seeds = range(config.seed, config.seed + config.seeds)
    weights = initial(config, variant, seeds).to(device.current_device())
    at = loop.evaluations(config.steps, *EVALUATIONS)
    training = problem(config, variant, weights)
    state = loop.train(training, config.steps, at, resumed, report, keep=False)
    evaluated = losses(weights, held_out(config, TEST_SET), variant)
    return {**_curves(variant.id, state), f"evaluated/{variant.id}": evaluated}


def problem(config: Config, variant: Variant, weights: Layer) -> loop.Problem:
    """Return what the loop trains; `weights` change in place, but for a decay that is given."""
    watched = held_out(config, WATCHED)
    generator = torch.Generator().manual_seed(10_000 + config.seed)
    return loop.Problem(
        parameters=weights.tensors(),
        gradient=lambda step: gradient(weights, variant, _draw(config, config.batch, generator)),
        evaluate=lambda step: {"loss": losses(weights, watched, variant)},
        optimiser=lambda parameters: torch.optim.Adam(parameters, lr=config.learning_rate),
        generators=(generator,),
        loss="loss",
        schedule=loop.cosine(config.steps),
        ceiling=CEILING * closed_forms.zero_loss(config.f),
    )


def gradient(
    weights: Layer, variant: Variant, tasks: Tasks
) -> tuple[dict[str, Tensor], dict[str, np.ndarray]]:
    """Return the gradient of every seed's loss by its own trained weights, and the losses
    [seeds]."""
    trained = {
        name: tensor
        for name, tensor in weights.tensors().items()
        if name != "a" or variant.decay is None
    }
    leaves = several_seeds.leaves(trained)
    predicted = forward(weights.with_(**leaves), windows_of(tasks, variant))
    seed_losses = loss(predicted, tasks.y[-1])  # (seeds,)
    return several_seeds.gradients(seed_losses, leaves), {
        "loss": seed_losses.detach().cpu().numpy()
    }


@torch.no_grad()
def predict(weights: Layer, tasks: Tasks, variant: Variant) -> Tensor:
    """Return the prediction of many tasks, some at a time, (seeds, f, tasks)."""
    parts = [tasks.part(start, start + PART) for start in range(0, len(tasks), PART)]
    return torch.cat([forward(weights, windows_of(part, variant)) for part in parts], -1)


def losses(weights: Layer, tasks: Tasks, variant: Variant) -> np.ndarray:
    """Return half the squared error a coordinate at the query, [seeds]."""
    return loss(predict(weights, tasks, variant), tasks.y[-1]).cpu().numpy()


def _beside(config: Config) -> dict[str, np.ndarray]:
    """Return what the trained layers are set beside, on the test set and in closed form."""
    tasks = held_out(config, TEST_SET)
    zero = float(tasks.y[-1].square().mean()) / 2
    levels = {"baseline/zero": zero}
    for id, variant in VARIANTS.items():
        levels[f"constructed/{id}"] = zero - _best_gain(config, variant, tasks)
        levels[f"exact/{id}"] = loss_share(config, variant) * closed_forms.zero_loss(config.f)
    return {name: np.array([value], np.float32) for name, value in levels.items()}


def _best_gain(config: Config, variant: Variant, tasks: Tasks) -> float:
    """Return by how much a variant's construction is below predicting zero, at the rate that is
    best on these tasks: the prediction is linear in it."""
    weights = constructed(config, variant)
    if weights is None:
        return 0.0
    output = predict(weights.to(device.current_device()), tasks, variant)[0]  # (f, tasks)
    along = float((output * tasks.y[-1]).mean())
    return along**2 / float(output.square().mean()) / 2


def _curves(id: str, state: loop.State) -> dict[str, np.ndarray]:
    curves = state.curves()
    return {"curve/step": curves["curve/step"], f"curve/{id}": curves["curve/loss"]}
