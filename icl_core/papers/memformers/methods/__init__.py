"""A layer of linear attention can take one step of gradient descent on the examples in its prompt.
A Memformer also keeps what earlier layers found, in a register, and may use it again. So it can
learn momentum, or any other method that adds up past gradients. The numbers that it learns are the
same for every prompt.

One model is trained for each depth. Beside it you see the classical methods and the floor: the
least error that steps can reach whose lengths and one matrix are the same for all prompts. The
trained model can be decoded: the method that it has learned is a triangle of numbers.
"""

from collections.abc import Callable

from icl_core.contract.experiment import MEAN_OF_SEEDS, Drawing, Experiment, Run
from icl_core.papers.memformers.methods import (
    claims,
    covariate_spectra,
    further_claims,
    label_noise,
    printed_curves,
    protocols,
)
from icl_core.papers.memformers.methods.atlas import ATLAS, CLAIMS
from icl_core.papers.memformers.methods.draw import (
    as_printed,
    depth,
    explanations,
    operations,
    optimiser,
    overfit,
    rates,
    stage,
    token_weights,
    trajectory,
)
from icl_core.papers.memformers.methods.draw import covariate_spectra as covariate_panel
from icl_core.papers.memformers.methods.draw.protocols import protocols_panel
from icl_core.papers.memformers.methods.metrics import measure
from icl_core.papers.memformers.methods.settings import PRESETS, Config, View
from icl_core.papers.memformers.methods.story import STORY
from icl_core.papers.memformers.methods.train import completed, compute, count
from icl_core.papers.memformers.shared.captions import above, compared
from icl_core.papers.memformers.shared.diagram import Opens, model_diagram
from icl_core.papers.memformers.shared.draw import preconditioner, training, two_forms
from icl_core.papers.memformers.shared.draw.losses import floor_of
from icl_core.papers.memformers.shared.load_run import end
from icl_core.papers.memformers.shared.train import goes_on
from icl_core.papers.memformers.shared.variants import VARIANTS


def headline(run: Run, view: View) -> str:
    """Return what you see: the deepest model's error at the step shown, beside conjugate gradient's
    and, once training has begun, its floor."""
    config = run.config
    step = run.step(view)
    now = stage.now(run, view)
    over_cg, over_pcg, over_floor = (
        now - end(run, f"baseline/{name}") for name in ("cg", "pcg", floor_of(config)[0])
    )
    start = f"Step {step:,}: error" if step else "Before training the error is"
    if config.n < config.d:
        return (
            f"{start} {above(over_floor)} the floor. The prompt is underdetermined: {config.n} "
            f"examples for {config.d} unknowns."
        )
    if not step:  # what can be reached is asked before it is shown
        return f"{start} {compared(over_cg)} that of conjugate gradient (CGD)."
    informed = f"{above(over_pcg)} CGD given Σ⁻¹"
    if VARIANTS[config.variant].moves_covariates:
        return f"{start} {compared(over_cg)} CGD's, and {informed}."
    return f"{start} {compared(over_cg)} CGD's, {informed}, {above(over_floor)} the floor."


def cost(config: Config) -> float:
    """Return the giga-operations of training and evaluating a model of every depth, each with the
    models beside it."""
    variant = VARIANTS[config.variant]
    per_coordinate = 10 * config.d if variant.has_one_w else 12 * config.n
    if variant.moves_covariates:
        per_coordinate = 30 * config.d**2
    per_prompt = config.d * per_coordinate  # of one layer
    layers = config.layers * (config.layers + 1) / 2  # of all depths
    training = config.steps * layers * (config.seeds * config.batch * per_prompt + 2e5)
    evaluation = 2**16 * 20 * config.d**3 * layers
    return (count(config) * (training + evaluation) + 4e9) / 1e9


def _opens(config: Config) -> dict[str, Opens | Callable[[int], Opens]]:
    """Return what shows the parts of the model that its diagram has, by part."""
    opens = {
        "gradient": lambda layer: ("forms", {"layer": layer + 1}, None),
        "end": ("by_depth", {}, None),
    }
    if KNOWS(config):
        opens["A"] = lambda layer: ("preconditioner", {"layer": layer + 1}, 0)
    if optimiser.applies(config):
        opens["memory"] = ("learned", {}, None)
    if token_weights.applies(config):
        opens["memory"] = ("tokens", {}, None)
    return opens


