"""The GD-SSM beside six other models of sequences, all on the same tokens: which of them learns to learn from a prompt?

All others have the same number of parameters, within 5 %, and many more than the GD-SSM. Each is trained at four rates
for a while and then at the best of them, on the same tasks. Where the tokens are x and y in turn, a model has to learn
to multiply two tokens and then a third. Where the products x y are given, one product is left to learn, and a gate or
an attention of one layer can make it.

The paper trains at f = N = 10 for up to 300,000 steps and names no sizes or rates of the others. Here Figures 4 C and
6 have that size and fewer steps, so that they can be trained again within an hour. With vector labels these may be too
few for other models to leave predicting zero, so Figure 6 is there on smaller tasks as well. When a transformer leaves
can hang on rounding alone: there the trial of a rate is the first seed's training once more, with other rows computed
beside it, and the two can end apart.

Try:
- "Figure 6 on smaller tasks": when do the transformers of two layers leave the plateau?
- Fewer parameters: who suffers first?
- Look at the rates tried: would another order come out at one rate for all?
"""

import numpy as np

from icl_core.experiment import Drawing, Experiment, Progress, Run
from icl_core.figures import written
from icl_core.papers.gdssm.comparison import claims, comparison_tasks
from icl_core.papers.gdssm.comparison import tune_rates as comparison_trials
from icl_core.papers.gdssm.comparison.draw import fairness as sizes
from icl_core.papers.gdssm.comparison.draw import losses as drawings
from icl_core.papers.gdssm.comparison.metrics import NEAR, metrics
from icl_core.papers.gdssm.comparison.models import learners
from icl_core.papers.gdssm.comparison.rates import RATES
from icl_core.papers.gdssm.comparison.settings import PRESETS, Config, View
from icl_core.papers.gdssm.comparison.train import EVALUATIONS
from icl_core.papers.gdssm.shared import construction
from icl_core.training import phases
from icl_core.training.several_seeds import padded


def run(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train every model; judge all on the same tasks.

    `curve/<model>` [seeds, evaluations] beside `curve/step`; over the models in order `judged/loss` [seeds, models],
    `tuned/loss` [models, rates] beside `tuned/rate` [rates], `chosen/rate`, `size/parameters`, `size/width`,
    `size/state`; `baseline/zero`, `/one` and `/two` (best steps of gradient descent on the judged tasks) [1].
    A model that diverged has infinite `judged/loss` and a curve that ends in NaN; none, and a NaN rate, where every
    rate did. Raises `Cancelled`.
    """
    made = phases.run(comparison_trials.plan(config), progress, _curves)
    models = learners(config)
    ends = [made[each.name] for each in models]
    judged = comparison_tasks.held_out(config, comparison_tasks.JUDGED)
    label = judged.y[-1]
    return {
        **_curves(made),
        "judged/loss": np.stack([end["judged"] for end in ends], 1),
        "tuned/rate": np.array(RATES),
        "tuned/loss": np.stack([end["tried"] for end in ends]),
        "chosen/rate": np.stack([end["rate"] for end in ends]),
        **{f"size/{n}": np.array([getattr(m.size, n) for m in models]) for n in ("parameters", "width", "state")},
        "baseline/zero": np.array([float(label.square().mean()) / 2]),
        "baseline/one": np.array([construction.best_mixture(judged, 1)[1]]),
        "baseline/two": np.array([construction.best_mixture(judged, 2)[1]]),
    }


def _curves(made: phases.Made) -> dict[str, np.ndarray]:
    """Of the models trained so far and of the one in training, which is not yet through all evaluations."""
    found = {name: part for name, part in made.items() if "step" in part}
    longest = max((part["step"] for part in found.values()), key=len, default=np.array([], np.int64))
    curves = {f"curve/{name}": padded(part[name], len(longest)) for name, part in found.items()}
    return {"curve/step": longest, **curves} if found else {}


def headline(run: Run, view: View) -> str:
    """What you see: who reaches gradient descent."""
    models, loss = learners(run.config), run["judged/loss"].mean(0)
    one, zero = float(run["baseline/one"][0]), float(run["baseline/zero"][0])
    if not np.isfinite(loss).any():
        return "Every training diverged."
    near = [m.name for m, each in zip(models, loss, strict=True) if each <= NEAR * one]
    best = int(loss.argmin())
    said = (
        f"{', '.join(near)} come{'s' * (len(near) == 1)} within 5 % of it or beyond" if near else "no model reaches it"
    )
    return (
        f"One step of gradient descent has loss {written(one)}, predicting zero {written(zero)}. After "
        f"{run.config.steps:,} steps {said}; the lowest loss is {written(float(loss[best]))}, of {models[best].name}."
    )


def cost(config: Config) -> float:
    """Giga-operations, forward and back; a step of so small a model costs at least a twentieth of one."""
    positions = config.N if config.model == "1-D" else 2 * config.N + 1
    seen = 6 * config.batch * positions * (3 * config.parameters + positions * 40) / 1e9  # a seed of a model a step
    judged = EVALUATIONS * (config.seeds + 1) * 2**11 / config.batch / 3
    steps = config.tuning * (0.05 + len(RATES) * seen) + config.steps * (0.05 + config.seeds * seen) + judged * seen
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
        Drawing("ends", drawings.ends, wide=True, moving=False),
        Drawing("training", drawings.training, ("single_seeds",), live=True, wide=True, moving=False),
        Drawing("parameters", sizes.parameters, moving=False),
        Drawing("rates", sizes.rates, moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
)
