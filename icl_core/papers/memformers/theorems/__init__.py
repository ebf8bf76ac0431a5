"""What the paper's theorems say is computed here, and nothing is trained. The numbers of conjugate
gradient, heavy ball and Nesterov's method are put into a Memformer, and its tokens then hold the
guesses of these methods, to rounding.

Beside it stands what the theorems do not say. The numbers of one prompt are wrong for another, so
that no fixed numbers are conjugate gradient for all prompts. Which fixed numbers are best is
another question: at Aₗ = aₗ Σ⁻¹ the gradient of the expected loss vanishes. The misprints on the
way are listed, each with the number that shows it, and so are the places in which the text and the
authors' code differ.
"""

from icl_core.contract.experiment import Drawing, Experiment, Run
from icl_core.papers.memformers.theorems import claims
from icl_core.papers.memformers.theorems.draw import coefficients, stage, tables
from icl_core.papers.memformers.theorems.metrics import measure
from icl_core.papers.memformers.theorems.run import compute
from icl_core.papers.memformers.theorems.settings import PRESETS, Config, View
from icl_core.papers.memformers.theorems.story import STORY


def headline(run: Run, view: View) -> str:
    """Return what you see: with a prompt's own coefficients the layers are conjugate gradient, with
    another's they are not."""
    own, other = (f"{run[f'others/loss/{name}'][-1]:.2g}" for name in ("own", "other"))
    return (
        f"With a prompt's own α and γ the layers are conjugate gradient (error {own}), with "
        f"another prompt's not ({other})."
    )


def cost(config: Config) -> float:
    """Return giga-operations: attention of d queries a prompt for every method, and the gradient at
    four places."""
    attention = 12 * config.prompts * config.d * config.layers * (config.n + 1) ** 2 * config.d
    diagonal = attention * config.d / 12
    gradient = (
        2**config.pool
        * config.d**2
        * (16 * config.layers * config.d * (config.layers + 4) + 20 * config.n)
    )
    return (attention + diagonal + gradient + 2e9) / 1e9


PUT_IN = "What is put in"
OTHER = "Another prompt"
ERRATA = "The errata"
PARAMETERS = "Parameters"

EXPERIMENT = Experiment(
    name="theorems",
    title="Theorems on screen",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
    drawings=(
        Drawing("paths", stage.paths, ("prompt",), moving=False),
        Drawing("differences", stage.differences, moving=False),
        Drawing("gradient", stage.gradient, moving=False),
        Drawing("count", stage.count, ("batch",), moving=False),
        Drawing("table", coefficients.table, ("method", "prompt"), PUT_IN, wide=True, moving=False),
        Drawing("theorems", tables.theorems, (), PUT_IN, wide=True, moving=False),
        Drawing("losses", coefficients.losses, (), OTHER, moving=False),
        Drawing("distances", coefficients.distances, (), OTHER, moving=False),
        Drawing("errata", tables.errata, (), ERRATA, wide=True, moving=False),
        Drawing("code", tables.code, (), ERRATA, wide=True, moving=False),
        Drawing("counts", tables.counts, ("batch",), PARAMETERS, wide=True, moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    story=STORY,
    picture=("gradient",),
)
