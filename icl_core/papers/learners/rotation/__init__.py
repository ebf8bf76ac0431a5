"""A trained linear transformer beats conjugate gradient for some layers. It has seen thousands of
prompts with one covariance Σ, and steps along Σ⁻¹; conjugate gradient knows nothing before it reads
a prompt. So here Σ is taken away: every prompt has eigenvectors of its own, with the same
eigenvalues. What is left of the lead?

The best fixed steps are computed, not trained: a linear transformer with memory comes to the best
polynomial in S, and no method with fixed coefficients can do better.
"""

from icl_core.contract.experiment import Drawing, Experiment, Run
from icl_core.figures import number_text
from icl_core.papers.learners.rotation import claims, draw
from icl_core.papers.learners.rotation.metrics import measure, share
from icl_core.papers.learners.rotation.run import CONDITIONS, compute
from icl_core.papers.learners.rotation.settings import PRESETS, Config, View
from icl_core.papers.learners.rotation.story import STORY

LAYER = ("layer",)


def headline(run: Run, view: View) -> str:
    """Return what you see: what the best fixed steps leave with Σ and without."""
    layer = min(view.layer, run.config.layers)
    fixed, rotated, conjugate = (
        number_text(share(run, name, layer), 3)
        for name in ("floor/fixed", "floor/rotated", "conjugate/rotated")
    )
    return (
        f"After {layer} layers the best fixed steps leave {fixed} where Σ is known, {rotated} "
        f"where it is rotated; CG {conjugate}."
    )


def cost(config: Config) -> float:
    """Return the giga-operations: for every Σ, case and number of layers the powers of every S."""
    powers = 2**config.prompts * config.d**3 * config.layers**2
    return 2 * (1 + len(CONDITIONS)) * 8 * powers / 1e9 + 0.5


EXPERIMENT = Experiment(
    name="rotation",
    title="Take Σ away",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
    drawings=(
        Drawing("fixed", draw.fixed, LAYER, moving=False),
        Drawing("rotated", draw.rotated, LAYER, moving=False),
        Drawing("lead", draw.lead, LAYER, moving=False),
        Drawing("kept", draw.kept, LAYER, moving=False),
        Drawing("conditions", draw.conditions, LAYER, "Other covariances", moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    story=STORY,
)
