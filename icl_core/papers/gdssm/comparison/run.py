"""Tune the learning rate of every model and train it at the best one, one model after the other;
evaluate all on the same tasks."""

from functools import partial

import numpy as np

from icl_core.contract.experiment import Progress, names
from icl_core.papers.gdssm.shared.sequence_models import train
from icl_core.papers.gdssm.shared.sequence_models.all_models import Learner, learners
from icl_core.papers.gdssm.shared.sequence_models.settings import Config
from icl_core.training import phases
from icl_core.training.run_grid import RunGrid, to_longest


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train every model; evaluate all on the same tasks. Return, over the models in order of
    `names/models`:

    curve/<model>     [seeds, evaluations] beside `curve/step` [evaluations]
    evaluated/loss    [seeds, models]
    tuned/loss        [models, learning rates] beside `tuned/rate` [learning rates]
    chosen/rate       [models], and `chosen/decided` [models], 0 where all learning rates still
                      predicted zero
    size/parameters, size/width, size/state, size/layers  [models]
    baseline/zero, baseline/one, baseline/two  [1], the loss of predicting zero, and of the best one
                      and two steps of gradient descent, on the test set
    watched/…         the same on the tasks of the curves
    final/…           the first seed's weights of the plain linear transformer of one layer in 1-D
    names/baselines   those of the models that are baselines

    A model that diverged has infinite `evaluated/loss` and a curve that ends in NaN; where it did
    at every learning rate, it has no curve, and its rate is NaN. Raises `Cancelled`.
    """
    models = learners(config)
    watched = train.named_levels(config, "watched", train.WATCHED)
    results = phases.run(plan(config), progress, lambda results: _curves(models, results) | watched)
    grid = RunGrid(lambda model: model, {"model": [learner.model.id for learner in models]})
    weights = {
        name: array
        for learner in models
        for name, array in results[learner.model.id].items()
        if name.startswith("final/")
    }
    sizes = {
        f"size/{name}": np.array([getattr(learner.size, name) for learner in models])
        for name in ("parameters", "width", "state")
    }
    return {
        **_curves(models, results),
        "evaluated/loss": np.stack(list(grid.stack(results, "evaluated")), 1),  # (seeds, models)
        "tuned/rate": np.array(config.rates),
        "tuned/loss": grid.stack(results, "tuned"),
        "chosen/rate": grid.stack(results, "rate"),
        "chosen/decided": grid.stack(results, "decided"),
        **sizes,
        "size/layers": np.array([learner.layers for learner in models]),
        **watched,
        **train.named_levels(config, "baseline", train.TEST_SET),
        **weights,
    }


def plan(config: Config) -> list[phases.Phase]:
    """Return the trainings in order: of each model one that tunes its learning rate, then one of
    all seeds at the best rate.

    The second is given the first's result, so this is no `RunGrid` of like trainings.
    """
    trainings: list[phases.Phase] = []
    for learner in learners(config):
        name = learner.model.id
        label = learner.model.label
        tuning = phases.Phase(
            f"{name}, rates",
            config.tuning,
            partial(train.tune, config, learner),
            label=f"{label}: its rate",
        )
        training = phases.Phase(
            name,
            config.steps,
            partial(train.train_tuned, config, learner),
            partial(train.curves, name),
            (tuning.name,),
            label,
        )
        trainings += [tuning, training]
    return trainings


def _curves(models: tuple[Learner, ...], results: phases.Made) -> dict[str, np.ndarray]:
    """Return the curves of the models trained so far and of the one in training, which has not
    come to all evaluations yet."""
    curves = {name: (part["step"], part[name]) for name, part in results.items() if "step" in part}
    if not curves:
        return {}
    return {
        "names/models": names(learner.model.id for learner in models),
        "names/baselines": names(learner.model.id for learner in models if learner.model.baseline),
        **to_longest(curves),
    }
