"""Trains every model of the comparison alike: fresh tasks, Adam, gradients clipped at 1 seed by seed, a warm-up over a
twentieth of the steps and a cosine to zero. A training that diverges ends with an infinite loss."""

import math
from collections.abc import Callable

import numpy as np
import torch

from icl_core import device
from icl_core.experiment import Diverged, Tensors
from icl_core.papers.gdssm.comparison import comparison_tasks
from icl_core.papers.gdssm.comparison.comparison_tasks import held_out, tasks
from icl_core.papers.gdssm.comparison.models import Learner, learner
from icl_core.papers.gdssm.comparison.rates import RATES, best
from icl_core.papers.gdssm.comparison.settings import Config
from icl_core.papers.gdssm.shared.task import Tasks, loss
from icl_core.training import loop, several_seeds
from icl_core.training.phases import Report

EVALUATIONS, WARM_UP = 30, 0.05
CEILING = 1e8  # a loss beyond it has diverged; linear transformers come back from 1e4, as gradients are clipped


def curves(name: str, state: loop.State) -> dict[str, np.ndarray]:
    """The losses [seeds, evaluations], under the model's name."""
    if not state.curve:
        return {}
    found = state.curves()
    return {"step": found["curve/step"], name: found["curve/loss"]}


def train(
    config: Config, name: str, trial: dict[str, np.ndarray], resumed: Tensors, report: Report
) -> dict[str, np.ndarray]:
    """Train all seeds at the best of the rates tried, then judge: `step`, and under the model's name the losses
    [seeds, evaluations]; `judged` [seeds], `tried` [rates] and `rate`. Where every rate diverged nothing is trained:
    the rate is NaN, and there is no curve."""
    tried = {rate: float(loss) for rate, loss in zip(RATES, trial["loss"], strict=True)}
    rate = best(tried) if np.isfinite(trial["loss"]).any() else math.nan
    state, judged = _trained(config, learner(config, name), rate, resumed, report)
    return {**curves(name, state), "judged": judged, "tried": np.array(list(tried.values())), "rate": np.array(rate)}


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
    return reached, comparison_tasks.judged(each, weights, held_out(config, comparison_tasks.JUDGED))


def _problem(config: Config, each: Learner, weights: dict[str, torch.Tensor], rate: float) -> loop.Problem:
    """What the loop trains; `weights` change in place."""
    watched, fresh = held_out(config, comparison_tasks.WATCHED), generator(config)
    return loop.Problem(
        parameters=weights,
        gradient=lambda step: gradient(each, weights, tasks(config, config.batch, fresh)),
        evaluate=lambda step: {"loss": comparison_tasks.judged(each, weights, watched)},
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
