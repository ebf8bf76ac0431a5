"""Tries the learning rates of every model and trains it at the best one, one model after the other; evaluates all on
the same tasks."""

from functools import partial

import numpy as np

import icl_core.papers.gdssm.comparison.train as train
import icl_core.papers.gdssm.comparison.tune_rates as tune_rates
from icl_core.experiment import Progress, names
from icl_core.papers.gdssm.comparison.models import Learner, learners
from icl_core.papers.gdssm.comparison.settings import RATES, Config
from icl_core.papers.gdssm.shared import construction
from icl_core.training import phases
from icl_core.training.several_seeds import padded


def run(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train every model; evaluate all on the same tasks.

    `names/models` and, of them, `names/baselines`; `curve/<model>` [seeds, evaluations] beside `curve/step`; over the
    models in order `evaluated/loss` [seeds, models], `tuned/loss` [models, rates] beside `tuned/rate` [rates],
    `chosen/rate`, `size/parameters`, `size/width`, `size/state`, `size/layers`; `baseline/zero`, `/one` and `/two`
    (best steps of gradient descent on the test set) [1]. A model that diverged has infinite `evaluated/loss` and a
    curve that ends in NaN; none, and a NaN rate, where every rate did. Raises `Cancelled`.
    """
    models = learners(config)
    made = phases.run(plan(config), progress, partial(_curves, models))
    ends = [made[each.id] for each in models]
    return {
        **_curves(models, made),
        "evaluated/loss": np.stack([end["evaluated"] for end in ends], 1),
        "tuned/rate": np.array(RATES),
        "tuned/loss": np.stack([end["tuned"] for end in ends]),
        "chosen/rate": np.stack([end["rate"] for end in ends]),
        **_sizes(models),
        **_baselines(config),
    }


def plan(config: Config) -> list[phases.Phase]:
    """The trainings in order: a model at every rate, then all its seeds at the best one, then the next model."""
    found: list[phases.Phase] = []
    for each in learners(config):
        tuning = f"{each.id}, rates"
        found.append(phases.Phase(tuning, config.tuning, partial(tune_rates.tune, config, each.id)))
        training = partial(train.train, config, each.id)
        found.append(phases.Phase(each.id, config.steps, training, partial(train.curves, each.id), (tuning,)))
    return found


def _curves(models: tuple[Learner, ...], made: phases.Made) -> dict[str, np.ndarray]:
    """Of the models trained so far and of the one in training, which is not yet through all evaluations."""
    named = {
        "names/models": names(each.id for each in models),
        "names/baselines": names(each.id for each in models if each.baseline),
    }
    found = {name: part for name, part in made.items() if "step" in part}
    longest = max((part["step"] for part in found.values()), key=len, default=np.array([], np.int64))
    curves = {f"curve/{name}": padded(part[name], len(longest)) for name, part in found.items()}
    return {**named, "curve/step": longest, **curves} if found else {}


def _sizes(models: tuple[Learner, ...]) -> dict[str, np.ndarray]:
    sizes = {
        f"size/{n}": np.array([getattr(each.size, n) for each in models]) for n in ("parameters", "width", "state")
    }
    return {**sizes, "size/layers": np.array([each.layers for each in models])}


def _baselines(config: Config) -> dict[str, np.ndarray]:
    tasks = train.held_out(config, train.TEST_SET)
    one, two = (construction.best_mixture(tasks, steps)[1] for steps in (1, 2))
    found = {"zero": float(tasks.y[-1].square().mean()) / 2, "one": one, "two": two}
    return {f"baseline/{name}": np.array([value]) for name, value in found.items()}
