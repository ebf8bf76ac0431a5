"""How many tasks it takes to leave predicting zero, and what helps."""

from icl_core.contract.experiment import Drawing, Experiment
from icl_core.papers.gdssm.plateau import claims, draw
from icl_core.papers.gdssm.plateau.run import EVALUATIONS, compute
from icl_core.papers.gdssm.plateau.settings import (
    PRESETS,
    RECIPES,
    Config,
    View,
    chosen_models,
    setting_of,
    sizes,
)
from icl_core.papers.gdssm.plateau.words import WORDS
from icl_core.papers.gdssm.shared.sequence_models.all_models import learners
from icl_core.papers.gdssm.shared.sequence_models.train import WATCHED


def cost(config: Config) -> float:
    """Return the giga-operations, forward and back, of trainings that all last to the end; a step
    of so small a model costs at least a twentieth of one."""
    total = 0.0
    for f in sizes(config):
        setting = setting_of(config, f, "both")
        ids = chosen_models(config)
        trained = [learner for learner in learners(setting) if learner.model.id in ids]
        for learner in trained:
            operations = 3 * learner.size.parameters + setting.positions * 40
            seen = 6 * config.batch * setting.positions * config.seeds * operations / 1e9
            watched = EVALUATIONS * WATCHED[1] / config.batch / 3
            total += len(RECIPES) * (config.steps * (0.05 + seen) + watched * seen)
    return total


EXPERIMENT = Experiment(
    name="plateau",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing("until", draw.until_left, moving=False),
        Drawing("curves", draw.curves_of_one_size, ("shown",), live=True, moving=False),
    ),
    presets=PRESETS,
    cost=cost,
)
