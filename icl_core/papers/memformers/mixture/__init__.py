"""Prompts whose tokens come from a mixture of three Gaussians, and three heads that each know one of them. In one
dimension a prompt is a single number S, the mean of its x², and what a model of L layers leaves of w* is a polynomial
of degree L in S: you see all of it in one picture.

No prompt of the mixture looks like one of a component: its tokens come from all three. Heads that are off by a factor
fail by orders of magnitude; once gates have found that factor, a linear transformer and a Memformer are equally good,
and learning Γ as well adds little. The paper reports otherwise: what its Memformer lost is not in the power of Γ, for
both leave polynomials of one degree. A head whose own S is spread like the mixture's may even beat all that is learned
at test time: the loss is in rare prompts, of which a thousand hold too few.

Try:
- "Far apart": one component rules S. Which head do the gates use?
- Learn the gates from ten prompts: who overfits first, gates or Γ?
- One layer: why are all methods equal?
"""

import numpy as np

from icl_core.experiment import Drawing, Experiment, Run
from icl_core.papers.memformers.mixture import claims
from icl_core.papers.memformers.mixture.draw import losses, polynomials, stage
from icl_core.papers.memformers.mixture.metrics import metrics
from icl_core.papers.memformers.mixture.settings import PRESETS, Config, View, mixture_of
from icl_core.papers.memformers.mixture.train import run
from icl_core.papers.memformers.shared.draw.losses import written
from icl_core.papers.memformers.shared.upgrade import upgrade


def headline(run: Run, view: View) -> str:
    """What you see: the log-loss of the three methods of the figures, and the floor."""
    names = ("linear", "Memformer", "Memformer with Γ learned too")
    ends = [written(float(np.log(run[f"evaluated/{each}"][:, -1]).mean())) for each in losses.FIGURES]
    said = [f"{name} {end}" for name, end in zip(names, ends, strict=True)]
    return (
        f"With gates: {', '.join(said)}; the floor is {written(float(np.log(run['baseline/floor'][-1])))} (log-loss)."
    )


def cost(config: Config) -> float:
    """Giga-operations: so few numbers cost less than the steps' own overhead, counted as 0.0004 a layer."""
    rows = (len(mixture_of(config).means) + 1) * config.seeds
    trained = 2 * config.steps * (config.layers * (config.layers + 1) // 2) * (rows * config.batch * 30 / 1e9 + 0.0004)
    return trained + 5 * config.gate_steps * config.layers * (config.seeds * config.gate_prompts * 200 / 1e9 + 0.001)


METHODS, PROMPTS, CURVES = "Every method", "Gates and prompts", "All curves"

EXPERIMENT = Experiment(
    name="mixture",
    title="A mixture of Gaussians",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=run,
    claims=claims.ALL,
    metrics=metrics,
    drawings=(
        Drawing("comparison", stage.comparison),
        Drawing("shapes", stage.shapes, ("seed_shown",)),
        Drawing("shares", stage.shares, ("depth_shown", "seed_shown")),
        Drawing("depth", losses.depth, (), METHODS, wide=True),
        Drawing("methods", losses.methods, ("depth_shown",), METHODS, wide=True),
        Drawing("gates", losses.gates, ("depth_shown", "seed_shown"), PROMPTS),
        Drawing("polynomials", polynomials.polynomials, ("seed_shown",), PROMPTS),
        Drawing("spread", polynomials.spread, (), PROMPTS),
        Drawing("test time", losses.test_time, (), CURVES),
        Drawing("training", losses.training, (), CURVES, live=True),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    upgrade=upgrade,
)
