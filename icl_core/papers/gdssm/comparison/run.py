"""Tries the learning rates of every model and trains it at the best one, one model after the other;
evaluates all on the same tasks."""

from functools import partial

import numpy as np

from icl_core.contract.experiment import Progress, names
from icl_core.papers.gdssm.shared.sequence_models import train
from icl_core.papers.gdssm.shared.sequence_models.all_models import Learner, learners
from icl_core.papers.gdssm.shared.sequence_models.settings import Config
from icl_core.training import phases
from icl_core.training.several_seeds import padded


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train every model; evaluate all on the same tasks.

    `names/models` and, of them, `names/baselines`; `curve/<model>` [seeds, evaluations] beside
    `curve/step`; over the models in order `evaluated/loss` [seeds, models], `tuned/loss` [models,
    learning rates] beside `tuned/rate`, `chosen/rate` and `chosen/decided` (0 where all still
    predicted zero), `size/parameters`, `size/width`, `size/state`, `size/layers`; `baseline/zero`,
    `/one` and `/two` (best steps of gradient descent on the test set) [1], `watched/…` the same on
    the tasks of the curves; `final/…`, the first seed's weights of the plain linear transformer of
    one layer in 1-D. A model that diverged has infinite `evaluated/loss` and a curve that ends in
    NaN; none, and a NaN learning rate, where all of them did. Raises `Cancelled`.
    """
    models = learners(config)
    watched = train.named_levels(config, "watched", train.WATCHED)
    made = phases.run(plan(config), progress, lambda made: _curves(models, made) | watched)
    ends = [made[each.model.id] for each in models]
    sizes = {
        name: np.array([getattr(each.size, name) for each in models])
        for name in ("parameters", "width", "state")
    }
    return {
        **_curves(models, made),
        "evaluated/loss": np.stack([end["evaluated"] for end in ends], 1),
        "tuned/rate": np.array(config.rates),
        "tuned/loss": np.stack([end["tuned"] for end in ends]),
        "chosen/rate": np.stack([end["rate"] for end in ends]),
        "chosen/decided": np.stack([end["decided"] for end in ends]),
        **{f"size/{name}": values for name, values in sizes.items()},
        "size/layers": np.array([each.model.layers for each in models]),
        **watched,
        **train.named_levels(config, "baseline", train.TEST_SET),
        **{name: array for end in ends for name, array in end.items() if name.startswith("final/")},
    }


def plan(config: Config) -> list[phases.Phase]:
    """The trainings in order: a model at every learning rate, then all its seeds at the best one,
    then the next."""
    found: list[phases.Phase] = []
    for each in learners(config):
        id, tuning, label = each.model.id, f"{each.model.id}, rates", each.model.label
        found.append(
            phases.Phase(
                tuning, config.tuning, partial(train.tune, config, each), label=f"{label}: its rate"
            )
        )
        training, curves = partial(train.train_tuned, config, each), partial(train.curves, id)
        found.append(phases.Phase(id, config.steps, training, curves, (tuning,), label))
    return found


def _curves(models: tuple[Learner, ...], made: phases.Made) -> dict[str, np.ndarray]:
    """Of the models trained so far and of the one in training, which is not yet through all
    evaluations."""
    found = {name: part for name, part in made.items() if "step" in part}
    if not found:
        return {}
    longest = max((part["step"] for part in found.values()), key=len)
    return {
        "names/models": names(each.model.id for each in models),
        "names/baselines": names(each.model.id for each in models if each.model.baseline),
        "curve/step": longest,
        **{f"curve/{name}": padded(part[name], len(longest)) for name, part in found.items()},
    }
