"""Train every model at every width, at one learning rate, and evaluate all on the same tasks."""

import numpy as np

from icl_core.contract.experiment import Progress, Tensors, names
from icl_core.papers.gdssm.learns.settings import Config, chosen, settings_of
from icl_core.papers.gdssm.shared.sequence_models import train
from icl_core.papers.gdssm.shared.sequence_models.all_models import Learner, learners
from icl_core.training import phases
from icl_core.training.loop import State
from icl_core.training.run_grid import RunGrid, to_longest

OWN = "gd-ssm-1"  # the GD-SSM, which has no width: it is trained once


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train every model at every width; evaluate all on the same tasks. Return

    names/models           the GD-SSM first
    size/width             [widths]
    size/parameters        [models, widths]
    evaluated/loss         [seeds, models, widths], infinite where a training diverged
    curve/<model> <width>  [seeds, evaluations] beside `curve/step` [evaluations]
    baseline/zero, baseline/one, baseline/two  [1], the loss of predicting zero, and of the best one
                           and two steps of gradient descent, on the test set
    watched/…              the same on the tasks of the curves

    The GD-SSM has no width, and the same numbers at each. Raises `Cancelled`.
    """
    settings = settings_of(config)
    watched = train.named_levels(settings[0], "watched", train.WATCHED)
    results = phases.run(plan(config), progress, lambda results: _curves(config, results) | watched)
    evaluated = _grid(config).stack(results, "evaluated")  # (widths, models, seeds)
    parameters = [[learner.size.parameters for learner in row] for row in models_by_width(config)]
    return {
        **_curves(config, results),
        "size/width": np.array([setting.hidden for setting in settings]),
        "size/parameters": np.array(parameters).T,
        "evaluated/loss": evaluated.transpose(2, 1, 0),
        **watched,
        **train.named_levels(settings[0], "baseline", train.TEST_SET),
    }


def models_by_width(config: Config) -> list[list[Learner]]:
    """Return the models of each width, the GD-SSM first."""
    ids = (OWN, *chosen(config))
    return [
        [learner for learner in learners(setting) if learner.model.id in ids]
        for setting in settings_of(config)
    ]


def _grid(config: Config) -> RunGrid:
    """Return the trainings: at the smallest width all models, then at the next."""
    return RunGrid(
        lambda width, model: model if model == OWN else f"{model} {width}",
        {
            "width": [setting.hidden for setting in settings_of(config)],
            "model": [learner.model.id for learner in models_by_width(config)[0]],
        },
    )


def plan(config: Config) -> list[phases.Phase]:
    """Return the trainings in order, the narrowest models first."""
    learner_at = {
        (setting.hidden, learner.model.id): (setting, learner)
        for setting, row in zip(settings_of(config), models_by_width(config), strict=True)
        for learner in row
    }

    def training(
        resumed: Tensors, report: phases.Report, *, width: int, model: str
    ) -> dict[str, np.ndarray]:
        setting, learner = learner_at[width, model]
        return train.at_rate(setting, learner, config.learning_rate, resumed, report)

    def curves(state: State, *, width: int, model: str) -> dict[str, np.ndarray]:
        return train.curves(model, state)

    def label(width: int, model: str) -> str:
        learner = learner_at[width, model][1]
        return learner.model.label + (f", width {width}" if learner.model.baseline else "")

    return _grid(config).phases(config.steps, training, label, curves)


def _curves(config: Config, results: phases.Made) -> dict[str, np.ndarray]:
    """Return the curves of the models trained so far and of the one in training, which has not
    come to all evaluations yet."""
    curves = {
        name: (part["step"], part[name.split()[0]])  # "<model> <width>"
        for name, part in results.items()
        if "step" in part
    }
    if not curves:
        return {}
    return {"names/models": names([OWN, *chosen(config)]), **to_longest(curves)}
