"""There is no attention here. The coefficients Λ of a first-order method, which say how much of
each gradient a step uses, are learned directly from a number of prompts that stay the same for the
whole training. From few prompts the method learns these by heart: on them it beats conjugate
gradient by far, and on fresh ones it fails. From many prompts it learns the task.

What is lost by learning from only N prompts is the excess. Theorem 5.1 says that it vanishes as N
grows, for a loss that is bounded; it names no rate. The squared error on Gaussian prompts is not
bounded, and rare prompts rule its mean. So it is measured: the excess on fresh prompts against N,
of the mean and of the median, over what infinitely many prompts would give. With x and w* on
spheres the loss is bounded, and the theorem's own case is measured too.

A CGD-like Memformer can be put in the place of Λ: then the batch size of Figures 5 to 7 is an axis.
"""

from icl_core.contract.experiment import Drawing, Experiment, Run
from icl_core.papers.memformers.learned import claims, draw
from icl_core.papers.memformers.learned.metrics import measure
from icl_core.papers.memformers.learned.settings import PRESETS, Config, View, model_of, sizes_of
from icl_core.papers.memformers.learned.story import STORY
from icl_core.papers.memformers.learned.train import compute
from icl_core.papers.memformers.shared.captions import compared
from icl_core.papers.memformers.shared.load_run import log_from_least


def headline(run: Run, view: View) -> str:
    """Return what you see: the method from the fewest prompts beside conjugate gradient, on them
    and on fresh ones."""
    own_cg = float(log_from_least(run["baseline/cg_train"][:, 0, -1]).mean())
    own = float(log_from_least(run["evaluated/train"][:, 0, -1]).mean()) - own_cg
    fresh_cg = float(log_from_least(run["baseline/cg"][-1]))
    fresh = float(log_from_least(run["evaluated/loss"][:, 0, -1]).mean()) - fresh_cg
    count = int(run["size/prompts"][0])
    return (
        f"Learned from {count} prompt{'s' * (count > 1)}, the error is {compared(own)} CGD's "
        f"there, and {compared(fresh)} CGD's on fresh ones."
    )


def cost(config: Config) -> float:
    """Return giga-operations: two products with S and three with Λ a step, for every prompt of a
    batch, for every method."""
    per_step = config.layers * (config.layers + 1) / 2
    operations = 0.0
    for prompts in (*sizes_of(config), None):
        model = model_of(config, prompts)
        operations += model.steps * (config.seeds * 10 * config.d**2 * model.batch + 2e5)
    return per_step * operations / 1e9


EXPERIMENT = Experiment(
    name="learned",
    title="Learned from few prompts",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
    drawings=(
        Drawing("gap", draw.gap, moving=False),
        Drawing("own", draw.own, moving=False),
        Drawing("fresh", draw.fresh, moving=False),
        Drawing("against_cg", draw.against_cg, (), "Batch size", moving=False),
        Drawing("risk", draw.risk, ("steps_shown",), "Theorem 5.1", moving=False),
        Drawing("training", draw.training, (), "All curves", live=True, moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    story=STORY,
)
