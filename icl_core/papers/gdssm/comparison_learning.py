"""Trains every model of the comparison alike: fresh tasks, Adam, gradients clipped at 1 seed by seed, a warm-up over a
twentieth of the steps and a cosine to zero. Every rate is first tried with one seed; the best one trains all seeds. A
training that diverges ends with an infinite loss, and the next one begins."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from icl_core import device, training
from icl_core.experiment import Diverged, Tensors
from icl_core.papers.gdssm.baselines.rates import RATES, best
from icl_core.papers.gdssm.comparison_settings import Config
from icl_core.papers.gdssm.learners import Learner, chunked, learner, learners
from icl_core.papers.gdssm.task import Tasks, loss, sample
from icl_core.passes import Pass, Report

EVALUATIONS, WARM_UP = 30, 0.05
TUNED_ON, WATCHED, JUDGED = (101, 2**11), (102, 2**9), (103, 2**13)  # seed and number of held-out tasks
CHUNK = 512  # tasks judged at a time
CEILING = 1e8  # a loss beyond it has diverged; linear transformers come back from 1e4, as gradients are clipped


def tasks(config: Config, count: int, generator: torch.Generator) -> Tasks:
    """Fresh tasks of the setting, on the device."""
    return sample(config.f, config.N, count, generator, 1 if config.model == "1-D" else config.f).to(device.device())


def held_out(config: Config, which: tuple[int, int]) -> Tasks:
    """Tasks that no model is trained on."""
    return tasks(config, which[1], torch.Generator().manual_seed(2**31 + which[0]))


def plan(config: Config) -> list[Pass]:
    """The trainings in order: a model at every rate, then all its seeds at the best, then the next model."""
    found: list[Pass] = []
    for each in learners(config):
        tried = {_trial(each.name, rate): rate for rate in RATES}
        found += [Pass(n, config.tuning, partial(_try, config, each.name, rate), _none) for n, rate in tried.items()]
        train = partial(_train, config, each.name)
        found.append(Pass(each.name, config.steps, train, partial(_curves, each.name), tuple(tried)))
    return found


def _trial(name: str, rate: float) -> str:
    return f"{name} at {rate:g}"


def _none(state: training.State) -> dict[str, np.ndarray]:
    return {}


def _curves(name: str, state: training.State) -> dict[str, np.ndarray]:
    """The losses [seeds, evaluations], under the model's name."""
    if not state.curve:
        return {}
    return {"step": np.array(state.curve["step"], np.int64), name: np.array(state.curve["loss"], np.float32).T}


def _try(config: Config, name: str, rate: float, resumed: Tensors, report: Report) -> dict[str, np.ndarray]:
    """The loss after a short training at that rate, infinite where it diverged."""
    each = learner(config, name)
    weights = _initial(each, [config.seed])
    try:
        training.train(_problem(config, each, weights, rate, config.tuning), config.tuning, [], [], resumed, report)
    except Diverged:
        return {"loss": np.array([np.inf])}
    return {"loss": _judged(each, weights, held_out(config, TUNED_ON))}


def _train(config: Config, name: str, *others: Any) -> dict[str, np.ndarray]:
    """Train all seeds at the best of the rates tried, then judge. `others`: what the trials made, then what a pass is
    given. Where every rate diverged nothing is trained: the rate is NaN, and there is no curve."""
    *trials, resumed, report = others
    tried = {rate: float(trial["loss"][0]) for rate, trial in zip(RATES, trials, strict=True)}
    rate = best(tried) if np.isfinite(list(tried.values())).any() else math.nan
    state, judged = _trained(config, learner(config, name), rate, resumed, report)
    return {**_curves(name, state), "judged": judged, "tried": np.array(list(tried.values())), "rate": np.array(rate)}


def _trained(
    config: Config, each: Learner, rate: float, resumed: Tensors, report: Report
) -> tuple[training.State, np.ndarray]:
    """The state at the end and the losses [seeds]; where one seed diverges, the state so far, and all are infinite."""
    reached, lost = training.State(), np.full(config.seeds, np.inf, np.float32)
    if math.isnan(rate):
        return reached, lost
    weights = _initial(each, list(range(config.seed, config.seed + config.seeds)))
    often = min(EVALUATIONS, max(2, config.steps // 20))
    at = training.evaluations(config.steps, often)

    def watched(state: training.State, save: Callable[[], dict[str, np.ndarray]]) -> None:
        nonlocal reached
        reached = state
        report(state, save)

    try:
        training.train(_problem(config, each, weights, rate, config.steps), config.steps, [], at, resumed, watched)
    except Diverged:
        return reached, lost
    return reached, _judged(each, weights, held_out(config, JUDGED))


def _judged(each: Learner, weights: dict[str, torch.Tensor], on: Tasks) -> np.ndarray:
    """The losses [seeds], infinite where the last step went astray."""
    losses = _loss(each, weights, on)
    return np.where(np.isfinite(losses), losses, np.float32(np.inf))


def _initial(each: Learner, seeds: list[int]) -> dict[str, torch.Tensor]:
    return {name: tensor.to(device.device()) for name, tensor in each.initial(seeds).items()}


def _loss(each: Learner, weights: dict[str, torch.Tensor], on: Tasks) -> np.ndarray:
    """[seeds]."""
    return loss(chunked(each, weights, on, CHUNK), on.y[-1]).cpu().numpy()


def _problem(
    config: Config, each: Learner, weights: dict[str, torch.Tensor], rate: float, steps: int
) -> training.Problem:
    """What the loop trains; `weights` change in place. Equal tasks for every model and rate."""
    watched = held_out(config, WATCHED)
    generator = torch.Generator().manual_seed(20_000 + config.seed)
    return training.Problem(
        parameters=weights,
        gradient=lambda step: gradient(each, weights, tasks(config, config.batch, generator)),
        evaluate=lambda step: {"loss": _loss(each, weights, watched)},
        optimiser=lambda parameters: torch.optim.Adam(parameters, lr=rate),
        generators=(generator,),
        loss="loss",
        schedule=lambda step: min(1.0, (step + 1) / (WARM_UP * steps)) * (1 + math.cos(math.pi * step / steps)) / 2,
        ceiling=CEILING,
    )


def gradient(
    each: Learner, weights: dict[str, torch.Tensor], batch: Tasks
) -> tuple[dict[str, torch.Tensor], dict[str, np.ndarray]]:
    """The gradient of every seed's loss by its own weights, no longer than 1, and the losses [seeds]."""
    leaves = {name: tensor.detach().requires_grad_() for name, tensor in weights.items()}
    losses = loss(each.predict(leaves, batch), batch.y[-1])
    found = torch.autograd.grad(losses.sum(), list(leaves.values()))  # no seed's weights are in another's loss
    length = torch.stack([one.reshape(len(one), -1).square().sum(1) for one in found]).sum(0).sqrt()  # (seeds,)
    shorter = length.clamp(min=1.0).reciprocal()
    clipped = [one * shorter.view(-1, *[1] * (one.dim() - 1)) for one in found]
    return dict(zip(leaves, clipped, strict=True)), {"loss": losses.detach().cpu().numpy()}
