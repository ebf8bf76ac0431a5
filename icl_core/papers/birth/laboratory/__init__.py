"""The memory laboratory: one matrix filled with random pairs until it confuses them."""

from icl_core.contract.experiment import MEAN_OF_SEEDS, Drawing, Experiment
from icl_core.papers.birth.laboratory import claims
from icl_core.papers.birth.laboratory.draw import one_matrix, parameterisations
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
        Drawing(
            "capacity",
            one_matrix.capacity_panel,
            SHOWN,
            wide=True,
            moving=False,
            seeds=MEAN_OF_SEEDS,
        ),
        Drawing("near", one_matrix.near, ("width",), moving=False, seeds=MEAN_OF_SEEDS),
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
        Drawing("strengths", one_matrix.strengths, SEED),
        Drawing("spread", one_matrix.spread, ("width",), VECTORS, moving=False),
        Drawing("norms", one_matrix.norms, ("width",), VECTORS, moving=False),
        Drawing("half", one_matrix.half, ("width",), CAPACITY, moving=False),
        Drawing("zipf", one_matrix.zipf, SHOWN, CAPACITY, moving=False),
        Drawing("factorised", parameterisations.factorised, (*SHOWN, "rank"), FORMS, moving=False),
        Drawing("heads", parameterisations.heads, (*SHOWN, "taken"), FORMS, moving=False),
        Drawing(
            "sets", parameterisations.sets, ("width", "members", "threshold"), FORMS, moving=False
        ),
        Drawing("norm", parameterisations.norm, SHOWN, FORMS, moving=False),
        Drawing("recall", one_matrix.recall, (), LEARNED),
        Drawing("first", one_matrix.first, (), LEARNED, moving=False),
        Drawing("evened", one_matrix.evened, (), LEARNED, moving=False),
    ),
    presets=PRESETS,
    cost=cost,
    milestones=milestones,
    picture=("capacity",),
)
