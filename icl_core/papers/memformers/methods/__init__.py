"""Learned first-order methods: what linear attention with memory learns to compute."""

from collections.abc import Callable

from icl_core.contract.experiment import MEAN_OF_SEEDS, Drawing, Experiment
from icl_core.papers.memformers.methods import claims, decode, moving_covariates
from icl_core.papers.memformers.methods.claims import four_protocols
from icl_core.papers.memformers.methods.claims.atlas import ATLAS
from icl_core.papers.memformers.methods.draw import depth, rates, stage, tables
from icl_core.papers.memformers.methods.draw.moving_covariates import by_products, spectra_panel
from icl_core.papers.memformers.methods.settings import PRESETS, Config, View
from icl_core.papers.memformers.methods.train import completed, compute, count
from icl_core.papers.memformers.methods.words import WORDS, headline
from icl_core.papers.memformers.shared.diagram import Opens, model_diagram
from icl_core.papers.memformers.shared.draw import preconditioner, two_forms
from icl_core.papers.memformers.shared.train import goes_on
from icl_core.papers.memformers.shared.variants import VARIANTS


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
    if decode.applies(config):
        opens["memory"] = ("learned", {}, None)
    if tables.has_tokens(config):
        opens["memory"] = ("tokens", {}, None)
    return opens


def _has_room_for_loss(config: Config) -> bool:
    """Return whether the stage shows the loss of a model that may learn its prompts by heart; the
    panel of four protocols takes its seat."""
    return stage.keeps_its_batch(config) and not four_protocols.applies(config)


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
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing("by_depth", stage.by_depth, seeds=MEAN_OF_SEEDS),
        Drawing(
            "batch", stage.batch, moving=False, applies=stage.keeps_its_batch, seeds=MEAN_OF_SEEDS
        ),
        Drawing("path", stage.path, PLANE),
        Drawing(
            "learned",
            tables.learned,
            MODEL,
            applies=decode.applies,
            explanations=tables.explained,
        ),
        Drawing(
            "preconditioned", tables.preconditioned, MODEL, moving=False, applies=decode.applies
        ),
        Drawing("tokens", tables.tokens, MODEL, wide=True, applies=tables.has_tokens),
        Drawing(
            "protocols",
            stage.by_protocol,
            (),
            moving=False,
            applies=four_protocols.applies,
            seeds=MEAN_OF_SEEDS,
        ),
        Drawing("loss", stage.loss, applies=_has_room_for_loss, seeds=MEAN_OF_SEEDS),
        Drawing(
            "depth", depth.depth_panel, ("overlay", "average"), METHODS, wide=True, moving=False
        ),
        Drawing(
            "as_printed",
            depth.as_printed_panel,
            (),
            METHODS,
            moving=False,
            applies=depth.is_printed,
        ),
        Drawing("overfit", depth.overfit_panel, (), METHODS, moving=False),
        Drawing(
            "spread",
            depth.spread_panel,
            (),
            METHODS,
            moving=False,
            applies=lambda config: config.batches == "fixed",
        ),
        Drawing(
            "products",
            by_products,
            (),
            METHODS,
            moving=False,
            applies=moving_covariates.covariates_move,
        ),
        Drawing("rates", rates.panel, (), METHODS, moving=False),
        Drawing(
            "optimiser",
            tables.optimiser_panel,
            ("unit", *MODEL),
            BESIDE,
            wide=True,
            applies=decode.applies,
        ),
        Drawing("trajectory", stage.trajectory_panel, (*PLANE, "after"), PROMPTS, wide=True),
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
            spectra_panel,
            MODEL,
            BESIDE,
            applies=moving_covariates.has_spectra,
        ),
        Drawing("training", preconditioner.training_panel, ("single_seeds",), CURVES, live=True),
        Drawing(
            "distances",
            preconditioner.distances_panel,
            (),
            CURVES,
            live=True,
            wide=True,
            applies=KNOWS,
        ),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    goes_on=goes_on,
    preview=completed,
    diagram=lambda config: model_diagram(config, _opens(config)),
    atlas=ATLAS,
)
