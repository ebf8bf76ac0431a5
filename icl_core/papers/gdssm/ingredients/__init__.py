"""The layer of the paper without one of its parts at a time."""

from icl_core.contract.experiment import MEAN_OF_SEEDS, Drawing, Experiment
from icl_core.papers.gdssm.ingredients import claims, draw
from icl_core.papers.gdssm.ingredients.settings import PRESETS, VARIANTS, Config, View
from icl_core.papers.gdssm.ingredients.train import EVALUATIONS, TEST_SET, WATCHED, compute
from icl_core.papers.gdssm.ingredients.words import WORDS
from icl_core.training.loop import evaluations


def cost(config: Config) -> float:
    """Return the giga-operations: what the windows cost a task, forward and back, in training and
    where it is evaluated."""
    read = len(VARIANTS) * 1.5 * config.N * config.f * (20 + 8 * config.seeds)
    evaluated = len(evaluations(config.steps, *EVALUATIONS)) * WATCHED + 2 * TEST_SET
    return 6 * ((config.batch + 150) * config.steps + evaluated / 3) * read / 1e9


EXPERIMENT = Experiment(
    name="ingredients",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing("ends", draw.ends, ("relative",), moving=False, seeds=MEAN_OF_SEEDS),
        Drawing("training", draw.training, live=True, moving=False, seeds=MEAN_OF_SEEDS),
        Drawing("table", draw.table, (), "What is left", wide=True, moving=False),
    ),
    presets=PRESETS,
    cost=cost,
)
