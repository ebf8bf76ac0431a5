"""Trains every model of the comparison alike: fresh tasks, Adam, gradients clipped at 1 seed by seed, a warm-up over a
twentieth of the steps and a cosine to zero. A training that diverges ends with an infinite loss."""

import math
from collections.abc import Callable, Mapping

import numpy as np
import torch

from icl_core import device
from icl_core.experiment import Diverged, Tensors
from icl_core.papers.gdssm.comparison.models import Learner, chunked, learner
from icl_core.papers.gdssm.comparison.settings import RATES, Config
from icl_core.papers.gdssm.shared.task import Tasks, loss, sample
from icl_core.training import loop, several_seeds
from icl_core.training.phases import Report

TUNED_ON, WATCHED, TEST_SET = (101, 2**11), (102, 2**9), (103, 2**13)  # seed and number of held-out tasks
CHUNK = 512  # tasks evaluated at a time
EVALUATIONS, WARM_UP = 30, 0.05
CEILING = 1e8  # a loss beyond it has diverged; linear transformers come back from 1e4, as gradients are clipped


def tasks(config: Config, count: int, generator: torch.Generator) -> Tasks:
    """Fresh tasks of the setting, on the device."""
    return sample(config.f, config.N, count, generator, 1 if config.model == "1-D" else config.f).to(device.device())


def held_out(config: Config, which: tuple[int, int]) -> Tasks:
    """Tasks that no model is trained on."""
    return tasks(config, which[1], torch.Generator().manual_seed(2**31 + which[0]))


def evaluate(each: Learner, weights: dict[str, torch.Tensor], on: Tasks) -> np.ndarray:
    """The losses [seeds], infinite where the weights went astray."""
    losses = loss(chunked(each, weights, on, CHUNK), on.y[-1]).cpu().numpy()
    return np.where(np.isfinite(losses), losses, np.float32(np.inf))


def curves(name: str, state: loop.State) -> dict[str, np.ndarray]:
    """The losses [seeds, evaluations], under the model's name."""
    if not state.curve:
        return {}
    found = state.curves()
    return {"step": found["curve/step"], name: found["curve/loss"]}


def best(losses: Mapping[float, float]) -> float:
    """The rate with the lowest held-out loss, of equals the smallest. Infinite or NaN stands for a training that
    diverged; raises `Diverged` if all did."""
    kept = {rate: loss for rate, loss in losses.items() if math.isfinite(loss)}
    if not kept:
        raise Diverged(f"the training diverged at every learning rate tried: {tuple(losses)}")
    return min(kept, key=lambda rate: (kept[rate], rate))


def train(
    config: Config, name: str, tuning: dict[str, np.ndarray], resumed: Tensors, report: Report
) -> dict[str, np.ndarray]:
    """Train all seeds at the best of the rates tried, then evaluate: `step`, and under the model's name the losses
    [seeds, evaluations]; `evaluated` [seeds], `tuned` [rates] and `rate`. Where every rate diverged nothing is
    trained: the rate is NaN, and there is no curve."""
    tuned = {rate: float(loss) for rate, loss in zip(RATES, tuning["loss"], strict=True)}
    rate = best(tuned) if np.isfinite(tuning["loss"]).any() else math.nan
    state, evaluated = _trained(config, learner(config, name), rate, resumed, report)
    ends = {"evaluated": evaluated, "tuned": np.array(list(tuned.values())), "rate": np.array(rate)}
    return {**curves(name, state), **ends}


def _trained(
    config: Config, each: Learner, rate: float, resumed: Tensors, report: Report
) -> tuple[loop.State, np.ndarray]:
    """The state at the end and the losses [seeds]; where one seed diverges, the state so far, and all are infinite."""
    reached, lost = loop.State(), np.full(config.seeds, np.inf, np.float32)
    if math.isnan(rate):
        return reached, lost
    weights = initial(each, list(range(config.seed, config.seed + config.seeds)))
    at = loop.evaluations(config.steps, min(EVALUATIONS, max(2, config.steps // 20)))

    def watched(state: loop.State, save: Callable[[], dict[str, np.ndarray]]) -> None:
        nonlocal reached
        reached = state
        report(state, save)

    try:
        loop.train(_problem(config, each, weights, rate), config.steps, [], at, resumed, watched)
    except Diverged:
        return reached, lost
    return reached, evaluate(each, weights, held_out(config, TEST_SET))


def _problem(config: Config, each: Learner, weights: dict[str, torch.Tensor], rate: float) -> loop.Problem:
    """What the loop trains; `weights` change in place."""
    watched, fresh = held_out(config, WATCHED), generator(config)
    return loop.Problem(
        parameters=weights,
        gradient=lambda step: gradient(each, weights, tasks(config, config.batch, fresh)),
        evaluate=lambda step: {"loss": evaluate(each, weights, watched)},
        optimiser=lambda parameters: torch.optim.Adam(parameters, lr=rate, fused=True),
        generators=(fresh,),
        loss="loss",
        schedule=loop.cosine(config.steps, WARM_UP),
        ceiling=CEILING,
    )


def initial(each: Learner, seeds: list[int]) -> dict[str, torch.Tensor]:
    """The weights of these seeds, (seeds, ...) each, on the device."""
    return {name: tensor.to(device.device()) for name, tensor in each.initial(seeds).items()}


def generator(config: Config) -> torch.Generator:
    """Of the tasks to train on: equal for every model and rate."""
    return torch.Generator().manual_seed(20_000 + config.seed)


def gradient(
    each: Learner, weights: dict[str, torch.Tensor], batch: Tasks
) -> tuple[dict[str, torch.Tensor], dict[str, np.ndarray]]:
    """The gradient of every seed's loss by its own weights, no longer than 1, and the losses [seeds]."""
    leaves = several_seeds.leaves(weights)
    losses = loss(each.predict(leaves, batch), batch.y[-1])
    found = several_seeds.clipped(several_seeds.gradients(losses, leaves), 1.0)
    return found, {"loss": losses.detach().cpu().numpy()}
