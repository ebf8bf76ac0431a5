"""Train every model on every number of features in four ways, each until it has left predicting
zero."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

import numpy as np
import torch
from torch import Tensor

from icl_core.contract.experiment import Diverged, Progress, Tensors, names
from icl_core.papers.gdssm.plateau.settings import (
    RECIPES,
    Config,
    chosen_models,
    same_training,
    setting_of,
    sizes,
)
from icl_core.papers.gdssm.shared.sequence_models import train
from icl_core.papers.gdssm.shared.sequence_models.all_models import Learner, learners
from icl_core.papers.gdssm.shared.sequence_models.settings import Setting
from icl_core.papers.gdssm.shared.sequence_models.training_end import LEFT
from icl_core.papers.gdssm.shared.weights import Parameters
from icl_core.training import loop, phases
from icl_core.training.run_grid import RunGrid, to_longest

EVALUATIONS = 50  # of a training
WARM_UP = 50  # steps over which the rate rises to its value


class HasLeft(Exception):
    """All seeds of a training have left predicting zero, which ends it."""


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train until the plateau is left, `steps` at most. Return

    names/models, names/recipes
    size/f                        [sizes]
    left/tasks                    [sizes, models, recipes, seeds], the fresh tasks seen at the first
                                  evaluation that has gained a tenth of predicting zero; NaN where
                                  there was none
    zero                          [sizes], the loss of predicting zero on the tasks of the curves
    curve/<model> <recipe> <f>    [seeds, evaluations] beside `curve/step` [evaluations]

    Raises `Cancelled`.
    """
    settings = [setting_of(config, f, "paper") for f in sizes(config)]
    zeros = np.array([train.levels(setting, train.WATCHED)[0] for setting in settings])
    results = phases.run(plan(config), progress, lambda results: _curves(config, results, zeros))
    tasks = _grid(config).stack(results, "left/tasks")
    return {
        **_curves(config, results, zeros),
        "left/tasks": np.where(np.isfinite(tasks), tasks, np.nan),
    }


def _grid(config: Config) -> RunGrid:
    return RunGrid(
        lambda f, model, recipe: f"{model} {same_training(f, recipe)} {f}",
        {"f": sizes(config), "model": chosen_models(config), "recipe": tuple(RECIPES)},
    )


def plan(config: Config) -> list[phases.Phase]:
    """Return the trainings in order, those on the fewest features first."""

    def training(
        resumed: Tensors, report: phases.Report, *, f: int, model: str, recipe: str
    ) -> dict[str, np.ndarray]:
        setting = setting_of(config, f, recipe)
        learner = next(candidate for candidate in learners(setting) if candidate.model.id == model)
        return until_left(setting, learner, config.learning_rate, resumed, report)

    def label(f: int, model: str, recipe: str) -> str:
        return f"{model}, f = {f}, {recipe}"

    return _grid(config).phases(config.steps, training, label, lambda state, **point: {})


def until_left(
    setting: Setting, learner: Learner, rate: float, resumed: Tensors, report: phases.Report
) -> dict[str, np.ndarray]:
    """Train all seeds until the last one has left predicting zero, at a constant rate after a
    warm-up. Return `step` [evaluations], `loss` [seeds, evaluations] and `left/tasks` [seeds]."""
    level = (1 - LEFT) * train.levels(setting, train.WATCHED)[0]
    reached = loop.State()

    def watched(state: loop.State, save: Callable[[], dict[str, np.ndarray]]) -> None:
        nonlocal reached
        reached = state
        if state.curve and np.all(np.min(state.curve["loss"], 0) < level):
            raise HasLeft
        report(state, save)

    weights = learner.initial(list(range(setting.seed, setting.seed + setting.seeds)))
    every = max(1, setting.steps // EVALUATIONS)
    at = [*range(0, setting.steps, every), setting.steps]
    trained = problem(setting, learner, weights, rate)
    with suppress(HasLeft, Diverged):  # what diverges has not left
        loop.train(trained, setting.steps, at, resumed, watched, keep=False)
    recorded = reached.curves()
    steps = recorded["curve/step"]
    losses = recorded["curve/loss"]
    below = losses < level  # (seeds, evaluations)
    first = steps[below.argmax(1)] * float(setting.batch)
    return {"step": steps, "loss": losses, "left/tasks": np.where(below.any(1), first, np.inf)}


def problem(setting: Setting, learner: Learner, weights: Parameters, rate: float) -> loop.Problem:
    """Return what the loop trains; `weights` change in place."""
    generator = torch.Generator().manual_seed(20_000 + setting.seed)
    held_out = train.held_out(setting, train.WATCHED)
    gradient = partial(train.gradient, learner, weights, dense=setting.dense)

    def fresh(step: int) -> tuple[Parameters, dict[str, np.ndarray]]:
        active = setting.active(step, setting.steps) if setting.curriculum else None
        return gradient(train.tasks(setting, setting.batch, generator, active))

    def adam(parameters: list[Tensor]) -> torch.optim.Adam:
        named = dict(zip(weights, parameters, strict=True))
        return torch.optim.Adam(train.groups(learner, named, rate), fused=True)

    return loop.Problem(
        weights,
        fresh,
        evaluate=lambda step: {"loss": train.evaluate(learner, weights, held_out)},
        optimiser=adam,
        generators=(generator,),
        loss="loss",
        schedule=lambda step: min(1.0, (step + 1) / WARM_UP),
        ceiling=train.CEILING,
    )


def _curves(config: Config, results: phases.Made, zeros: np.ndarray) -> dict[str, np.ndarray]:
    """Return the curves of the trainings that have ended, and what all of them share."""
    return {
        "names/models": names(chosen_models(config)),
        "names/recipes": names(RECIPES),
        "size/f": np.array(sizes(config)),
        "zero": zeros,
        **to_longest(
            {name: (part["step"], part["loss"]) for name, part in results.items() if part}
        ),
    }
