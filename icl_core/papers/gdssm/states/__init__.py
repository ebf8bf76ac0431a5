"""A layer that reads examples one after the other keeps a state of f × f numbers. The GD-SSM's
state is a sum, ∑ y xᵀ. What else may it be?

A sum adds y xᵀ whatever it holds already. The delta rule adds only the error that it still makes,
(y − W x) xᵀ. DeltaNet, Longhorn and test-time training have such states. Least squares keeps ∑ x xᵀ
as well and solves for W. Each rule stands here with its equation, the settings that are best for
it, and what it loses on the paper's task, in closed form. Each is then trained: what the GD-SSM
adds, C Q Cᵀ, is replaced by the rule's own update, and some ten numbers have to find which part of
the window is the key, which the value and which the query.

Where the linear map drifts while it is read, old pairs are wrong. A decay below 1 is then best, and
this is why such models have gates.
"""

from icl_core.contract.experiment import MEAN_OF_SEEDS, Drawing, Experiment, Run
from icl_core.figures import number_text
from icl_core.in_context_regression.rules import RULES
from icl_core.papers.gdssm.states import claims
from icl_core.papers.gdssm.states.draw import drawers, stage
from icl_core.papers.gdssm.states.load_run import (
    over_one_step,
    place,
    rules_of,
    trained_at_step,
)
from icl_core.papers.gdssm.states.metrics import measure
from icl_core.papers.gdssm.states.settings import PRESETS, Config, View
from icl_core.papers.gdssm.states.story import STORY
from icl_core.papers.gdssm.states.train import TEST_SET, WATCHED, compute
from icl_core.training.loop import evaluations

NEAR = 1.05  # times the loss of a rule as written that counts as that rule


def headline(run: Run, view: View) -> str:
    """Return what you see: how many trained rules are there at the step shown, and what the delta
    rule loses."""
    exact = over_one_step(run)
    trained = trained_at_step(run, view).mean(1)
    there = sum(bool(a <= NEAR * b) for a, b in zip(trained, exact, strict=True))
    delta = number_text(float(trained[place(run, "delta")]), 2)
    return (
        f"Step {run.step(view):,}: {there} of {len(rules_of(run))} trained rules are as good as "
        f"written; the delta rule loses {delta} of one gradient step."
    )


def cost(config: Config) -> float:
    """Return the giga-operations, forward and back: per pair and seed some ten products of the
    state's size, for every rule; a step of so small a training costs at least a twentieth of
    one."""
    state = config.N * config.seeds * config.f**2 * 10 / 1e9
    evaluated = len(evaluations(config.steps, 5, 30)) * WATCHED + TEST_SET
    a_rule = config.steps * 0.03 + 6 * state * (config.steps * config.batch + evaluated / 3)
    return len(RULES) * a_rule + 2e-6 * config.f**2 * config.N * 2**9


EXPERIMENT = Experiment(
    name="states",
    title="What else may a state hold?",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=compute,
    claims=claims.ALL,
    metrics=measure,
    drawings=(
        Drawing("losses", stage.losses, seeds=MEAN_OF_SEEDS),
        Drawing("window", stage.window, ("rule", "seed_shown"), wide=True),
        Drawing("tokens", stage.tokens, (), "All curves", moving=False),
        Drawing("batches", stage.batches, ("pairs_a_batch",), moving=False),
        Drawing("drift", stage.drift, moving=False, wide=True),
        Drawing("table", drawers.table, (), "Every rule", moving=False, wide=True),
        Drawing("decays", drawers.decays, (), "Forgetting", moving=False),
        Drawing("symmetries", drawers.symmetries, (), "Symmetries", moving=False, wide=True),
        Drawing("training", drawers.training, (), "All curves", live=True, moving=False),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    story=STORY,
)
