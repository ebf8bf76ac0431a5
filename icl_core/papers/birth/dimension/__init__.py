"""The pairs of W_O² that one gradient step and a training recall, by the number of dimensions."""

from icl_core.contract.experiment import FIRST_SEED, Drawing, Experiment
from icl_core.papers.birth.dimension import claims, draw
from icl_core.papers.birth.dimension.settings import FACTORS, PRESETS, Config, View, widths_of
from icl_core.papers.birth.dimension.train import compute
from icl_core.papers.birth.dimension.words import WORDS


def cost(config: Config) -> float:
    """Return the giga-operations: both layers once for each batch, then W_O2 at every learning rate
    where the loss counts."""
    total = 0.0
    for d in widths_of(config):
        layers = config.T * (6 * config.T * d + 10 * d**2)
        rates = len(FACTORS) * (
            0.3 * config.T * 4 * config.N * d + 8 * config.N * d**2 / config.batch
        )
        total += config.batch * config.steps * (layers + rates)
    return config.seeds * total / 1e9


MAP = ("width_shown", "batches_shown")

EXPERIMENT = Experiment(
    name="dimension",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing("one_step", draw.heatmap, (), moving=False),
        Drawing("readings", draw.readings, MAP, moving=False, seeds=FIRST_SEED),
        Drawing("noise", draw.noise, MAP, moving=False),
        Drawing("fixed", draw.at_fixed, (), live=True, moving=False),
        Drawing("tuned", draw.at_tuned, (), moving=False),
        Drawing("rates", draw.rates, (), moving=False),
        Drawing("recalls", draw.recalls, (), "Theory beside simulation", wide=True, moving=False),
        Drawing("table", draw.table, (), "Every width", moving=False),
    ),
    presets=PRESETS,
    cost=cost,
    goes_on=lambda config: True,
    picture=("one_step",),
)
