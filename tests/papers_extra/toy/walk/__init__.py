"""A linear student learns a linear teacher by stochastic gradient descent, one fresh batch a step.

Watch the loss fall to zero; raise the step size until it no longer does.
"""

from icl_core.papers.toy.walk import claims, draw
from icl_core.papers.toy.walk.metrics import metrics
from icl_core.papers.toy.walk.settings import PRESETS, Config, View
from icl_core.papers.toy.walk.train import BATCH, run

from icl_core.experiment import Drawing, Experiment, Run


def headline(run: Run, view: View) -> str:
    """What you see: how far the loss has come."""
    return f"After {run.config.steps} steps the loss is {run['curve/loss'][:, -1].mean():.2g}."


def cost(config: Config) -> float:
    """Giga-operations; the pause is counted as work, so that the estimate of time sees it."""
    return config.steps * (6e-9 * BATCH * config.d * config.seeds + 1e-4 + config.delay / 1000)


EXPERIMENT = Experiment(
    name="walk",
    title="Learning a line",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=run,
    claims=claims.ALL,
    metrics=metrics,
    drawings=(
        Drawing("loss", draw.loss, live=True, moving=False),
        Drawing("weights", draw.weights, knobs=("seed_shown",)),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
)
