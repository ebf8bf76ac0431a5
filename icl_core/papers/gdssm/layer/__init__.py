"""A state-space layer is a recurrent layer whose state changes linearly: it keeps a share of the
state and adds something of the new token. This one reads examples (x, y) one after the other, and
adds y xᵀ, the table of all products of an entry of y with an entry of x. Up to its sign, that sum
is the gradient of a linear model's loss at zero. A layer that multiplies it with the next x, and
with the right number, has taken one step of gradient descent on the examples that it has read.

The product and the sum are built in. Which products, how long they are kept and how long the step
is, 23 numbers, the layer learns from the errors of its predictions, from random weights.

Beside it stands the construction: the weights that take the step, written down, with the best rate
in closed form. Compare the two by loss, by weights, and by the state after every pair. Replace any
part of the trained layer, and see what breaks.
"""

from icl_core.contract.experiment import MEAN_OF_SEEDS, Batching, Drawing, Experiment, Run, Theory
from icl_core.contract.visitor import Replacements
from icl_core.figures import number_text
from icl_core.papers.gdssm.layer import claims, grafted, population
from icl_core.papers.gdssm.layer.ablation import FIELDS, kind_of
from icl_core.papers.gdssm.layer.atlas import ATLAS, CLAIMS
from icl_core.papers.gdssm.layer.diagram import layer_diagram
from icl_core.papers.gdssm.layer.draw import (  # fmt: skip
    explanations,
    grafts,
    input_scale,
    normal_form,
    own_points,
    recurrence,
    reference_models,
    stage,
    state,
    training,
    two_steps,
    weights,
)
from icl_core.papers.gdssm.layer.draw.loss_levels import COUNTED
from icl_core.papers.gdssm.layer.grafted import GRAFTS
from icl_core.papers.gdssm.layer.metrics import measure
from icl_core.papers.gdssm.layer.run import SWEPT, completed, compute, compute_together
from icl_core.papers.gdssm.layer.settings import PRESETS, View, as_here
from icl_core.papers.gdssm.layer.story import STORY
from icl_core.papers.gdssm.shared import batched_rates, closed_forms
from icl_core.papers.gdssm.shared.load_run import COUNTS, percent
from icl_core.papers.gdssm.shared.settings import Config
from icl_core.papers.gdssm.shared.train import EVALUATIONS
from icl_core.training.loop import evaluations


def headline(run: Run, view: View) -> str:
    """Return what you see: how much of the gain of gradient descent over predicting zero the model
    has, at the step shown."""
    step = f"Step {run.step(view):,} of {run.config.steps:,}"
    if replacements := grafted.in_title(run, view):
        return f"{step}, with {replacements}{_left(run, view)}."
    away, zero = stage.above(run, view)
    reference = _steps(run.config)
    if abs(away) < COUNTS:
        return f"{step}: the loss is that of {reference}, to within {percent(COUNTS)}."
    if away < 0:
        return f"{step}: the loss is {percent(-away)} below that of {reference}."
    gain = 1 - away / zero
    who = "layer is" if run.config.layers == 1 else "layers are"
    if gain <= 0:
        return f"{step}: the {who} no better than predicting zero."
    return f"{step}: the {who} {gain:.1%} of the way from predicting zero to {reference}."


def _left(run: Run, view: View) -> str:
    """Return the loss after the view's replacements beside the trained model's, where it is
    known."""
    if not grafted.is_known(run, view):
        return ""
    after = number_text(grafted.loss(run, view))
    before = number_text(grafted.loss(run, grafted.as_trained(view)))
    return f": the loss is {after} (trained: {before})"


def _steps(config: Config) -> str:
    """Return in words the gradient descent that the layers are compared with."""
    if config.layers == 1:
        return "one step of gradient descent"
    return f"{COUNTED[config.layers]} " + (
        "penalised steps" if config.penalty > 0 else "steps of gradient descent"
    )


def cost(config: Config) -> float:
    """Return the giga-operations: what the windows cost a task, forward and back, in training and
    where it is evaluated."""
    entry = config.f if config.recurrence == "full" else 1
    read = (2 * config.layers - 1) * config.N * config.f * (20 + 8 * config.seeds * (1 + entry / 4))
    evaluated = len(evaluations(config.steps, *EVALUATIONS)) * 2**11 + 2**15 + 14 * SWEPT[0]
    beside = cost(as_here(config)) if config.optimiser == "authors" else 0.0
    return 6 * ((config.batch + WAITING) * config.steps + evaluated / 3) * read / 1e9 + beside


