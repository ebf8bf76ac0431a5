"""Trains every model at every width, at one learning rate, and evaluates all on the same tasks."""

from functools import partial

import numpy as np

from icl_core.contract.experiment import Progress, names
from icl_core.papers.gdssm.learns.settings import Config, chosen, settings_of
from icl_core.papers.gdssm.shared.sequence_models import train
from icl_core.papers.gdssm.shared.sequence_models.all_models import Learner, learners
from icl_core.training import phases
from icl_core.training.several_seeds import padded

OWN = "gd-ssm-1"  # has no width: trained once


def compute(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """`names/models`, the GD-SSM first; `size/width` [widths] and, of each model, `size/parameters`
    [models, widths]; `evaluated/loss` [seeds, models, widths], infinite where a training diverged;
    `curve/<model> <width>` [seeds, evaluations] beside `curve/step`; `baseline/zero`, `/one` and
    `/two` (best steps of gradient descent on the test set) [1], `watched/…` the same on the tasks
    of the curves. The GD-SSM has no width, and the same numbers at each. Raises `Cancelled`.
    """
    grid, settings = of(config), settings_of(config)
    watched = train.named_levels(settings[0], "watched", train.WATCHED)
    made = phases.run(plan(config), progress, lambda made: _curves(config, made) | watched)
    columns = [
        [made[phase_of(each, setting.hidden)]["evaluated"] for each in row]
        for setting, row in zip(settings, grid, strict=True)
    ]
    return {
        **_curves(config, made),
        "size/width": np.array([setting.hidden for setting in settings]),
        "size/parameters": np.array([[each.size.parameters for each in row] for row in grid]).T,
        "evaluated/loss": np.array(columns).transpose(2, 1, 0),
        **watched,
        **train.named_levels(settings[0], "baseline", train.TEST_SET),
    }


def of(config: Config) -> list[list[Learner]]:
    """The models of each width, the GD-SSM first."""
    wanted = (OWN, *chosen(config))
    return [
        [each for each in learners(setting) if each.model.id in wanted]
        for setting in settings_of(config)
    ]


def phase_of(each: Learner, width: int) -> str:
    """The name of a model's training at a width."""
    return each.model.id if each.model.id == OWN else f"{each.model.id} {width}"


def plan(config: Config) -> list[phases.Phase]:
    """The trainings in order, the narrowest models first."""
    found: dict[str, phases.Phase] = {}
    for setting, row in zip(settings_of(config), of(config), strict=True):
        for each in row:
            name, id = phase_of(each, setting.hidden), each.model.id
            training = partial(train.at_rate, setting, each, config.learning_rate)
            label = each.model.label + (f", width {setting.hidden}" if each.model.baseline else "")
            found.setdefault(
                name,
                phases.Phase(name, config.steps, training, partial(train.curves, id), label=label),
            )
    return list(found.values())


def _curves(config: Config, made: phases.Made) -> dict[str, np.ndarray]:
    """Of the models trained so far and of the one in training, which is not yet through all
    evaluations."""
    found = {name: part for name, part in made.items() if "step" in part}
    if not found:
        return {}
    longest = max((part["step"] for part in found.values()), key=len)
    losses = {name: padded(part[name.split()[0]], len(longest)) for name, part in found.items()}
    return {
        "names/models": names([OWN, *chosen(config)]),
        "curve/step": longest,
        **{f"curve/{name}": rows for name, rows in losses.items()},
    }
