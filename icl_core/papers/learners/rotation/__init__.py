"""What is left of a trained transformer's lead where Σ is taken away."""

from icl_core.contract.experiment import Drawing, Experiment
from icl_core.papers.learners.rotation import claims, draw
from icl_core.papers.learners.rotation.run import CONDITIONS, compute
from icl_core.papers.learners.rotation.settings import PRESETS, Config, View
from icl_core.papers.learners.rotation.words import WORDS

LAYER = ("layer",)


def cost(config: Config) -> float:
    """Return the giga-operations: for every Σ, case and number of layers the powers of every S."""
    powers = 2**config.prompts * config.d**3 * config.layers**2
    return 2 * (1 + len(CONDITIONS)) * 8 * powers / 1e9 + 0.5


EXPERIMENT = Experiment(
    name="rotation",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing("rotated", draw.rotated, LAYER, moving=False),
        Drawing("fixed", draw.fixed, LAYER, moving=False),
        Drawing("lead", draw.lead, LAYER, moving=False),
        Drawing("kept", draw.kept, LAYER, moving=False),
        Drawing("conditions", draw.conditions, LAYER, "Other covariances", moving=False),
    ),
    presets=PRESETS,
    cost=cost,
)
