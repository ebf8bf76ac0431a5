"""A linear student learns a linear teacher by stochastic gradient descent."""

from icl_core.papers.toy.walk import claims, draw, settings, train
from icl_core.papers.toy.walk.words import WORDS

from icl_core.contract.experiment import Drawing, Experiment


def cost(config: settings.Config) -> float:
    """Return the giga-operations; what a step takes of Python outweighs its products."""
    return 1e-4 * config.steps


EXPERIMENT = Experiment(
    name="walk",
    words=WORDS,
    config=settings.Config,
    view=settings.View,
    run=train.compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing("loss", draw.loss, live=True),
        Drawing("weights", draw.weights, ("seed_shown",)),
        Drawing("spread", draw.spread, place="All seeds"),
    ),
    presets=settings.PRESETS,
    cost=cost,
    goes_on=lambda config: True,
    preview=train.completed,
)
