"""A trained layer, whose state becomes a gradient, beside its construction."""

from pathlib import Path

from icl_core.contract.experiment import MEAN_OF_SEEDS, Batching, Drawing, Experiment, Theory
from icl_core.contract.visitor import InTab, Replacements
from icl_core.papers.gdssm.layer import claims, exact, grafted, run
from icl_core.papers.gdssm.layer.atlas import ATLAS, CLAIMS
from icl_core.papers.gdssm.layer.diagram import layer_diagram
from icl_core.papers.gdssm.layer.draw import interventions, losses, reference_models, state, weights
from icl_core.papers.gdssm.layer.grafted import FIELDS, GRAFTS, kind_of
from icl_core.papers.gdssm.layer.run import SWEPT, completed, compute, compute_together
from icl_core.papers.gdssm.layer.settings import PRESETS, View, as_here
from icl_core.papers.gdssm.layer.words import WORDS, headline
from icl_core.papers.gdssm.shared import closed_forms
from icl_core.papers.gdssm.shared.settings import Config
from icl_core.papers.gdssm.shared.train import EVALUATIONS, has_segments
from icl_core.training.loop import evaluations


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
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=(*claims.ALL, *CLAIMS),
    metrics=claims.measure,
    drawings=(
        Drawing(
            "training",
            losses.loss_on_stage,
            ("single_seeds", *GRAFTS),
            live=True,
            seeds=MEAN_OF_SEEDS,
        ),
        Drawing("along", state.along, ("state", *SEED, *GRAFTS), wide=True, applies=_single),
        Drawing("line", interventions.line, ("points", *SEED), applies=_single),
        Drawing(
            "state", state.state, HELD, applies=_several_features, explanations=state.explain_state
        ),
        Drawing(
            "exact",
            state.exact,
            STATE,
            moving=False,
            applies=_several_features,
            explanations=state.explain_exact,
        ),
        Drawing(
            "weights",
            weights.weights,
            (*SEED, *GRAFTS),
            wide=True,
            explanations=weights.explain_weights,
        ),
        *(
            Drawing(
                name,
                interventions.graft,
                (*FIELDS[kind].values(), *SEED),
                GRAFT,
                applies=lambda config, kind=kind: kind_of(config) == kind,
            )
            for name, kind in SURGERY.items()
        ),
        Drawing("prompt", interventions.prompt, ("points", *SEED), POINTS),
        Drawing("tokens", state.tokens, STATE, BESIDE, wide=True),
        Drawing("parts", weights.draw, ("raw", *SEED), BESIDE, wide=True),
        Drawing("basis", weights.basis, SEED, BESIDE, wide=True, applies=_one_step_1d),
        Drawing("recurrence", state.recurrence, SEED, BESIDE),
        Drawing(
            "steps",
            reference_models.two_steps,
            SEED,
            BESIDE,
            applies=lambda config: config.layers == 2,
        ),
        Drawing("second", reference_models.tokens, (), BESIDE, moving=False, applies=_second_step),
        Drawing(
            "population",
            reference_models.population,
            (),
            BESIDE,
            moving=False,
            applies=exact.has_expected_loss,
        ),
        Drawing("alignment", losses.alignment, (), CURVES, live=True),
        Drawing(
            "arrival",
            losses.arrival,
            (),
            CURVES,
            moving=False,
            applies=lambda c: c.optimiser == "authors",
        ),
        Drawing("scale", losses.scale, ("alpha", *SEED), CURVES, moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    has_segments=has_segments,
    batching=Batching(run.alike, run.most_together, compute_together),
    preview=completed,
    theory=(Theory("share of the loss that the best step leaves", best_loss_share),),
    diagram=layer_diagram,
    atlas=ATLAS,
    picture=("state", "exact"),
    replaced=Replacements(GRAFTS, grafted.replaced),
    in_tab=InTab(
        Path(__file__).with_name("tab.js"),
        "GdssmLayer",
        PRESETS[0].config,
        {
            "f": (2, 3, 4, 5, 6, 8, 10, 12, 16, 20),
            "N": (2, 5, 10, 15, 20, 30, 40),
            "learning_rate": (0.002, 0.005, 0.01, 0.02, 0.05, 0.1),
            "batch": (16, 32, 64, 128, 256, 512),
        },
    ),
)
