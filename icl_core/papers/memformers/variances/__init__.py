"""Each of three heads has learned prompts of one variance, whose x are stretched along directions
U; every head has its own U. Then prompts come of a variance that no head has seen, with the last
head's U, as in the authors' code. A mixture of experts keeps the heads as they are and learns three
numbers on a thousand prompts: a gate for each head.

It works, if the gates are learned to their end. Wherever they start, they become σₕ²/σ² for the
head that knows the prompts' U, and nothing for the others. One number for the right head would have
done. The authors' 500 steps of 0.01 end before that: the further a gate has to go, the sooner on
its way. Where all heads share one U they differ in a factor alone: one head with one number is as
good, and the gates only say where they started.
"""

import numpy as np

from icl_core.contract.experiment import MEAN_OF_SEEDS, Drawing, Experiment, Run
from icl_core.papers.memformers.shared.captions import compared
from icl_core.papers.memformers.shared.gated_diagram import diagram
from icl_core.papers.memformers.variances import claims
from icl_core.papers.memformers.variances.draw import gates, stage
from icl_core.papers.memformers.variances.metrics import measure
from icl_core.papers.memformers.variances.settings import PRESETS, Config, View, met_by, trained_on
from icl_core.papers.memformers.variances.story import STORY
from icl_core.papers.memformers.variances.train import compute


def headline(run: Run, view: View) -> str:
    """Return what you see: the error on unseen variances with gates, beside that with one number
    for one head."""
    unseen = len(met_by(run.config))
    gated, scalar = (
        float(np.log(run[f"evaluated/{name}"][:, :unseen]).mean()) for name in ("gated", "scalar")
    )
    count = len(trained_on(run.config))
    better = "better" if gated < scalar else "no better"
    error = compared(gated - scalar).removesuffix(" than").removesuffix(" to")
    return (
        f"On unseen variances {count} learned gates are {better} than one rescaled head (error "
        f"{error})."
    )


def cost(config: Config) -> float:
    """Return giga-operations: two products with S and three with A a layer, for every prompt in
    training and at test time; and what a step costs by itself, as much as two seeds."""
    heads = len(trained_on(config))
    variances = heads + len(met_by(config))
    layers = config.layers * (config.layers + 1) / 2 if is_figure_8(config) else config.layers
    prompt = layers * 10 * config.d**2 * (config.seeds + 2)
    trained = heads * config.steps * 1000
    adapted = (variances * (heads + 1) + 4) * config.gate_steps * config.gate_prompts
    evaluated = (variances * 3 + heads + 4) * 2**16 * config.d
    return prompt * (trained + adapted + evaluated) / 1e9


def is_figure_8(config: Config) -> bool:
    """Return whether heads of every depth are trained, as for Figure 8."""
    return config.protocol == "authors"


EXPERIMENT = Experiment(
    name="variances",
    title="Unseen variances",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
    drawings=(
        Drawing("comparison", stage.comparison, seeds=MEAN_OF_SEEDS),
        Drawing("shares", stage.shares, ("seed_shown",)),
        Drawing(
            "starts",
            stage.starts,
            ("seed_shown",),
            applies=lambda config: len(trained_on(config)) > 1,
        ),
        Drawing("losses", gates.losses, (), "Every method", wide=True),
        Drawing("depth", gates.depth, (), "Every method", applies=is_figure_8, seeds=MEAN_OF_SEEDS),
        Drawing("gates", gates.learned, ("seed_shown",), "Trained beside constructed", wide=True),
        Drawing(
            "triangle",
            gates.triangle,
            ("seed_shown",),
            "Trained beside constructed",
            wide=True,
        ),
        Drawing("test time", gates.test_time, (), "All curves"),
        Drawing("training", gates.training, (), "All curves", live=True),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    story=STORY,
    diagram=lambda config: diagram(
        [f"variance {each:g}" for each in trained_on(config)], "shares", "comparison"
    ),
)