def _has_room_for_loss(config: Config) -> bool:
    """Return whether the stage shows the loss of a model that may learn its prompts by heart; the
    panel of four protocols takes its seat."""
    return stage.keeps_its_batch(config) and not protocols.applies(config)


MODEL = ("depth", "seed_shown")  # what panels on one model depend on
PROMPT = (*MODEL, "prompt")
PLANE = (*PROMPT, "first_axis", "second_axis")
KNOWS = preconditioner.applies
# drawers
METHODS = "Every method"
PROMPTS = "One prompt"
BESIDE = "Trained beside constructed"
CURVES = "All curves"

EXPERIMENT = Experiment(
    name="methods",
    title="Learned first-order methods",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=(
        *claims.ALL,
        *further_claims.ALL,
        *printed_curves.CLAIMS,
        *protocols.CLAIMS,
        *label_noise.CLAIMS,
        *CLAIMS,
    ),
    metrics=measure,
    drawings=(
        Drawing("by_depth", stage.depth, seeds=MEAN_OF_SEEDS),
        Drawing(
            "batch", stage.batch, moving=False, applies=stage.keeps_its_batch, seeds=MEAN_OF_SEEDS
        ),
        Drawing("path", stage.path, PLANE),
        Drawing(
            "learned",
            stage.learned,
            MODEL,
            applies=optimiser.applies,
            explanations=explanations.learned,
        ),
        Drawing(
            "preconditioned", stage.preconditioned, MODEL, moving=False, applies=optimiser.applies
        ),
        Drawing("tokens", token_weights.panel, MODEL, wide=True, applies=token_weights.applies),
        Drawing(
            "protocols",
            protocols_panel,
            (),
            moving=False,
            applies=protocols.applies,
            seeds=MEAN_OF_SEEDS,
        ),
        Drawing("loss", stage.loss, applies=_has_room_for_loss, seeds=MEAN_OF_SEEDS),
        Drawing(
            "depth", depth.depth_panel, ("overlay", "average"), METHODS, wide=True, moving=False
        ),
        Drawing(
            "as_printed",
            as_printed.as_printed_panel,
            (),
            METHODS,
            moving=False,
            applies=as_printed.applies,
        ),
        Drawing("overfit", overfit.overfit_panel, (), METHODS, moving=False),
        Drawing(
            "products",
            operations.by_products,
            (),
            METHODS,
            moving=False,
            applies=operations.applies,
        ),
        Drawing("rates", rates.panel, (), METHODS, moving=False),
        Drawing(
            "optimiser",
            optimiser.optimiser_panel,
            ("unit", *MODEL),
            BESIDE,
            wide=True,
            applies=optimiser.applies,
        ),
        Drawing("trajectory", trajectory.trajectory_panel, (*PLANE, "after"), PROMPTS, wide=True),
        Drawing("forms", two_forms.forms, (*PROMPT, "reading", "layer"), PROMPTS, wide=True),
        Drawing(
            "whitened", preconditioner.whitened, ("layer", *MODEL), BESIDE, wide=True, applies=KNOWS
        ),
        Drawing(
            "preconditioner",
            preconditioner.preconditioner_panel,
            ("layer", *MODEL),
            BESIDE,
            wide=True,
            applies=KNOWS,
        ),
        Drawing(
            "covariates",
            covariate_panel.panel,
            MODEL,
            BESIDE,
            applies=covariate_spectra.applies,
        ),
        Drawing("training", training.training_panel, ("single_seeds",), CURVES, live=True),
        Drawing("distances", training.distances, (), CURVES, live=True, wide=True, applies=KNOWS),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    goes_on=goes_on,
    story=STORY,
    preview=completed,
    diagram=lambda config: model_diagram(config, _opens(config)),
    atlas=ATLAS,
)
