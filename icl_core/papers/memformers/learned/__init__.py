"""First-order methods learned directly, from a number of prompts."""

from icl_core.contract.experiment import Drawing, Experiment
from icl_core.papers.memformers.learned import claims, draw
from icl_core.papers.memformers.learned.settings import PRESETS, Config, View, model_of, sizes_of
from icl_core.papers.memformers.learned.train import compute
from icl_core.papers.memformers.learned.words import WORDS


def cost(config: Config) -> float:
    """Return giga-operations: two products with S and three with Λ a step, for every prompt of a
    batch, for every method."""
    per_step = config.layers * (config.layers + 1) / 2
    operations = 0.0
    for prompts in (*sizes_of(config), None):
        model = model_of(config, prompts)
        operations += model.steps * (config.seeds * 10 * config.d**2 * model.batch + 2e5)
    return per_step * operations / 1e9


EXPERIMENT = Experiment(
    name="learned",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing("gap", draw.gap, moving=False),
        Drawing("own", draw.own, moving=False),
        Drawing("fresh", draw.fresh, moving=False),
        Drawing("against_cg", draw.against_cg, (), "Batch size", moving=False),
        Drawing("risk", draw.risk, ("steps_shown",), "Theorem 5.1", moving=False),
        Drawing("training", draw.training, (), "All curves", live=True, moving=False),
    ),
    presets=PRESETS,
    cost=cost,
)
