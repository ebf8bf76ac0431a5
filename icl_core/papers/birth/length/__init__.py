"""Time to the head, against the length of the sequences (Musat et al. 2025)."""

from icl_core.contract.experiment import Drawing, Experiment
from icl_core.papers.birth.length import claims, draw
from icl_core.papers.birth.length.settings import OPTIMISERS, PRESETS, Config, View, lengths_of
from icl_core.papers.birth.length.train import DENSE, EVERY, WATCHED, compute
from icl_core.papers.birth.length.words import WORDS
from icl_core.training.loop import evaluations


def cost(config: Config) -> float:
    """Return the giga-operations of all trainings: maps, matrices and outputs where the loss
    counts, and the evaluations."""
    by_length = [
        T
        * (config.batch * config.steps + len(evaluations(config.steps, EVERY, DENSE)) * WATCHED / 3)
        * _of_a_position(config, T)
        for T in lengths_of(config)
    ]
    return len(OPTIMISERS) * config.seeds * sum(by_length) / 1e9


def _of_a_position(config: Config, T: int) -> int:
    """Return the operations of one position of a batch, forward and back."""
    if not config.in_the_papers_task:  # tables of readings, once a step, and the keys of layer 1
        return 6 * T + 6 * (config.N + T) * config.d**2 // (config.batch * T)
    if config.full:
        return 6 * (4 * T * config.d + 24 * config.d**2 + config.N * config.d)
    return 6 * T * config.d + 16 * config.d**2 + 2 * config.N * config.d


EXPERIMENT = Experiment(
    name="length",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing("growth", draw.growth_panel, ("until",), wide=True, moving=False),
        Drawing("even", draw.even, (), moving=False),
        Drawing("accuracy", draw.accuracy, ("optimiser_shown",), live=True, moving=False),
        Drawing("w_k2", draw.w_k2, ("optimiser_shown",), live=True, moving=False),
        Drawing("w_k1", draw.w_k1, ("optimiser_shown",), live=True, moving=False),
        Drawing("table", draw.table, (), "Every slope", moving=False),
    ),
    presets=PRESETS,
    cost=cost,
    goes_on=lambda config: True,
)
