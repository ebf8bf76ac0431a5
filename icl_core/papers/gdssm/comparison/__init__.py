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
from icl_core.figures import written
from icl_core.papers.gdssm.comparison import claims
from icl_core.papers.gdssm.comparison.draw import fairness, losses
from icl_core.papers.gdssm.comparison.metrics import metrics
from icl_core.papers.gdssm.comparison.models import learners
from icl_core.papers.gdssm.comparison.read_run import NEAR, entries
from icl_core.papers.gdssm.comparison.run import run
from icl_core.papers.gdssm.comparison.settings import PRESETS, RATES, Config, View
from icl_core.papers.gdssm.comparison.train import EVALUATIONS
from icl_core.papers.gdssm.comparison.upgrade import upgrade


def headline(run: Run, view: View) -> str:
    """What you see: who reaches gradient descent."""
    models, loss = entries(run), run["evaluated/loss"].mean(0)
    one, zero = float(run["baseline/one"][0]), float(run["baseline/zero"][0])
    if not np.isfinite(loss).any():
        return "Every training diverged."
    near = [each.label for each in models if loss[each.place] <= NEAR * one]
    best = int(loss.argmin())
    said = (
        f"{', '.join(near)} come{'s' * (len(near) == 1)} within 5 % of it or beyond" if near else "no model reaches it"
    )
    return (
        f"One step of gradient descent has loss {written(one)}, predicting zero {written(zero)}. After "
        f"{run.config.steps:,} steps {said}; the lowest loss is {written(float(loss[best]))}, of {models[best].label}."
    )


def cost(config: Config) -> float:
    """Giga-operations, forward and back; a step of so small a model costs at least a twentieth of one."""
    positions = config.N if config.model == "1-D" else 2 * config.N + 1
    seen = 6 * config.batch * positions * (3 * config.parameters + positions * 40) / 1e9  # a seed of a model a step
    watching = EVALUATIONS * (config.seeds + 1) * 2**11 / config.batch / 3
    steps = config.tuning * (0.05 + len(RATES) * seen) + config.steps * (0.05 + config.seeds * seen) + watching * seen
    return len(learners(config)) * steps


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
        Drawing("ends", losses.ends, wide=True, moving=False),
        Drawing("training", losses.training, ("single_seeds",), live=True, wide=True, moving=False),
        Drawing("parameters", fairness.parameters, moving=False),
        Drawing("rates", fairness.rates, moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    upgrade=upgrade,
)
