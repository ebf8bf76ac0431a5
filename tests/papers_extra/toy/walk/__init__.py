"""A linear student learns a linear teacher by stochastic gradient descent, one fresh batch a step.

Watch the loss fall to zero; raise the step size until it no longer does.
"""

from icl_core.papers.toy.walk import claims, draw, metrics, settings, train

from icl_core.experiment import Drawing, Experiment

EXPERIMENT = Experiment(
    name="walk",
    title="Learning a line",
    about=__doc__ or "",
    config=settings.Config,
    view=settings.View,
    run=train.run,
    claims=(claims.RECOVERED, claims.EXACT),
    metrics=metrics.metrics,
    drawings=(
        Drawing("loss", draw.loss, live=True),
        Drawing("weights", draw.weights, ("seed_shown",)),
        Drawing("spread", draw.spread, place="All seeds"),
    ),
    presets=settings.PRESETS,
    headline=lambda run, view: f"After {run.config.steps} steps the loss is {run['curve/loss'][:, -1].mean():.2g}.",
    cost=lambda config: 1e-4 * config.steps,  # giga-operations; what a step takes of Python outweighs its products
)
