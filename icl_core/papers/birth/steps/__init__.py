"""Three gradient steps that build a head, after the proof of Theorem 3."""

from dataclasses import replace
from types import SimpleNamespace

from icl_core.contract.diagram import Diagram
from icl_core.contract.experiment import MEAN_OF_SEEDS, Drawing, Experiment
from icl_core.papers.birth.shared.diagram import model_diagram
from icl_core.papers.birth.shared.draw import NAMES, TYPED
from icl_core.papers.birth.steps import claims
from icl_core.papers.birth.steps.draw import proof, stage
from icl_core.papers.birth.steps.load_run import stage_text
from icl_core.papers.birth.steps.run import WIDTHS, compute
from icl_core.papers.birth.steps.settings import ORDERS, PRESETS, THEN, Config, View
from icl_core.papers.birth.steps.words import WORDS

SIMPLER = (
    " The proof makes it simpler: layer 2 finds its keys in layer 1's copies alone, its queries "
    "and values in the characters alone, and layer 1 looks by position alone. Only what W_O² "
    "writes reaches the output."
)


def cost(config: Config) -> float:
    """Return the work in giga-operations: a gradient a step, of every order and width, the
    expectations of pairs, and the evaluations."""
    if config.setup == "whole":
        return (
            config.seeds
            * config.batch
            * config.T
            * (11 * config.d**2 + 4.5 * config.d * config.T)
            / 1e9
        )
    orders = 3 * len(ORDERS)
    widths = 3 * len(WIDTHS)
    # gathers are slow, so each counts as many operations
    gathers = (orders + widths) * config.batch * (960 * config.T + 144 * config.N)
    products = 4 * (orders * config.d**3 + widths * sum(d**3 for d in WIDTHS) / len(WIDTHS))
    return config.seeds * (gathers + products + 60 * config.T**3 * config.N**2) / 1e9


def steps_diagram(config: Config) -> Diagram:
    """Return the diagram of a config's model; neither setting has a feed-forward layer."""
    whole = model_diagram(SimpleNamespace(feed_forward=False), "trained", ("w_o2", {}), "recalls")
    return whole if config.setup == "whole" else replace(whole, say=whole.say + SIMPLER)


def _proof(config: Config) -> bool:
    return config.setup == "proof"


# the drawers
ORDER = "Order and width"
ALSO = "What else is stored"
FORMULAS = "The formulas"
FILTER = "Filtering noise"

STEPS = ("way",)
MODEL = ("way", "seed_shown")
SEQUENCE = (*MODEL, "sequence", "sample")

EXPERIMENT = Experiment(
    name="steps",
    words=WORDS,
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=claims.measure,
    drawings=(
        Drawing("recalls", stage.recalls, STEPS, seeds=MEAN_OF_SEEDS),
        Drawing("w_o2", stage.w_o2, MODEL, explanations=stage.explained_w_o2),
        Drawing("w_k2", stage.w_k2, MODEL, explanations=stage.explained_w_k2),
        Drawing("w_k1", stage.w_k1, MODEL, explanations=stage.explained_w_k1),
        Drawing("first", stage.first, SEQUENCE),
        Drawing("second", stage.second, SEQUENCE),
        Drawing("orders", proof.orders, (), ORDER, moving=False, applies=_proof),
        Drawing("widths", proof.widths, (), ORDER, moving=False, applies=_proof),
        Drawing("spurious", proof.spurious, (), ALSO, moving=False, wide=True, applies=_proof),
        Drawing("positions", proof.positions, (), ALSO, moving=False, wide=True, applies=_proof),
        Drawing(
            "formula", proof.formula, ("lemma",), FORMULAS, moving=False, wide=True, applies=_proof
        ),
        Drawing(
            "beside",
            proof.beside,
            ("matrix",),
            FORMULAS,
            moving=False,
            wide=True,
            applies=_proof,
        ),
        Drawing("example", proof.example, (), FILTER, moving=False, wide=True, applies=_proof),
        Drawing("noise", proof.noise, (), FILTER, moving=False, applies=_proof),
        Drawing("accuracy", proof.accuracy, (), FILTER, moving=False, applies=_proof),
    ),
    presets=PRESETS,
    cost=cost,
    milestones=lambda run: {
        NAMES[name]: float(index + 1) for index, name in enumerate(run.config.order.split(THEN))
    },
    diagram=steps_diagram,
    typed=replace(TYPED, example=stage_text),
)
