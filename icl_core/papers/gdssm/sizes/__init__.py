"""A layer for every number of examples and of dimensions."""

from icl_core.contract.experiment import Drawing, Experiment
from icl_core.papers.gdssm.sizes import claims, draw
from icl_core.papers.gdssm.sizes.settings import PRESETS, Config, View, sizes_of
from icl_core.papers.gdssm.sizes.train import compute
from icl_core.papers.gdssm.sizes.words import WORDS


def cost(config: Config) -> float:
    """Return the giga-operations, forward and back, in training and where it is evaluated."""
    numbers = sum(f * N for f, N in sizes_of(config))
    tasks = config.batch * config.steps + (30 * 2**11 + 2**15) / 3
    return 6 * tasks * numbers * (20 + 10 * config.seeds) / 1e9


EXPERIMENT = Experiment(
    name="sizes",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing("pairs", draw.pairs, ("relative",), moving=False),
        Drawing("features", draw.features, ("relative",), moving=False),
        Drawing("gaps", draw.gaps, (), "All curves", moving=False),
        Drawing("training", draw.training, (), "All curves", live=True, moving=False),
    ),
    presets=PRESETS,
    cost=cost,
)
