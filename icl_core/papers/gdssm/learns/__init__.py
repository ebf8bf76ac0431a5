"""Which models learn the step, by their width and the tasks that they have seen."""

from icl_core.contract.experiment import Drawing, Experiment
from icl_core.papers.gdssm.learns import claims, draw
from icl_core.papers.gdssm.learns.run import compute, models_by_width
from icl_core.papers.gdssm.learns.settings import PRESETS, Config, View, settings_of
from icl_core.papers.gdssm.learns.words import WORDS


def cost(config: Config) -> float:
    """Return the giga-operations, forward and back; a step of so small a model costs at least a
    twentieth of one."""
    total = 0.0
    for setting, row in zip(settings_of(config), models_by_width(config), strict=True):
        costs_per_token = [3 * learner.size.parameters + setting.positions * 40 for learner in row]
        step_cost = 6 * config.batch * setting.positions * config.seeds * sum(costs_per_token) / 1e9
        total += config.steps * (0.05 * len(row) + step_cost)
    return total


EXPERIMENT = Experiment(
    name="learns",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing("width", draw.by_width, moving=False),
        Drawing("tasks", draw.by_tasks, ("shown",), live=True, moving=False),
    ),
    presets=PRESETS,
    cost=cost,
)
