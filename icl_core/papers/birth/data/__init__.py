"""One transformer, trained on six kinds of sequences: what of the head the data decide."""

from icl_core.contract.experiment import FIRST_SEED, Drawing, Experiment
from icl_core.papers.birth.data import claims
from icl_core.papers.birth.data.draw import stored, trainings
from icl_core.papers.birth.data.settings import DATA, PRESETS, Config, View
from icl_core.papers.birth.data.train import DENSE, EVERY, WATCHED, compute
from icl_core.papers.birth.data.words import WORDS
from icl_core.training.loop import evaluations

# drawers
OUTPUTS = "Uniform or bigram outputs"
STORED = "What is stored"


def cost(config: Config) -> float:
    """Return the giga-operations of all trainings: maps, matrices and outputs at every position,
    and the evaluations."""
    looks = len(evaluations(config.steps, EVERY, DENSE)) * WATCHED / 3
    token = 10 * config.T * config.d + 16 * config.d**2 + 6 * config.N * config.d
    return len(DATA) * config.seeds * config.T * (config.batch * config.steps + looks) * token / 1e9


SHOWN = ("data_shown",)

EXPERIMENT = Experiment(
    name="data",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing("arrivals", trainings.arrivals, (), wide=True, moving=False),
        Drawing("losses", trainings.losses, (), live=True, moving=False),
        Drawing("w_o2", trainings.w_o2, (), live=True, moving=False),
        Drawing("w_k2", trainings.w_k2, (), live=True, moving=False),
        Drawing("w_k1", trainings.w_k1, (), live=True, moving=False),
        Drawing("generalise", trainings.accuracy, (), OUTPUTS, live=True, moving=False),
        Drawing("fits", trainings.probes, (), OUTPUTS, live=True, moving=False),
        Drawing("maps", stored.maps, SHOWN, STORED, wide=True, moving=False, seeds=FIRST_SEED),
        Drawing("positions", stored.positions, (), STORED, moving=False),
        Drawing("frequencies", stored.frequencies, SHOWN, STORED, moving=False),
        Drawing("table", trainings.table, (), "Every training", moving=False),
    ),
    presets=PRESETS,
    cost=cost,
    goes_on=lambda config: True,
    picture=("arrivals",),
)
