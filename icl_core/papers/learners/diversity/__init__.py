"""One layer of linear attention with ever more training tasks."""

from icl_core.contract.experiment import MEAN_OF_SEEDS, Drawing, Experiment
from icl_core.papers.learners.diversity import claims, draw
from icl_core.papers.learners.diversity.run import compute
from icl_core.papers.learners.diversity.settings import MOST, PRESETS, PROMPTS, Config, View
from icl_core.papers.learners.diversity.words import WORDS


def cost(config: Config) -> float:
    """Return the giga-operations: of every number of tasks and seed the squares of all features of
    all prompts, their inverse, and the fit of all tasks to a prompt."""
    squares = 2 * config.prompts * config.d**4
    inverse = 30 * config.d**6
    memory = 4 * PROMPTS * MOST / 4 * config.n * config.d
    return config.seeds * len(config.counts) * (squares + inverse + memory + 2e7) / 1e9


EXPERIMENT = Experiment(
    name="diversity",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing("errors", draw.errors, seeds=MEAN_OF_SEEDS),
        Drawing("matrix", draw.matrix, ("seed_shown",), wide=True),
        Drawing("singular values", draw.singular_values, seeds=MEAN_OF_SEEDS),
        Drawing("span", draw.span, seeds=MEAN_OF_SEEDS),
        Drawing("memory", draw.memory, (), "By heart", moving=False, seeds=MEAN_OF_SEEDS),
    ),
    presets=PRESETS,
    cost=cost,
)
