"""Trains the full transformer once on the bigram task."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from icl_core.machine import device
from icl_core.papers.birth.shared.full.gradient import loss_and_gradient
from icl_core.papers.birth.shared.full.model import initialise
from icl_core.papers.birth.shared.full.settings import Config
from icl_core.papers.birth.shared.task import sample
from icl_core.papers.birth.shared.train import RECORDED, optimiser, task_of
from icl_core.training import loop

EMBEDDINGS = frozenset(("W_E", "P", "W_U"))


def begun(config: Config) -> tuple[dict[str, Tensor], torch.Generator]:
    """Return the first weights of a config's seed, and the generator of its batches."""
    generator = torch.Generator().manual_seed(config.seed)
    initial = initialise(
        config.N,
        config.d,
        config.T,
        config.layers,
        generator,
        config.scale,
        config.mlp,
        config.layer_norm,
    )
    weights = {name: tensor.to(device.current_device()) for name, tensor in initial.items()}
    return weights, torch.Generator().manual_seed(10_000 + config.seed)


def problem(
    config: Config,
    weights: dict[str, Tensor],
    generator: torch.Generator,
    watch: Callable[[int], loop.Measures],
) -> loop.Problem:
    """Return the training of `weights`, in place, on fresh batches, each of which tells its
    gradients' norms; `watch` is what its evaluations measure."""
    task = task_of(config)
    names = [name for name in weights if not (config.frozen and name in EMBEDDINGS)]
    slope_of = partial(
        loss_and_gradient,
        weights,
        heads=config.heads,
        positions=config.positions,
        train=names,
        bfloat16=config.bfloat16,
    )

    def step(index: int) -> Any:
        batch = sample(task, config.batch, generator, device.current_device())
        gradients, measures = slope_of(batch)
        norms = {f"gradient_{name}": float(slope.norm()) for name, slope in gradients.items()}
        return gradients, {**{name: measures[name] for name in RECORDED}, **norms}

    parameters = {name: weights[name] for name in names}
    return loop.Problem(parameters, step, watch, partial(optimiser, config), (generator,))
