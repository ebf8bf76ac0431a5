"""The GD-SSM stands beside eight other models of sequences, which read the same tokens. Which of
them learn to learn from a prompt?

Each is built as its authors build it, fitted to prompts of ten or twenty tokens: norms, gates,
several heads, feed-forward layers. The bias of the read-in, which their codes have, is a switch.
Without it a norm hides from S5, Mamba and the gated delta network how large y is ("What each can
see"). The width leaves about as much room as x, y and the positions need. All train alike, except
that the parts of a state space have a smaller rate. Several rates are tried for a while, and the
best one trains the model, if it has left predicting zero by then. A switch makes all of them plain
instead: no norm, no feed-forward layers, equal parameters. The linear transformer of von Oswald et
al. (2023), which the paper means, is one of these.

The paper's first footnote says that a layer whose recurrence depends on its input could do without
the window, at a greater cost. Mamba is such a layer: a plain one comes to one step at f = 3, with
4,040 numbers to the GD-SSM's 16.

Where the tokens are x and y in turn, a model has to learn to multiply two tokens, and then a third.
Where the products x y are given, one product is left to learn, and a gate or an attention of one
layer can make it.

The paper trains at f = N = 10 on up to 19 million tasks. It names no sizes or rates of the other
models. What is not decided here says so, with the tasks seen. Three models are not in the paper: a
softmax transformer with one layer and with two, and a gated delta network, whose state is the
nearest relative of one that accumulates a gradient.
"""

import numpy as np

from icl_core.contract.experiment import Drawing, Experiment, Run
from icl_core.papers.gdssm.comparison import claims
from icl_core.papers.gdssm.comparison.draw import (
    construction,
    fairness,
    final_losses,
    losses,
    products,
    seen,
    symmetries,
)
from icl_core.papers.gdssm.comparison.load_run import entries
from icl_core.papers.gdssm.comparison.metrics import measure
from icl_core.papers.gdssm.comparison.run import compute
from icl_core.papers.gdssm.comparison.settings import PRESETS, Config, View
from icl_core.papers.gdssm.comparison.story import STORY
from icl_core.papers.gdssm.shared.load_run import percent
from icl_core.papers.gdssm.shared.sequence_models.all_models import learners
from icl_core.papers.gdssm.shared.sequence_models.train import EVALUATIONS
from icl_core.papers.gdssm.shared.sequence_models.training_end import NEAR, levels

ROOM = 40  # characters of a headline for names


def headline(run: Run, view: View) -> str:
    """Return what you see: who reaches gradient descent."""
    models = entries(run)
    _, one, _ = levels(run)
    best = min(models, key=lambda entry: entry.loss)
    near = [entry for entry in models if entry.loss <= NEAR * one]
    if not np.isfinite(best.loss):
        return "Every training diverged."
    after = f"after {run.config.steps:,} steps"
    if not near:
        away = percent(best.loss / one - 1)
        return (
            f"No model reaches one step of gradient descent {after}; the best is {away} above it."
        )
    names = " and ".join(entry.model.short for entry in near)
    who = names if len(names) <= ROOM else f"{len(near)} of {len(models)} models"
    verb = "reaches" if len(near) == 1 else "reach"
    return f"{who} {verb} one step of gradient descent, to within {percent(NEAR - 1)}, {after}."


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
    title="Beside other models of sequences",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
    drawings=(
        Drawing("ends", final_losses.ends, moving=False),
        Drawing("training", losses.training, ("single_seeds",), live=True, moving=False),
        Drawing("products", products.products_panel, (), "To multiply", moving=False, wide=True),
        Drawing(
            "by hand",
            construction.by_hand,
            (),
            "The step by hand",
            moving=False,
            applies=construction.applies,
            wide=True,
        ),
        Drawing(
            "seen",
            seen.size_of_y,
            (),
            "What each can see",
            moving=False,
            applies=seen.applies,
            wide=True,
        ),
        Drawing(
            "symmetries",
            symmetries.symmetries,
            (),
            "What each can see",
            moving=False,
            wide=True,
        ),
        Drawing("parameters", fairness.parameters, (), "Sizes and rates", moving=False),
        Drawing("rates", fairness.learning_rates, (), "Sizes and rates", moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    story=STORY,
)
