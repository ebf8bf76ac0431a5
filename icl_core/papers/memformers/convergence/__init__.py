"""Each layer of a linear transformer learns one matrix Aₗ, which multiplies the gradient: its
preconditioner. Nobody tells it Σ, the covariance of the covariates x. Yet every Aₗ becomes a
multiple of the inverse, Σ⁻¹. How far it has come is the distance of √Σ Aₗ √Σ from a multiple of the
identity.

The multiples are known as well. The best L steps make a polynomial whose roots rₗ can be computed,
and the layers come to take the steps 1 / rₗ, in any order. So trained matrices stand here beside
constructed ones, Aₗ = Σ⁻¹ / rₗ.
"""

import math

from icl_core.contract.experiment import Batching, Drawing, Experiment, Run
from icl_core.papers.memformers.convergence import claims, draw
from icl_core.papers.memformers.convergence.draw import explanations, stage
from icl_core.papers.memformers.convergence.metrics import measure
from icl_core.papers.memformers.convergence.settings import PRESETS, Config, View
from icl_core.papers.memformers.convergence.story import STORY
from icl_core.papers.memformers.convergence.train import completed, compute, compute_together
from icl_core.papers.memformers.shared import batched_trainings
from icl_core.papers.memformers.shared.diagram import model_diagram
from icl_core.papers.memformers.shared.draw import two_forms
from icl_core.papers.memformers.shared.draw.preconditioner import distances_at
from icl_core.papers.memformers.shared.train import goes_on


def _at_most(share: float) -> str:
    """Return a share in percent, rounded up: all lie within it."""
    return f"{math.ceil(1000 * share) / 10:g}%"


def headline(run: Run, view: View) -> str:
    """Return what you see: how far the layers are from Σ⁻¹ at the step shown, the farthest of
    all seeds."""
    snapshot = run.snapshot_at(view)
    step = run.snapshot_steps[snapshot]
    away = float(distances_at(run, snapshot).max())
    off = f"{_at_most(away)} of a multiple of Σ⁻¹, the inverse covariance of the x"
    return (
        f"After {step} steps {'the matrix is' if run.config.layers == 1 else 'all matrices are'} "
        f"within {off}."
    )


def cost(config: Config) -> float:
    """Return giga-operations: two products with S and three with A a layer, for every prompt; a
    step's own, 0.0004 a layer."""
    return (
        config.steps * config.layers * (config.seeds * config.batch * 10 * config.d**2 + 4e5) / 1e9
    )


BESIDE = "Trained beside constructed"
PROMPT = "One prompt"
CURVES = "All curves"

EXPERIMENT = Experiment(
    name="convergence",
    title="Preconditioners find Σ⁻¹",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
    drawings=(
        Drawing("distances", stage.distances),
        Drawing("steps", stage.steps, ("seed_shown",), applies=stage.takes_steps),
        Drawing(
            "identities",
            stage.identities,
            ("seed_shown",),
            wide=True,
            explanations=explanations.identities,
        ),
        Drawing(
            "preconditioner", draw.preconditioner_panel, ("layer", "seed_shown"), BESIDE, wide=True
        ),
        Drawing("whitened", draw.whitened, ("layer", "seed_shown"), BESIDE, wide=True),
        Drawing(
            "forms",
            two_forms.forms,
            ("prompt", "reading", "layer", "seed_shown"),
            PROMPT,
            wide=True,
        ),
        Drawing("all distances", draw.distances, (), CURVES, live=True),
        Drawing("loss", draw.training_panel, (), CURVES, live=True),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    goes_on=goes_on,
    batching=Batching(batched_trainings.alike, batched_trainings.most, compute_together),
    story=STORY,
    preview=completed,
    diagram=lambda config: model_diagram(
        config,
        {
            "gradient": lambda layer: ("forms", {"layer": layer + 1}, None),
            "A": lambda layer: ("identities", {}, layer),
            "end": ("loss", {}, None),
        },
    ),
    picture=("identities",),
)
