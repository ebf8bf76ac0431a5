"""No attention at all: the coefficients Λ of a first-order method are learned directly, from a number of prompts that
are kept for the whole training. From few prompts the method learns these prompts: on them it beats conjugate gradient
by far, and on fresh ones it fails. From many it learns the task.

Theorem 5.1 says that what is lost by learning from N prompts only vanishes as N grows, for a loss that is bounded.
The squared error is not, and rare prompts rule its mean. So it is measured: the excess on fresh prompts against N, of
the mean and of the median, over what infinitely many prompts would give.
"""

import numpy as np

from icl_core.experiment import Drawing, Experiment, Run
from icl_core.papers.memformers.learned import claims, draw
from icl_core.papers.memformers.learned.metrics import metrics
from icl_core.papers.memformers.learned.script import SCRIPT
from icl_core.papers.memformers.learned.settings import PRESETS, Config, View, sizes_of
from icl_core.papers.memformers.learned.train import run
from icl_core.papers.memformers.shared.draw.losses import written
from icl_core.papers.memformers.shared.read_run import log_from_least
from icl_core.papers.memformers.shared.upgrade import upgrade


def headline(run: Run, view: View) -> str:
    """What you see: the method from the fewest prompts, on them and on fresh ones."""
    own, fresh = (float(log_from_least(run[f"evaluated/{name}"][:, 0, -1]).mean()) for name in ("train", "loss"))
    count = int(run["size/prompts"][0])
    return (
        f"Learned from {count} prompt{'s' * (count > 1)}: log-loss {written(own, 1)} there, {written(fresh, 1)} on "
        f"fresh prompts; predicting zero gives {written(np.log(run.config.d), 1)}."
    )


def cost(config: Config) -> float:
    """Giga-operations: two products with S and three with Λ a step, for every prompt of a batch, for every method."""
    steps = config.steps * config.layers * (config.layers + 1) / 2
    prompts = sum(sizes_of(config)) + 1000
    return steps * (config.seeds * 10 * config.d**2 * prompts + 2e5 * (len(sizes_of(config)) + 1)) / 1e9


EXPERIMENT = Experiment(
    name="learned",
    title="Learned from few prompts",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=run,
    claims=claims.ALL,
    metrics=metrics,
    drawings=(
        Drawing("gap", draw.gap, moving=False),
        Drawing("own", draw.own, moving=False),
        Drawing("fresh", draw.fresh, moving=False),
        Drawing("risk", draw.risk, ("steps_shown",), "Theorem 5.1", moving=False),
        Drawing("training", draw.training, (), "All curves", live=True, moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    upgrade=upgrade,
    script=SCRIPT,
)
