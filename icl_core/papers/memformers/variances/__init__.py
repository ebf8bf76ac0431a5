"""Three heads have each learned prompts of one variance, each with a covariance of its own. Then prompts of a variance
come that no head has seen, with the last head's U, as in the authors' code. A mixture of experts keeps all weights and
learns three numbers: a gate for each head, on a thousand prompts.

It works: the gates become σₕ²/σ² for the head that knows the prompts' U and nothing for the others, wherever they
start. One number for the right head would have done. With one covariance for all, heads differ in a factor alone: a
single head with a single number is as good, and which gates are learned says where they started.
"""

import numpy as np

from icl_core.experiment import Drawing, Experiment, Run
from icl_core.papers.memformers.shared.draw.losses import written
from icl_core.papers.memformers.shared.upgrade import upgrade
from icl_core.papers.memformers.variances import claims
from icl_core.papers.memformers.variances.draw import gates, stage
from icl_core.papers.memformers.variances.metrics import metrics
from icl_core.papers.memformers.variances.script import SCRIPT
from icl_core.papers.memformers.variances.settings import PRESETS, Config, View, met_by, trained_on
from icl_core.papers.memformers.variances.train import run


def headline(run: Run, view: View) -> str:
    """What you see: the loss on unseen variances with gates, with one scalar, and the floor."""
    unseen = len(met_by(run.config))
    gated, scalar = (float(np.log(run[f"evaluated/{name}"][:, :unseen]).mean()) for name in ("gated", "scalar"))
    floor = float(np.log(run["baseline/floor"][-1]))
    home = float(np.log(run["own/loss"][:, -1]).mean())
    return (
        f"On unseen variances a gate for each head reaches {written(gated)}, one head with one number "
        f"{written(scalar)}; the head at home has {written(home)}, the floor is {written(floor)}."
    )


def cost(config: Config) -> float:
    """Giga-operations: two products with S and three with A a layer, for every prompt in training and at test time; and
    what a step costs by itself, as much as two seeds."""
    heads, variances = len(trained_on(config)), len(trained_on(config)) + len(met_by(config))
    prompt = config.layers * 10 * config.d**2 * (config.seeds + 2)
    trained = heads * config.steps * 1000
    adapted = (variances * (heads + 1) + 4) * config.gate_steps * config.gate_prompts
    evaluated = (variances * 3 + heads + 4) * 2**16 * config.d
    return prompt * (trained + adapted + evaluated) / 1e9


EXPERIMENT = Experiment(
    name="variances",
    title="Unseen variances",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=run,
    claims=claims.ALL,
    metrics=metrics,
    drawings=(
        Drawing("comparison", stage.comparison),
        Drawing("shares", stage.shares, ("seed_shown",)),
        Drawing("starts", stage.starts, ("seed_shown",), applies=lambda config: len(trained_on(config)) > 1),
        Drawing("losses", gates.losses, (), "Every method", wide=True),
        Drawing("gates", gates.learned, ("seed_shown",), "Trained beside constructed", wide=True),
        Drawing("test time", gates.test_time, (), "All curves"),
        Drawing("training", gates.training, (), "All curves", live=True),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    upgrade=upgrade,
    script=SCRIPT,
)
