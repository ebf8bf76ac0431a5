"""A linear transformer learns one matrix A_l a layer, and nobody tells it the covariance Σ of the covariates. Yet every
A_l comes to be a multiple of Σ⁻¹: each layer takes a step of gradient descent preconditioned with the inverse
covariance. The distance of Σ^½ A_l Σ^½ from a multiple of the identity says how far it is.

The multiples are known as well. The best product of L steps is a polynomial whose roots r_l can be computed, and the
layers come to take the steps 1 / r_l, in any order. So here the trained matrices stand beside the constructed ones,
A_l = Σ⁻¹ / r_l.

Try:
- Play the step slider: which eigenvector's direction is learned last?
- "Figures 18 to 21": the paper's own training. How much longer does it take to get as close?
- Learn in whitened coordinates: what happens to the time it takes?
"""

from functools import partial

import numpy as np

from icl_core.experiment import Drawing, Experiment, Panel, Preset, Progress, Run
from icl_core.papers.memformers.convergence import claims
from icl_core.papers.memformers.convergence.metrics import metrics
from icl_core.papers.memformers.convergence.settings import Config, View, as_model, model_of
from icl_core.papers.memformers.shared import train as learning
from icl_core.papers.memformers.shared.baselines import construction
from icl_core.papers.memformers.shared.draw import preconditioner, training
from icl_core.training import phases


def run(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train one depth, all seeds together. `curve/*` [seeds, evaluations] beside `curve/step`; `snapshot/*` [snapshots,
    seeds, …] beside `snapshot/step`; `final/<L>/*`; `reference/floor_steps` [L, L]; `frozen/*`."""
    model = model_of(config)
    name = f"main {config.layers}"
    made = phases.run([learning.training_phase(name, model)], progress, partial(phases.curves, name))[name]
    final = {f"final/{config.layers}/{key}": array for key, array in phases.final(made).items()}
    kept = {key: array for key, array in made.items() if not key.startswith("final/")}
    return {**kept, **final, **learning.snapshot_steps(model), **construction(model), **learning.frozen(model)}


def headline(run: Run, view: View) -> str:
    """What you see: how close the layers are to Σ⁻¹ at the step shown."""
    step = run.snapshot_steps[run.snapshot_at(view)]
    listed = ", ".join(f"{value:.3f}" for value in preconditioner.distances_at(as_model(run), run.snapshot_at(view)))
    count = "the layer is" if run.config.layers == 1 else "the layers are"
    return f"After {step} of {run.config.steps} steps {count} {listed} from a multiple of Σ⁻¹; 0 is all of it."


def cost(config: Config) -> float:
    """Giga-operations: two products with S and three with A a layer, for every prompt of a batch."""
    return config.seeds * config.batch * config.steps * config.layers * 10 * config.d**2 / 1e9


def _drawn(draw):
    def panel(run: Run, view: View) -> Panel:
        return draw(as_model(run), view)

    return panel


EXPERIMENT = Experiment(
    name="convergence",
    title="Preconditioners find Σ⁻¹",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=run,
    claims=claims.ALL,
    metrics=metrics,
    drawings=(
        Drawing("distances", _drawn(training.distances), live=True),
        Drawing("loss", _drawn(training.training), live=True),
        Drawing("whitened", _drawn(preconditioner.whitened), wide=True),
        Drawing("preconditioner", _drawn(preconditioner.preconditioner), wide=True),
    ),
    presets=(
        Preset("sigma", "Three layers find Σ⁻¹", Config(), "Watch the last map turn into the identity.", seeds=5),
        Preset(
            "figures 18 to 21",
            "As in the paper: batches of 20,000",
            Config(batches="resampled", batch=20_000, rate=0.01, schedule="constant", objective="mean", clip=0.01),
            "A new batch every 100 steps, gradients clipped at 0.01.",
            "Figures",
            seeds=5,
        ),
        Preset(
            "whitened",
            "In whitened coordinates",
            Config(coordinates="whitened", steps=1000, rate=0.05),
            "No direction is harder than another: all are learned at one pace.",
            seeds=5,
        ),
        Preset(
            "harder spectrum",
            "Condition number 100",
            Config(spectrum="geometric", condition=100.0, steps=6000),
            "Directions of small variance are learned late, in some seeds not within this training.",
            seeds=5,
        ),
    ),
    headline=headline,
    cost=cost,
)
