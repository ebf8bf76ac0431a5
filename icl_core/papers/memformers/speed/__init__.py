"""How many training steps memory saves on the way to a common floor."""

from icl_core.contract.experiment import Drawing, Experiment
from icl_core.papers.memformers.shared.train import goes_on
from icl_core.papers.memformers.speed import claims, draw
from icl_core.papers.memformers.speed.settings import (
    BOTH,
    LINEAR,
    MODELS,
    PRESETS,
    Config,
    View,
    model_of,
    rates_of,
)
from icl_core.papers.memformers.speed.train import compute
from icl_core.papers.memformers.speed.words import WORDS


def cost(config: Config) -> float:
    """Return giga-operations: two products with S and three with A a layer, for every prompt; a
    step's own, 0.0004 a layer."""
    per_step = config.layers * (config.seeds * config.batch * 10 * config.d**2 + 4e5)
    return len(MODELS) * len(BOTH) * len(rates_of(config)) * config.steps * per_step / 1e9


EXPERIMENT = Experiment(
    name="speed",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing("steps", draw.steps_here, ("coordinates", "shown"), moving=False),
        Drawing("worth", draw.worth, ("coordinates",), moving=False),
        Drawing("losses", draw.at_rate, ("coordinates", "rate", "shown"), moving=False),
        Drawing(
            "steps there",
            draw.steps_there,
            ("coordinates", "shown"),
            "Other coordinates",
            moving=False,
        ),
        Drawing(
            "every rate",
            draw.every_rate,
            ("coordinates", "model"),
            "Every rate",
            live=True,
            moving=False,
        ),
        Drawing("table", draw.table, (), "Seed by seed", moving=False),
    ),
    presets=PRESETS,
    cost=cost,
    goes_on=lambda config: goes_on(model_of(config, LINEAR, "original", rates_of(config)[0])),
    picture=("steps",),
)
