"""The GD-SSM beside seven other models of sequences, on the same tokens: which of them learns to learn from a prompt?

All others have the same number of parameters, within 5 %, and many more than the GD-SSM. Each is trained at four rates
for a while and then at the best of them, on the same tasks. Where the tokens are x and y in turn, a model has to learn
to multiply two tokens and then a third. Where the products x y are given, one product is left to learn, and a gate or
an attention of one layer can make it.

The paper trains at f = N = 10 for up to 300,000 steps and names no sizes or rates of the others. Here Figures 4 C and
6 have that size and fewer steps, so that they can be trained again within an hour. With vector labels these may be too
few for other models to leave predicting zero, so Figure 6 is there on smaller tasks as well. When a transformer leaves
can hang on rounding alone: there the tuning at a rate is the first seed's training once more, with other rows computed
beside it, and the two can end apart.

Try:
- "Figure 6 on smaller tasks": when do the transformers of two layers leave the plateau?
- Fewer parameters: who suffers first?
- Look at the rates tried: would another order come out at one rate for all?
"""

import numpy as np

from icl_core.experiment import Drawing, Experiment, Run
from icl_core.papers.gdssm.comparison import claims
from icl_core.papers.gdssm.comparison.draw import fairness, losses
from icl_core.papers.gdssm.comparison.metrics import metrics
from icl_core.papers.gdssm.comparison.read_run import NEAR, entries, levels, upgrade
from icl_core.papers.gdssm.comparison.run import run
from icl_core.papers.gdssm.comparison.settings import PRESETS, Config, View
from icl_core.papers.gdssm.shared.read_run import percent
from icl_core.papers.gdssm.shared.sequence_models.learners import learners
from icl_core.papers.gdssm.shared.sequence_models.settings import LEARNING_RATES
from icl_core.papers.gdssm.shared.sequence_models.train import EVALUATIONS


def headline(run: Run, view: View) -> str:
    """What you see: who reaches gradient descent."""
    models, (_, one, _) = entries(run), levels(run)
    best, near = min(models, key=lambda each: each.loss), [each for each in models if each.loss <= NEAR * one]
    if not np.isfinite(best.loss):
        return "Every training diverged."
    if not near:
        away = percent(best.loss / one - 1)
        return (
            f"After {run.config.steps:,} steps no model reaches one step of gradient descent; the best is {away} off."
        )
    said = f"{len(near)} of {len(models)} models" if len(near) > 3 else "; ".join(each.model.short for each in near)
    return f"As good as one step of gradient descent after {run.config.steps:,} steps: {said}."


def cost(config: Config) -> float:
    """Giga-operations, forward and back; a step of so small a model costs at least a twentieth of one."""
    positions = config.N if config.model == "1-D" else 2 * config.N + 1
    seen = 6 * config.batch * positions * (3 * config.parameters + positions * 40) / 1e9  # a seed of a model a step
    watching = EVALUATIONS * (config.seeds + 1) * 2**11 / config.batch / 3
    tuning, training = (0.05 + rows * seen for rows in (len(LEARNING_RATES), config.seeds))
    return len(learners(config)) * (config.tuning * tuning + config.steps * training + watching * seen)


EXPERIMENT = Experiment(
    name="comparison",
    title="Beside other models of sequences",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=run,
    claims=claims.ALL,
    metrics=metrics,
    drawings=(
        Drawing("ends", losses.ends, moving=False),
        Drawing("training", losses.training, ("single_seeds",), live=True, moving=False),
        Drawing("parameters", fairness.parameters, moving=False),
        Drawing("rates", fairness.learning_rates, (), "Rates tried", moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    upgrade=upgrade,
)
