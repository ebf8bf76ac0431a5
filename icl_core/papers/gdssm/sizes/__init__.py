"""One layer for every number of examples, and one for every number of dimensions, each trained from random weights. All
come to be one step of gradient descent: the closed form runs through all of them.

More examples help one step of gradient descent, as they average out its noise; more dimensions hurt it. The best loss
is (f σ²/2) (1 − N / (N − 2 + κ + f)), with κ = 1.8 for uniform x.

Try:
- Show the loss as a share of predicting zero: at how many examples is half of it left?
- Type "1, 2, 3" as the numbers of pairs: does the layer still find the step?
- Train for 50 steps only: which sizes are late?
"""

from functools import partial

import numpy as np

from icl_core.experiment import Drawing, Experiment, Progress, Run
from icl_core.papers.gdssm.shared import train as learning
from icl_core.papers.gdssm.shared.read_run import percent
from icl_core.papers.gdssm.sizes import draw as drawings
from icl_core.papers.gdssm.sizes.claims import EVERY_SIZE
from icl_core.papers.gdssm.sizes.metrics import metrics, worst
from icl_core.papers.gdssm.sizes.settings import PRESETS, Config, View, layer_of, sizes_of
from icl_core.training import phases


def run(config: Config, progress: Progress) -> dict[str, np.ndarray]:
    """Train every size. `size/f`, `size/N` [sizes]; `judged/loss`, `/ratio` and `/scaled` [seeds, sizes];
    `baseline/expected`, `/constructed` and `/zero` [sizes]; `curve/*` of the first size."""
    sizes = sizes_of(config)
    models = {f"f {f} N {N}": layer_of(config, f, N) for f, N in sizes}
    plan = [learning.training_phase(name, layer) for name, layer in models.items()]
    made = phases.run(plan, progress, partial(phases.curves, plan[0].name))
    columns = [made[name] for name in models]
    return {
        **phases.curves(plan[0].name, made),
        "size/f": np.array([f for f, _ in sizes]),
        "size/N": np.array([N for _, N in sizes]),
        **{f"judged/{n}": np.stack([each[f"judged/{n}"] for each in columns], 1) for n in ("loss", "ratio", "scaled")},
        **{
            f"baseline/{n}": np.concatenate([each[f"baseline/{n}"] for each in columns])
            for n in ("expected", "constructed", "zero")
        },
    }


def headline(run: Run, view: View) -> str:
    """What you see: how close every size is."""
    N, f = run["size/N"], run["size/f"]
    return (
        f"{len(N)} models of one layer, each trained for its own size, {N.min()} to {N.max()} examples and "
        f"{f.min()} to {f.max()} dimensions: every one is within {percent(worst(run))} of one step of gradient descent."
    )


def cost(config: Config) -> float:
    """Giga-operations, forward and back, in training and where it is judged."""
    numbers = sum(f * N for f, N in sizes_of(config))
    tasks = config.batch * config.steps + (30 * 2**11 + 2**15) / 3
    return 6 * tasks * numbers * (20 + 10 * config.seeds) / 1e9


EXPERIMENT = Experiment(
    name="sizes",
    title="More examples, more dimensions",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=run,
    claims=(EVERY_SIZE,),
    metrics=metrics,
    drawings=(
        Drawing("pairs", drawings.pairs, ("relative",), moving=False),
        Drawing("features", drawings.features, ("relative",), moving=False),
        Drawing("gaps", drawings.gaps, moving=False),
        Drawing("training", drawings.training, live=True, moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
)
