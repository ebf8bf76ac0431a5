"""A linear transformer, which has no memory, and two Memformers, which have, share one floor: the
least error that they can reach. What, then, is memory worth? Training steps. Each model is trained
here at several learning rates, in the original coordinates and in whitened ones. You see how many
steps it takes until its log-loss on fresh prompts is within 0.1 of the floor, its error within 10%.

The register of the CGD-like Memformer brings two things: a step size α for each layer, and γ, which
is memory. A linear transformer with α alone remembers nothing. It stands between the two and tells
what each is worth.
"""

import numpy as np

from icl_core.contract.experiment import Drawing, Experiment, Run
from icl_core.papers.memformers.shared.train import goes_on
from icl_core.papers.memformers.speed import claims
from icl_core.papers.memformers.speed.crossings import WITHIN, Factors, arrivals, at_best, typical
from icl_core.papers.memformers.speed.draw import arrivals as steps
from icl_core.papers.memformers.speed.draw import curves, speedup
from icl_core.papers.memformers.speed.metrics import measure
from icl_core.papers.memformers.speed.models import CGD, LINEAR, MODELS, STEPPED
from icl_core.papers.memformers.speed.settings import (
    BOTH,
    PRESETS,
    Config,
    View,
    model_of,
    rates_of,
)
from icl_core.papers.memformers.speed.story import STORY
from icl_core.papers.memformers.speed.train import compute


def headline(run: Run, view: View) -> str:
    """Return what you see: how many times as fast the CGD-like Memformer arrives, and step sizes
    alone."""
    where = view.coordinates
    if not np.isfinite(float(typical(arrivals(run, CGD, where)).min())):
        return (
            f"In {where} coordinates the CGD-like Memformer never comes within {WITHIN} of the "
            "floor."
        )
    both, steps = (at_best(run, where, each) for each in (CGD, STEPPED))
    if both is None:
        return (
            f"In {where} coordinates the linear transformer never comes within {WITHIN} of the "
            "floor."
        )
    return (
        f"In {where} coordinates step sizes and memory make training {_shorter(both)} as fast, "
        f"step sizes alone {speedup.times(steps)}."
    )


def _shorter(factors: Factors) -> str:
    values = factors.values
    spread = f" ({values.min():.1f} to {values.max():.1f})" if len(values) > 1 else ""
    return f"{speedup.times(factors)}{spread}"


def cost(config: Config) -> float:
    """Return giga-operations: two products with S and three with A a layer, for every prompt; a
    step's own, 0.0004 a layer."""
    per_step = config.layers * (config.seeds * config.batch * 10 * config.d**2 + 4e5)
    return len(MODELS) * len(BOTH) * len(rates_of(config)) * config.steps * per_step / 1e9


EXPERIMENT = Experiment(
    name="speed",
    title="What memory is worth",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
    drawings=(
        Drawing("steps", steps.here, ("coordinates", "shown"), moving=False),
        Drawing("worth", speedup.worth, ("coordinates",), moving=False),
        Drawing("losses", curves.at_rate, ("coordinates", "rate", "shown"), moving=False),
        Drawing(
            "steps there", steps.there, ("coordinates", "shown"), "Other coordinates", moving=False
        ),
        Drawing(
            "every rate",
            curves.every_rate,
            ("coordinates", "model"),
            "Every rate",
            live=True,
            moving=False,
        ),
        Drawing("table", steps.table, (), "Seed by seed", moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    goes_on=lambda config: goes_on(model_of(config, LINEAR, "original", rates_of(config)[0])),
    story=STORY,
    picture=("steps",),
)
