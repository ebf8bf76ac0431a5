"""A state-space layer reads examples (x, y) one after the other and adds y xᵀ to its state. That sum is the gradient of
a linear model's loss at zero, so a layer that multiplies its state with the next x and the right number takes one step
of gradient descent on the examples it has read. Nobody tells it to: trained on regression tasks from random weights,
it becomes that step.

The construction is written down beside it, with the best rate in closed form. Loss, sensitivities, weights and the
state itself, token by token, show how close the two come; replace any part of the trained layer and see what breaks.

Try:
- Play the training, then move the pairs read: is the state a gradient from the first token on?
- "Figures 4 A and 5: two layers": why is the trained model better than two steps of one rate?
- "One feature: your own points": type points on a line of slope 2, then take half of them away.
"""

import numpy as np

from icl_core.experiment import Drawing, Experiment, Run
from icl_core.figures import written
from icl_core.papers.gdssm.layer import claims
from icl_core.papers.gdssm.layer.draw import grafts, prompt, scale, state, training, two_steps, weights
from icl_core.papers.gdssm.layer.metrics import metrics, worst_ratio
from icl_core.papers.gdssm.layer.run import SWEPT, run
from icl_core.papers.gdssm.layer.settings import PRESETS, View
from icl_core.papers.gdssm.layer.surgery import FIELDS, kind_of
from icl_core.papers.gdssm.shared.closed_forms import two_steps_free
from icl_core.papers.gdssm.shared.read_run import percent
from icl_core.papers.gdssm.shared.settings import Config
from icl_core.papers.gdssm.shared.train import EVALUATIONS
from icl_core.papers.gdssm.shared.upgrade import upgrade
from icl_core.training.loop import evaluations


def headline(run: Run, view: View) -> str:
    """What you see: the trained loss beside that of gradient descent, and of predicting zero."""
    config, zero = run.config, float(run["baseline/zero"][0])
    one = config.layers == 1
    kind = f"One {config.model} layer" if one else f"{config.layers} layers"
    if np.isfinite(run["evaluated/scaled"]).all():
        trained, best = float(run["evaluated/scaled"].mean()), float(run["baseline/expected"][0])
    else:
        trained, best = float(run["evaluated/loss"].mean()), float(run["baseline/floor"][0])
        if config.layers == 2:  # penalised: on the same footing as without a penalty
            exact = two_steps_free(config.f, config.N, config.r).loss
            trained, best = exact * trained / best, exact
    most = "one step" if one else f"{config.layers} steps"
    return (
        f"{kind}, trained for {config.steps} steps: loss {written(trained)}, where {most} of gradient descent at the "
        f"best rate{'' if one else 's'} reach{'es' if one else ''} {written(best)} and predicting zero costs "
        f"{written(zero)}. {_apart(run)}"
    )


def _apart(run: Run) -> str:
    """How far trained and constructed are from each other, at the worst seed."""
    away = worst_ratio(run)
    if run.config.penalty > 0 and run.config.layers > 1:
        side = "below" if away < 0 else "above"
        return f"That is {percent(abs(away))} {side} the construction, which keeps the penalty."
    which = f", at the worst of {run.config.seeds} seeds" if run.config.seeds > 1 else ""
    return f"Trained and constructed are {percent(abs(away))} apart{which}."


def cost(config: Config) -> float:
    """Giga-operations: what the windows cost a task, forward and back, in training and where it is evaluated."""
    entry = config.f if config.recurrence == "full" else 1
    read = (2 * config.layers - 1) * config.N * config.f * (20 + 8 * config.seeds * (1 + entry / 4))
    evaluated = len(evaluations(config.steps, EVALUATIONS)) * 2**11 + 2**15 + 14 * SWEPT[0]
    return 6 * (config.batch * config.steps + evaluated / 3) * read / 1e9


SEED = ("seed_shown",)
SURGERY = {"interventions": "one", "surgery": "scalar", "grafts": "several"}  # a panel for each model: parts differ

EXPERIMENT = Experiment(
    name="layer",
    title="One layer, one step of gradient descent",
    about=__doc__ or "",
    config=Config,
    view=View,
    run=run,
    claims=claims.ALL,
    metrics=metrics,
    drawings=(
        Drawing("training", training.loss, ("single_seeds",), live=True),
        Drawing("alignment", training.alignment, live=True),
        Drawing("state", state.draw, ("token", "example", "state", *SEED), wide=True),
        Drawing("weights", weights.draw, ("raw", *SEED), wide=True),
        Drawing("steps", two_steps.draw, SEED, applies=lambda config: config.layers == 2, wide=True),
        Drawing("scale", scale.draw, ("alpha", *SEED), moving=False),
        Drawing("recurrence", state.recurrence, SEED),
        *(
            Drawing(name, grafts.draw, (*FIELDS[kind].values(), *SEED), applies=lambda c, kind=kind: kind_of(c) == kind)
            for name, kind in SURGERY.items()
        ),
        Drawing("prompt", prompt.draw, ("points", *SEED)),
    ),
    presets=PRESETS,
    headline=headline,
    cost=cost,
    upgrade=upgrade,
)
