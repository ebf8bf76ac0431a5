"""Trains all seeds at once. Each seed has its own generator: more seeds change no other."""

import time
from functools import partial

import numpy as np
import torch
from icl_core.papers.toy.walk.settings import SNAPSHOTS, Config

from icl_core.experiment import Progress, Tensors
from icl_core.training import loop, phases, several_seeds

BATCH = 16


def run(config: Config, progress: Progress) -> Tensors:
    """`curve/loss` [seeds, evaluations], `snapshot/weights` [snapshots, seeds, d], `final/*` [seeds, d]."""
    only = phases.Phase("walk", config.steps, partial(_train, config), loop.State.curves)
    return phases.run([only], progress, partial(phases.curves, "walk"))["walk"]


def _train(config: Config, resumed: Tensors, report: phases.Report) -> dict[str, np.ndarray]:
    generators = tuple(torch.Generator().manual_seed(config.seed + index) for index in range(config.seeds))
    teacher = torch.stack([torch.randn(config.d, generator=each) for each in generators])  # [seeds, d]
    parameters = {"weights": torch.zeros_like(teacher)}

    def gradient(step: int):
        time.sleep(config.delay / 1000)
        x = torch.stack([torch.randn(BATCH, config.d, generator=each) for each in generators])
        leaves = several_seeds.leaves(parameters)
        losses = torch.einsum("sbd,sd->sb", x, leaves["weights"] - teacher).square().mean(1) / 2
        return several_seeds.gradients(losses, leaves), {"loss": losses.detach().numpy()}

    problem = loop.Problem(
        parameters,
        gradient,
        evaluate=lambda step: {"loss": (parameters["weights"] - teacher).square().sum(1) / 2},  # expected of a batch
        optimiser=partial(torch.optim.SGD, lr=config.rate),
        generators=generators,
        loss="loss",
    )
    at = np.linspace(0, config.steps, SNAPSHOTS).round().astype(int).tolist()
    state = loop.train(problem, config.steps, at, loop.evaluations(config.steps), resumed, report)
    return {**state.curves(), **state.kept(), "snapshot/step": np.array(at), "final/teacher": teacher.numpy()}
