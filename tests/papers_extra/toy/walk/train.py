"""Train all seeds at once. Each seed has its own generator: more seeds change no other."""

from functools import partial

import numpy as np
import torch
from icl_core.papers.toy.walk.settings import Config

from icl_core.contract.experiment import Progress, Tensors
from icl_core.training import loop, phases, several_seeds

EVERY = 5


def compute(config: Config, progress: Progress) -> Tensors:
    """Return `curve/loss` [seeds, evaluations], `snapshot/weights` [snapshots, seeds, d], `final/*`
    [seeds, d]."""
    only = phases.Phase("walk", config.steps, partial(_train, config), loop.State.curves)
    curves = partial(phases.curves, "walk")
    return phases.run([only], progress, curves, preview=_preview)["walk"]


def _preview(results: phases.Made) -> Tensors:
    """Return the students as they are now."""
    now = results["walk"]
    return {"snapshot/step": now["snapshot/step"], "snapshot/weights": now["final/weights"][None]}


def completed(config: Config, tensors: Tensors) -> Tensors:
    """Return what else the stage needs of a run in training: the teachers."""
    return {"final/teacher": _teachers(config)[1].numpy()}


def _teachers(config: Config) -> tuple[tuple[torch.Generator, ...], torch.Tensor]:
    """Return every seed's generator, and the teachers that they have drawn first [seeds, d]."""
    generators = tuple(
        torch.Generator().manual_seed(config.seed + index) for index in range(config.seeds)
    )
    return generators, torch.stack([torch.randn(config.d, generator=own) for own in generators])


def _train(config: Config, resumed: Tensors, report: phases.Report) -> dict[str, np.ndarray]:
    generators, teacher = _teachers(config)
    student = {"weights": torch.zeros_like(teacher)}

    def gradient(step: int):
        # [seeds, batch, d]
        x = torch.stack([torch.randn(16, config.d, generator=own) for own in generators])
        leaves = several_seeds.leaves(student)
        losses = torch.einsum("sbd,sd->sb", x, leaves["weights"] - teacher).square().mean(1) / 2
        return several_seeds.gradients(losses, leaves), {"loss": losses.detach().numpy()}

    def evaluate(step: int):
        # what is expected of a batch
        return {"loss": (student["weights"] - teacher).square().sum(1) / 2}

    sgd = partial(torch.optim.SGD, lr=config.rate)
    problem = loop.Problem(student, gradient, evaluate, sgd, generators, loss="loss")
    evaluations = loop.evaluations(config.steps, EVERY)
    state = loop.train(problem, config.steps, evaluations, resumed, report)
    at = loop.spread(state.moving("loss"))
    return {**state.curves(), **state.snapshot_arrays(at), "final/teacher": teacher.numpy()}
