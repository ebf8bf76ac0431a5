"""No attention at all: the coefficients Λ of a first-order method are learned directly, from a number of prompts that
are kept for the whole training. From few prompts the method learns these prompts: on them it beats conjugate gradient
by far, and on fresh ones it fails. From many it learns the task.

Theorem 5.1 bounds how much is lost by learning from N prompts only. Here the loss on fresh prompts stands against N,
with what endlessly many prompts would give as the level it falls to.

Try:
- Compare the two panels: the same methods, on their own prompts and on fresh ones.
- Free Λ for every step: what does that change at 1000 prompts, and what at 10?
- Type "1, 3, 10, 30, 100, 300": how many prompts are enough?
"""

from dataclasses import replace
from functools import partial

import numpy as np

from icl_core.experiment import Drawing, Experiment, Preset, Progress, Run
from icl_core.papers.memformers.learned import claims
from icl_core.papers.memformers.learned import draw as drawings
from icl_core.papers.memformers.learned.metrics import metrics
from icl_core.papers.memformers.learned.settings import Config, View, model_of, sizes_of
from icl_core.papers.memformers.shared import train as learning
from icl_core.papers.memformers.shared.baselines import baselines
from icl_core.papers.memformers.shared.draw.losses import written
from icl_core.papers.memformers.shared.logarithms import log_from_least
from icl_core.training import phases


def run(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Learn from every number of prompts N and for every number of steps, all seeds together. `size/prompts` [N];
    `judged/loss`, `/train` [seeds, N, K] on fresh prompts and on its own; `endless/loss` [seeds, K]; `curve/*` of the
    fewest prompts; `baseline/*` [K], `baseline/cg_train` [seeds, N, K]."""
    depths, sizes = range(1, config.layers + 1), [*sizes_of(config), None]
    models = {f"{size or 'endless'} {L}": replace(model_of(config, size), layers=L) for size in sizes for L in depths}
    # the deepest first: its curves are the ones to watch
    order = sorted(models, key=lambda name: -models[name].layers)
    plan = [learning.training_phase(name, models[name]) for name in order]
    made = phases.run(plan, progress, partial(phases.curves, order[0]))
    on_own = [learning.on_own_batch(model_of(config, size))["baseline/cg_train"] for size in sizes if size]
    return {
        **phases.curves(order[0], made),
        **{
            f"judged/{key}": np.stack(
                [np.stack([made[f"{size} {L}"][f"judged/{key}"] for L in depths], 1) for size in sizes if size], 1
            )
            for key in ("loss", "error", "train")
        },
        "endless/loss": np.stack([made[f"endless {L}"]["judged/loss"] for L in depths], 1),
        "size/prompts": np.array(sizes[:-1]),
        **baselines(model_of(config, None)),
        "baseline/cg_train": np.stack(on_own, 1),
    }


def headline(run: Run, view: View) -> str:
    """What you see: the method from the fewest prompts, on them and on fresh ones."""
    own, fresh = (float(log_from_least(run[f"judged/{name}"][:, 0, -1]).mean()) for name in ("train", "loss"))
    count, steps = int(run["size/prompts"][0]), run.config.layers
    return (
        f"Learned from {count} prompt{'s' * (count > 1)}, {steps} step{'s' * (steps > 1)} end at a log-loss of "
        f"{written(own, 1)} there and {written(fresh, 1)} on fresh prompts; predicting zero gives "
        f"{written(np.log(run.config.d), 1)}."
    )


def cost(config: Config) -> float:
    """Giga-operations: two products with S and three with Λ a step, for every prompt of a batch, for every method."""
    steps = config.steps * config.layers * (config.layers + 1) / 2
    prompts = sum(sizes_of(config)) + 1000
    return config.seeds * steps * (10 * config.d**2 * prompts + 2e5 * (len(sizes_of(config)) + 1)) / 1e9


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
        Drawing("own", drawings.own, moving=False),
        Drawing("fresh", drawings.fresh, moving=False),
        Drawing("risk", drawings.risk, ("steps_shown",), moving=False),
        Drawing("training", drawings.training, live=True, moving=False),
    ),
    presets=(
        Preset(
            "figure 11",
            "From 10, 100 and 1000 prompts",
            Config(),
            "On its own ten prompts the method beats conjugate gradient; on fresh ones it fails.",
            "Figures",
            seeds=5,
        ),
        Preset(
            "free",
            "Λ free for every step",
            Config(memory="learned"),
            "More to learn: more prompts are needed, and more is gained.",
            seeds=5,
        ),
        Preset(
            "how many",
            "How many prompts are enough",
            Config(layers=2, sizes="3, 10, 30, 100, 300, 1000"),
            "Theorem 5.1's bound falls with the root of the number of prompts; what comes out falls faster.",
            seeds=5,
        ),
    ),
    headline=headline,
    cost=cost,
)
