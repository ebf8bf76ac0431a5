"""The theorems as identities, without any training; and what they do not say."""

from icl_core.contract.experiment import Drawing, Experiment
from icl_core.papers.memformers.theorems import claims, draw
from icl_core.papers.memformers.theorems.run import compute
from icl_core.papers.memformers.theorems.settings import PRESETS, Config, View
from icl_core.papers.memformers.theorems.words import WORDS


def cost(config: Config) -> float:
    """Return giga-operations: attention of d queries a prompt for every method, and the gradient at
    four places."""
    attention = 12 * config.prompts * config.d * config.layers * (config.n + 1) ** 2 * config.d
    diagonal = attention * config.d / 12
    gradient = (
        2**config.pool
        * config.d**2
        * (16 * config.layers * config.d * (config.layers + 4) + 20 * config.n)
    )
    return (attention + diagonal + gradient + 2e9) / 1e9


PUT_IN = "What is put in"
OTHER = "Another prompt"
ERRATA = "The errata"
PARAMETERS = "Parameters"

EXPERIMENT = Experiment(
    name="theorems",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing("paths", draw.paths, ("prompt",), moving=False),
        Drawing("differences", draw.differences, moving=False),
        Drawing("gradient", draw.gradient, moving=False),
        Drawing("count", draw.count, ("batch",), moving=False),
        Drawing("table", draw.table, ("method", "prompt"), PUT_IN, wide=True, moving=False),
        Drawing("theorems", draw.theorems, (), PUT_IN, wide=True, moving=False),
        Drawing("losses", draw.losses, (), OTHER, moving=False),
        Drawing("distances", draw.distances, (), OTHER, moving=False),
        Drawing("errata", draw.errata, (), ERRATA, wide=True, moving=False),
        Drawing("code", draw.code, (), ERRATA, wide=True, moving=False),
        Drawing("counts", draw.counts, ("batch",), PARAMETERS, wide=True, moving=False),
    ),
    presets=PRESETS,
    cost=cost,
    picture=("gradient",),
)
