"""Models of sines, and which of their parts has to bend."""

from icl_core.contract.experiment import MEAN_OF_SEEDS, Drawing, Experiment
from icl_core.papers.gdssm.nonlinear import claims
from icl_core.papers.gdssm.nonlinear.diagram import nonlinear_diagram
from icl_core.papers.gdssm.nonlinear.draw import fits, losses
from icl_core.papers.gdssm.nonlinear.settings import FIGURE_4B, PRESETS, VARIANTS, Config, View
from icl_core.papers.gdssm.nonlinear.train import EVALUATIONS, TEST_SET, WATCHED, compute
from icl_core.papers.gdssm.nonlinear.words import WORDS
from icl_core.training.loop import evaluations


def cost(config: Config) -> float:
    """Return the giga-operations of all models: what a token costs a task, forward and back, in
    training and evaluation."""
    embedding = 4 * config.hidden * (config.features + 20)
    a_token = embedding + 5 * config.features * (20 + 30 * config.layers**2)
    count = len(evaluations(config.steps, *EVALUATIONS))
    tasks = config.batch * config.steps + (count * WATCHED + 2 * TEST_SET) / 3
    own = tasks * config.seeds
    more = len(FIGURE_4B) / len(VARIANTS) * tasks * config.many
    return 3 * (own + more) * (config.N + 1) * a_token / 1e9


def _many(config: Config) -> bool:
    """Return whether the models of Figure 4 B have many seeds."""
    return config.many > 0


EXPERIMENT = Experiment(
    name="nonlinear",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing("fit", fits.fit, ("prompt", "seed_shown")),
        Drawing("training", losses.training, live=True, seeds=MEAN_OF_SEEDS),
        Drawing("features", fits.features, ("features_of", "seed_shown")),
        Drawing("losses", losses.bars, moving=False, seeds=MEAN_OF_SEEDS),
        Drawing(
            "beside", losses.trained_and_constructed, (), "Figure 4 B", wide=True, moving=False
        ),
        Drawing(
            "seeds",
            losses.many_seeds,
            (),
            "Figure 4 B",
            wide=True,
            moving=False,
            applies=_many,
        ),
        Drawing("points", fits.prompt, ("points", "seed_shown"), "Your own points", wide=True),
        Drawing("fits", fits.fit_of_all, ("prompt", "seed_shown"), "All curves", wide=True),
        Drawing("bars", losses.bars_of_all, (), "All curves", wide=True, moving=False),
    ),
    presets=PRESETS,
    cost=cost,
    diagram=nonlinear_diagram,
)