def _single(config: Config) -> bool:
    """Return whether state and gradient are numbers, and not maps."""
    return config.f == 1


def _several_features(config: Config) -> bool:
    """Return whether state and gradient are maps."""
    return not _single(config)


def _one_step_1d(config: Config) -> bool:
    """Return whether there is one layer on scalar labels, which has Ψ and Θ."""
    return kind_of(config) == "scalar"


def _second_step(config: Config) -> bool:
    """Return whether there are two steps on scalar labels."""
    return config.model == "1-D" and config.layers == 2


WAITING = 150  # tasks a step, or what it takes to begin one: small batches are mostly waiting
SEED = ("seed_shown",)
STATE = ("token", "example", "state", *SEED)
HELD = (*STATE, *GRAFTS)  # what the stage's maps of the state depend on
GRAFT = "Graft"
POINTS = "Your own points"
BESIDE = "Trained beside constructed"
CURVES = "All curves"
SURGERY = {
    "interventions": "one",
    "surgery": "scalar",
    "grafts": "several",
}  # a panel for each model: parts differ


def best_loss_share(config: Config) -> float:
    """Return the share of the loss of predicting zero that the best step of gradient descent
    leaves."""
    return closed_forms.best_loss(config.f, config.N, config.r) / closed_forms.zero_loss(
        config.f, config.r
    )


EXPERIMENT = Experiment(
    name="layer",
    title="One layer, one step of gradient descent",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=(*claims.ALL, *CLAIMS),
    metrics=measure,
    drawings=(
        Drawing(
            "state", stage.state, HELD, applies=_several_features, explanations=explanations.state
        ),
        Drawing(
            "exact",
            stage.exact,
            STATE,
            moving=False,
            applies=_several_features,
            explanations=explanations.exact,
        ),
        Drawing(
            "difference",
            stage.difference,
            HELD,
            applies=_several_features,
            explanations=explanations.difference,
        ),
        Drawing("along", stage.along, ("state", *SEED, *GRAFTS), wide=True, applies=_single),
        Drawing("line", stage.line, ("points", *SEED), applies=_single),
        Drawing(
            "weights",
            stage.weights,
            (*SEED, *GRAFTS),
            wide=True,
            explanations=explanations.weights,
        ),
        Drawing(
            "training",
            stage.loss,
            ("single_seeds", *GRAFTS),
            live=True,
            seeds=MEAN_OF_SEEDS,
        ),
        *(
            Drawing(
                name,
                grafts.draw,
                (*FIELDS[kind].values(), *SEED),
                GRAFT,
                applies=lambda config, kind=kind: kind_of(config) == kind,
            )
            for name, kind in SURGERY.items()
        ),
        Drawing("prompt", own_points.draw, ("points", *SEED), POINTS),
        Drawing("tokens", state.draw, STATE, BESIDE, wide=True),
        Drawing("parts", weights.draw, ("raw", *SEED), BESIDE, wide=True),
        Drawing("basis", normal_form.draw, SEED, BESIDE, wide=True, applies=_one_step_1d),
        Drawing("recurrence", recurrence.draw, SEED, BESIDE),
        Drawing("steps", two_steps.draw, SEED, BESIDE, applies=lambda config: config.layers == 2),
        Drawing("second", reference_models.tokens, (), BESIDE, moving=False, applies=_second_step),
        Drawing(
            "population",
            reference_models.population,
            (),
            BESIDE,
            moving=False,
            applies=population.applies,
        ),
        Drawing("alignment", training.alignment, (), CURVES, live=True),
        Drawing(
            "arrival",
            reference_models.training,
            (),
            CURVES,
            moving=False,
            applies=lambda c: c.optimiser == "authors",
        ),
        Drawing("scale", input_scale.draw, ("alpha", *SEED), CURVES, moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    batching=Batching(batched_rates.alike, batched_rates.most, compute_together),
    story=STORY,
    preview=completed,
    theory=(Theory("share of the loss that the best step leaves", best_loss_share),),
    diagram=layer_diagram,
    atlas=ATLAS,
    picture=("state", "exact"),
    replaced=Replacements(GRAFTS, grafted.replaced),
)
