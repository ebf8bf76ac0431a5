"""The formulas as printed, beside those that give gradient descent."""

from icl_core.contract.experiment import Claim, Drawing, Experiment, Theory
from icl_core.papers.gdssm.corrections import claims, draw
from icl_core.papers.gdssm.corrections.run import compute
from icl_core.papers.gdssm.corrections.settings import PRESETS, Config, View
from icl_core.papers.gdssm.corrections.words import WORDS


def cost(config: Config) -> float:
    """Return the giga-operations: three outputs for every task, and two steps of gradient descent
    for some."""
    return 4 * config.tasks * config.N * config.f * 60 / 1e9


def expected(claim: Claim) -> Theory:
    """Return what the closed form gives for the number of a claim, at any size."""
    return Theory(
        "closed form", lambda config: claims.EXPECTED[claim](config.f, config.N), claim.id
    )


EXPERIMENT = Experiment(
    name="corrections",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing("gains", draw.gains, moving=False),
        Drawing("lengths", draw.lengths, ("times",), moving=False),
        Drawing("table", draw.table, (), "Formula by formula", wide=True, moving=False),
    ),
    presets=PRESETS,
    cost=cost,
    theory=tuple(map(expected, claims.EXPECTED)),
)
