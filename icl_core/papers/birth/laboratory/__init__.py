"""The memory laboratory: one matrix filled with random pairs until it confuses them."""

from icl_core.contract.experiment import MEAN_OF_SEEDS, Drawing, Experiment
from icl_core.papers.birth.laboratory import claims
from icl_core.papers.birth.laboratory.draw import (
    capacity,
    inner_products,
    learning,
    parameterisations,
)
from icl_core.papers.birth.laboratory.load_run import milestones
from icl_core.papers.birth.laboratory.run import compute
from icl_core.papers.birth.laboratory.settings import PRESETS, Config, View
from icl_core.papers.birth.laboratory.words import WORDS


def cost(config: Config) -> float:
    """Return the work in giga-operations: the sweeps, which take most of it, and three
    trainings."""
    trainings = 3 * (config.steps + 1) * 2 * config.N * config.d * (4 * config.d + 2 * config.N)
    return config.seeds * (60 + trainings / 1e9)


# the drawers
VECTORS = "Random vectors"
CAPACITY = "Capacity"
FORMS = "Other forms"
LEARNED = "Learned memory"

SEED = ("seed_shown",)
SHOWN = ("width", "pairs")

EXPERIMENT = Experiment(
    name="laboratory",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing("near", inner_products.near, ("width",), moving=False, seeds=MEAN_OF_SEEDS),
        Drawing(
            "capacity", capacity.capacity_panel, SHOWN, wide=True, moving=False, seeds=MEAN_OF_SEEDS
        ),
        Drawing(
            "concrete", parameterisations.concrete, (*SHOWN, "form", "rank", *SEED), moving=False
        ),
        Drawing(
            "forms",
            parameterisations.forms,
            (*SHOWN, "rank", "taken"),
            moving=False,
            seeds=MEAN_OF_SEEDS,
        ),
        Drawing("strengths", learning.strengths, SEED),
        Drawing("spread", inner_products.spread, ("width",), VECTORS, moving=False),
        Drawing("norms", inner_products.norms, ("width",), VECTORS, moving=False),
        Drawing("half", capacity.half, ("width",), CAPACITY, moving=False),
        Drawing("zipf", capacity.zipf, SHOWN, CAPACITY, moving=False),
        Drawing("factorised", parameterisations.factorised, (*SHOWN, "rank"), FORMS, moving=False),
        Drawing("heads", parameterisations.heads, (*SHOWN, "taken"), FORMS, moving=False),
        Drawing(
            "sets", parameterisations.sets, ("width", "members", "threshold"), FORMS, moving=False
        ),
        Drawing("norm", parameterisations.norm, SHOWN, FORMS, moving=False),
        Drawing("recall", learning.recall, (), LEARNED),
        Drawing("first", learning.first, (), LEARNED, moving=False),
        Drawing("evened", learning.evened, (), LEARNED, moving=False),
    ),
    presets=PRESETS,
    cost=cost,
    milestones=milestones,
    picture=("capacity",),
)
