"""How many dimensions does a memory need? W_O², the first matrix to form, has 65 pairs to store.
Here you see what a single gradient step can recall, by width and by how much data it has seen: with
few dimensions random vectors overlap, and their overlaps are noise, which theory can compute
exactly. Beside it W_O² learns alone, at widths from 16 to 512, once at the same learning rate for
all and once at the best for each.

Change the width and the number of batches under “View”: the diagonal rises out of the noise.
"""

from icl_core.contract.experiment import FIRST_SEED, Drawing, Experiment, Run
from icl_core.papers.birth.dimension import claims
from icl_core.papers.birth.dimension.draw import single_step, training
from icl_core.papers.birth.dimension.metrics import measure
from icl_core.papers.birth.dimension.settings import FACTORS, PRESETS, Config, View, widths_of
from icl_core.papers.birth.dimension.story import NUMBERS, STORY, THEORY
from icl_core.papers.birth.dimension.train import compute


def headline(run: Run, view: View) -> str:
    """Return what you see: the one-step recall at the smallest and the largest width."""
    widths = run["task/widths"]
    recall = run["one_step/recall"].mean(0)[run["task/numbers"].tolist().index(16)]
    return (
        f"From d = {widths[0]} to {widths[-1]}, what one gradient step recalls rises from "
        f"{recall[0]:.0%} to {recall[-1]:.0%} of the pairs."
    )


def cost(config: Config) -> float:
    """Giga-operations: both layers once for each batch, then W_O2 at every learning rate where the
    loss counts."""
    total = 0.0
    for d in widths_of(config):
        layers = config.T * (6 * config.T * d + 10 * d**2)
        rates = len(FACTORS) * (
            0.3 * config.T * 4 * config.N * d + 8 * config.N * d**2 / config.batch
        )
        total += config.batch * config.steps * (layers + rates)
    return config.seeds * total / 1e9


MAP = ("width_shown", "batches_shown")

EXPERIMENT = Experiment(
    name="dimension",
    title="How many dimensions",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
    drawings=(
        Drawing("readings", single_step.readings, MAP, moving=False, seeds=FIRST_SEED),
        Drawing("one_step", single_step.heatmap, (), moving=False),
        Drawing("noise", single_step.noise, MAP, moving=False),
        Drawing("fixed", training.at_fixed, (), live=True, moving=False),
        Drawing("tuned", training.at_tuned, (), moving=False),
        Drawing("rates", training.rates, (), moving=False),
        Drawing("recalls", single_step.recalls, (), THEORY, wide=True, moving=False),
        Drawing("table", training.table, (), NUMBERS, moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    goes_on=lambda config: True,
    story=STORY,
    picture=("one_step",),
)
