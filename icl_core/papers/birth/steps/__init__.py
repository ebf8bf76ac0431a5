"""Training takes hundreds of steps. Three can be enough: the paper's Theorem 3, argued up to small
terms, takes one gradient step on W_O², then one on W_K², then one on W_K¹, each from zero. You take
them one by one and see what each memory has stored and where the model looks. It is the proof's own
setting: uniform characters, one trigger, a simplified model, and very large steps.

Take the steps in another order, change their sizes, or take the gradients exactly, as if there were
infinitely many sequences. In "The formulas" each lemma stands beside autograd.
"""

from dataclasses import replace

from icl_core.contract.experiment import MEAN_OF_SEEDS, Drawing, Experiment, Run
from icl_core.papers.birth.shared.draw import NAMES
from icl_core.papers.birth.shared.stage import TYPED
from icl_core.papers.birth.steps import claims
from icl_core.papers.birth.steps.diagram import steps_diagram
from icl_core.papers.birth.steps.draw import (
    batch_and_expectation,
    explanations,
    lemma,
    noise_filtering,
    side_results,
    stage,
    step_order,
)
from icl_core.papers.birth.steps.load_run import stage_text, way_of
from icl_core.papers.birth.steps.metrics import after, measure
from icl_core.papers.birth.steps.run import WIDTHS, compute
from icl_core.papers.birth.steps.settings import ORDERS, PRESETS, THEN, Config, View
from icl_core.papers.birth.steps.story import ALSO, FILTER, FORMULAS, ORDER, STORY


def headline(run: Run, view: View) -> str:
    """Return one sentence: what the last step has stored, and how many answers are right."""
    at = run.snapshot_at(view)
    way = way_of(run, view)
    right = float(after(run, "accuracy", at, way).mean())
    if at == 0:
        return (
            f"Before the first step all three matrices are zero, and {right:.0%} of the answers "
            "are right."
        )
    name = run.config.order.split(THEN)[at - 1]
    stored = float(after(run, f"recall_{name}", at, way).mean())
    return (
        f"Step {at}, on {NAMES[name]}, stores {stored:.0%} of its pairs; {right:.0%} of the "
        "answers are right."
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


def _proof(config: Config) -> bool:
    return config.setup == "proof"


STEPS = ("way",)
MODEL = ("way", "seed_shown")
SEQUENCE = (*MODEL, "sequence", "sample")

EXPERIMENT = Experiment(
    name="steps",
    title="A head in three steps",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
    drawings=(
        Drawing("recalls", stage.recalls, STEPS, seeds=MEAN_OF_SEEDS),
        Drawing("first", stage.first, SEQUENCE),
        Drawing("second", stage.second, SEQUENCE),
        Drawing("w_o2", stage.w_o2, MODEL, explanations=explanations.w_o2),
        Drawing("w_k2", stage.w_k2, MODEL, explanations=explanations.w_k2),
        Drawing("w_k1", stage.w_k1, MODEL, explanations=explanations.w_k1),
        Drawing("orders", step_order.orders, (), ORDER, moving=False, applies=_proof),
        Drawing("widths", step_order.widths, (), ORDER, moving=False, applies=_proof),
        Drawing(
            "spurious", side_results.spurious, (), ALSO, moving=False, wide=True, applies=_proof
        ),
        Drawing(
            "positions", side_results.positions, (), ALSO, moving=False, wide=True, applies=_proof
        ),
        Drawing(
            "formula", lemma.formula, ("lemma",), FORMULAS, moving=False, wide=True, applies=_proof
        ),
        Drawing(
            "beside",
            batch_and_expectation.beside,
            ("matrix",),
            FORMULAS,
            moving=False,
            wide=True,
            applies=_proof,
        ),
        Drawing(
            "example", noise_filtering.example, (), FILTER, moving=False, wide=True, applies=_proof
        ),
        Drawing("noise", noise_filtering.noise, (), FILTER, moving=False, applies=_proof),
        Drawing("accuracy", noise_filtering.accuracy, (), FILTER, moving=False, applies=_proof),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    milestones=lambda run: {
        NAMES[name]: float(index + 1) for index, name in enumerate(run.config.order.split(THEN))
    },
    story=STORY,
    diagram=steps_diagram,
    typed=replace(TYPED, example=stage_text),
)
