"""Trains one layer on the cross-entropy, all seeds in one pass, and evaluates it beside its
construction on the same tasks. Plain Adam without weight decay, a cosine to zero."""

from functools import partial

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Progress, Tensors
from icl_core.machine import device
from icl_core.papers.gdssm.classes import task
from icl_core.papers.gdssm.classes.settings import Config
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import layer_nd
from icl_core.papers.gdssm.shared.layer_nd import LayerND
from icl_core.papers.gdssm.shared.settings import Config as LayerConfig
from icl_core.papers.gdssm.shared.task import Tasks
from icl_core.training import loop, phases, several_seeds

EVALUATIONS = 5, 30  # every so many steps at first, and so many of these
WATCHED = 2**11  # held-out tasks of the curves
TEST_SET = 2**15  # of the end
CEILING = 1e4  # a loss above it counts as diverged


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train every seed. Return `curve/loss` [seeds, evaluations] beside `curve/step`; `final/*`
    [seeds, ...]; `constructed/*` [1, ...]; `evaluated/loss` and `evaluated/accuracy` [seeds];
    `baseline/constructed`, `baseline/accuracy` [1], of the construction; `watched/constructed`
    [1]."""
    plan = [phases.Phase("train", config.steps, partial(_train, config), loop.State.curves)]
    return phases.run(plan, progress, lambda results: results.get("train", {}))["train"]


def held_out(config: Config, count: int) -> Tasks:
    """Return tasks that no training saw, the same for every seed."""
    return _draw(config, count, torch.Generator().manual_seed(2**31 + 17))


def _draw(config: Config, count: int, generator: torch.Generator) -> Tasks:
    return task.sample(config, count, generator).to(device.current_device())


def initial(config: Config) -> LayerND:
    """Return the weights of all seeds before training, as the layer on vector labels begins."""
    like = LayerConfig(f=config.f, N=config.N, n_o=config.K, recurrence="scalar")
    seeds = range(config.seed, config.seed + config.seeds)
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    return layer_nd.initialise(like, generators).to(device.current_device())


def _train(config: Config, resumed: Tensors, report: phases.Report) -> dict[str, np.ndarray]:
    """Train one model from start to end, or on from `resumed`."""
    weights = initial(config)
    at = loop.evaluations(config.steps, *EVALUATIONS)
    state = loop.train(problem(config, weights), config.steps, at, resumed, report, keep=False)
    tasks = held_out(config, TEST_SET)
    watched = held_out(config, WATCHED)
    constructed = task.constructed(config, tasks).to(device.current_device())
    ours, theirs = (models.predict(layer, tasks) for layer in (weights, constructed))
    label = tasks.y[-1]
    tensors = {
        "evaluated/loss": task.cross_entropy(ours, label),
        "evaluated/accuracy": task.accuracy(ours, label),
        "baseline/constructed": task.cross_entropy(theirs, label),
        "baseline/accuracy": task.accuracy(theirs, label),
        "watched/constructed": task.cross_entropy(
            models.predict(constructed, watched), watched.y[-1]
        ),
        **{f"final/{name}": tensor for name, tensor in weights.tensors().items()},
        **{f"constructed/{name}": tensor for name, tensor in constructed.tensors().items()},
    }
    arrays = {name: tensor.detach().cpu().numpy().copy() for name, tensor in tensors.items()}
    return {**state.curves(), **arrays}


def problem(config: Config, weights: LayerND) -> loop.Problem:
    """Return what the loop trains; `weights` change in place."""
    watched = held_out(config, WATCHED)
    generator = torch.Generator().manual_seed(10_000 + config.seed)

    def measure(step: int) -> dict[str, np.ndarray]:
        losses = task.cross_entropy(models.predict(weights, watched), watched.y[-1])
        return {"loss": losses.cpu().numpy()}

    return loop.Problem(
        parameters=weights.tensors(),
        gradient=lambda step: gradient(weights, _draw(config, config.batch, generator)),
        evaluate=measure,
        optimiser=lambda parameters: torch.optim.Adam(parameters, lr=config.learning_rate),
        generators=(generator,),
        loss="loss",
        schedule=loop.cosine(config.steps),
        ceiling=CEILING,
    )


def gradient(weights: LayerND, tasks: Tasks) -> tuple[dict[str, Tensor], dict[str, np.ndarray]]:
    """Return the gradient of every seed's cross-entropy by its own weights, and the losses
    [seeds]."""
    leaves = several_seeds.leaves(weights.tensors())
    changed = weights.with_(**leaves)
    losses = task.cross_entropy(models.forward(changed, models.read(changed, tasks)), tasks.y[-1])
    return several_seeds.gradients(losses, leaves), {"loss": losses.detach().cpu().numpy()}
