"""One layer is trained for every number of examples, and one for every number of dimensions, each
from random weights. All of them become one step of gradient descent, and one closed form runs
through all of them.

More examples help a step of gradient descent, because what the other weights add to each label
averages out. More dimensions hurt it, as there are more other weights. The best loss is
(f σ²/2) (1 − N / (N − 2 + κ + f)), where σ² is the variance of x and κ = 1.8 for uniform x.
"""

from icl_core.contract.experiment import Drawing, Experiment, Run
from icl_core.papers.gdssm.shared.load_run import percent
from icl_core.papers.gdssm.sizes import claims, draw
from icl_core.papers.gdssm.sizes.metrics import measure, worst
from icl_core.papers.gdssm.sizes.settings import PRESETS, Config, View, sizes_of
from icl_core.papers.gdssm.sizes.story import STORY
from icl_core.papers.gdssm.sizes.train import compute


def headline(run: Run, view: View) -> str:
    """Return what you see: how close every size is."""
    count = len(run["size/N"])
    return (
        f"{count} one-layer models, each trained for another size, match one step of gradient "
        f"descent to {percent(worst(run))}."
    )


def cost(config: Config) -> float:
    """Return the giga-operations, forward and back, in training and where it is evaluated."""
    numbers = sum(f * N for f, N in sizes_of(config))
    tasks = config.batch * config.steps + (30 * 2**11 + 2**15) / 3
    return 6 * tasks * numbers * (20 + 10 * config.seeds) / 1e9


EXPERIMENT = Experiment(
    name="sizes",
    title="More examples, more dimensions",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
    drawings=(
        Drawing("pairs", draw.pairs, ("relative",), moving=False),
        Drawing("features", draw.features, ("relative",), moving=False),
        Drawing("gaps", draw.gaps, (), "All curves", moving=False),
        Drawing("training", draw.training, (), "All curves", live=True, moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    story=STORY,
)
