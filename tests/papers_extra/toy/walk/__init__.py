"""A linear student learns a linear teacher by stochastic gradient descent, one fresh batch a step.

Watch the loss fall to zero; raise the step size until it no longer does.
"""

import numpy as np
from icl_core.papers.toy.walk import claims, draw, metrics, settings, train
from icl_core.papers.toy.walk.story import STORY

from icl_core.contract.experiment import Drawing, Experiment, Run


def headline(run: Run, view: settings.View) -> str:
    """The loss at the step shown."""
    step = run.step(view)
    loss = np.interp(step, run["curve/step"], run["curve/loss"].mean(0))
    return f"After {step} steps the loss is {loss:.2g}."


EXPERIMENT = Experiment(
    name="walk",
    title="Learning a line",
    about=__doc__ or "",
    config=settings.Config,
    view=settings.View,
    run=train.compute,
    claims=(claims.RECOVERED, claims.EXACT),
    metrics=metrics.measure,
    drawings=(
        Drawing("loss", draw.loss, live=True),
        Drawing("weights", draw.weights, ("seed_shown",)),
        Drawing("spread", draw.spread, place="All seeds"),
    ),
    presets=settings.PRESETS,
    goes_on=lambda config: True,
    story=STORY,
    preview=train.completed,
    headline=headline,
    cost=lambda config: (
        1e-4 * config.steps
    ),  # giga-operations; what a step takes of Python outweighs its products
)
