"""The GD-SSM beside eight other models of sequences."""

from icl_core.contract.experiment import Drawing, Experiment
from icl_core.papers.gdssm.comparison import claims
from icl_core.papers.gdssm.comparison.draw import fairness, losses, products, seen
from icl_core.papers.gdssm.comparison.run import compute
from icl_core.papers.gdssm.comparison.settings import PRESETS, Config, View
from icl_core.papers.gdssm.comparison.words import WORDS
from icl_core.papers.gdssm.shared.sequence_models.all_models import learners
from icl_core.papers.gdssm.shared.sequence_models.train import EVALUATIONS


def cost(config: Config) -> float:
    """Return the giga-operations, forward and back; a step of so small a model costs at least a
    twentieth of one."""
    step_costs = [
        6
        * config.batch
        * config.positions
        * (3 * learner.size.parameters + config.positions * 40)
        / 1e9
        for learner in learners(config)
    ]  # of one seed of each model
    watching = EVALUATIONS * (config.seeds + 1) * 2**11 / config.batch / 3
    shares = [(config.tuning, len(config.rates)), (config.steps, config.seeds)]
    return sum(
        steps * (0.05 + rows * step_cost) for step_cost in step_costs for steps, rows in shares
    ) + watching * sum(step_costs)


EXPERIMENT = Experiment(
    name="comparison",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing("ends", losses.ends, moving=False),
        Drawing("training", losses.training, ("single_seeds",), live=True, moving=False),
        Drawing("products", products.products_panel, (), "To multiply", moving=False, wide=True),
        Drawing(
            "by hand",
            products.by_hand,
            (),
            "The step by hand",
            moving=False,
            applies=products.is_kept,
            wide=True,
        ),
        Drawing(
            "seen",
            seen.size_of_y,
            (),
            "What each can see",
            moving=False,
            applies=lambda config: config.by_authors,
            wide=True,
        ),
        Drawing(
            "symmetries",
            seen.symmetries,
            (),
            "What each can see",
            moving=False,
            wide=True,
        ),
        Drawing("parameters", fairness.parameters, (), "Sizes and rates", moving=False),
        Drawing("rates", fairness.learning_rates, (), "Sizes and rates", moving=False),
    ),
    presets=PRESETS,
    cost=cost,
)
