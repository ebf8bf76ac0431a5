"""Every rule in a table; how fast it is best to forget; what it answers to changed prompts; the
trainings."""

from typing import Any

import numpy as np
import pandas as pd
import torch

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve, number_text
from icl_core.in_context_regression import rules
from icl_core.in_context_regression.rules import RULES, Rule
from icl_core.papers.gdssm.shared.load_run import percent
from icl_core.papers.gdssm.shared.task import Tasks, sample
from icl_core.papers.gdssm.shared.transformations import (
    TRANSFORMATIONS,
    departures,
    response_to_sizes,
)
from icl_core.papers.gdssm.states import expected
from icl_core.papers.gdssm.states.draw.style import SHORT, STYLES
from icl_core.papers.gdssm.states.load_run import (
    over_one_step,
    place,
    rules_of,
    trained_over_one_step,
    tuned_of,
    written_at,
)

FORGETTING = ("decayed", "gated", "squares")
SIGNS = {"rate": "b", "decay": "a", "ridge": "λ", "gain": "gain"}
TASKS = 256
SEED = 0
ROUNDING = 1e-4
SIZES = "each y times its own factor"


def table(run: Run, view: Any) -> Panel:
    """Tabulate every rule with its equation, its state, its settings and its losses."""
    exact = over_one_step(run)
    trained = trained_over_one_step(run).mean(1)
    f = run.config.f
    rows = [
        {
            "rule": rule.name,
            "in": rule.models,
            "update": rule.equation,
            "state": f"{' and '.join(rule.matrices)}, {rule.size(f, f)} numbers",
            "settings": _settings(run, rule),
            "set by": rule.tuning,
            "loss over one step": f"{exact[place(run, rule.id)]:.3f}",
            "trained": f"{trained[place(run, rule.id)]:.3f}",
        }
        for rule in rules_of(run)
    ]
    two = float(run["baseline/two"][0] / run["baseline/one"][0])
    fixed = run["imitation/fixed"]
    scaled = run["imitation/scaled"]
    return Panel(
        "One rule for all: the settings that lose least after the last pair",
        "Every rule is tuned for the loss at the query after N pairs. Its prediction may also have "
        "a factor, the gain, which is 1 without drift. Two steps of gradient descent, which need "
        f"∑ y xᵀ and ∑ x xᵀ, lose {two:.3f}. Longhorn is best where it corrects in full, and is "
        "then the delta rule with unit keys. DeltaNet divides its keys by their length and not its "
        "values; here both are, because y = W x grows with x. Least squares wants λ = 0 where "
        "nothing drifts, and is given 0.001. At any rate the delta rule stays "
        f"{percent(float(fixed.min()))} away from a step on all pairs; with a hundredth of its "
        f"rate and a factor on its output it is that step to {percent(float(scaled[-1]))}.",
        table=pd.DataFrame(rows),
        data=pd.DataFrame(rows),
    )


def _settings(run: Run, rule: Rule) -> str:
    """Return the best settings of a rule in words."""
    signs = SIGNS | ({"rate": "β"} if rule.id == "longhorn" else {})
    signs |= {"decay": "γ"} if rule.id == "squares" else {}
    settings = tuned_of(run, rule.id)
    return ", ".join(
        f"{signs[name]} = {number_text(value, 3)}"
        for name, value in settings.items()
        if name != "gain" or abs(value - 1) > 0.02
    )


def decays(run: Run, view: Any) -> Panel:
    """Draw the best decay of each rule that has one against the drift, with the trained one."""
    at = run["drift/at"]
    last = len(run["snapshot/step"]) - 1
    series = [
        Curve(SHORT[id], at, run["drift/decay"][place(run, id)], *STYLES[id]) for id in FORGETTING
    ]
    series.append(Curve("√(1 − ρ²)", at, np.sqrt(1 - at**2), "floor"))
    figure = figures.curves(series, "drift a pair, ρ", "best decay", y_range=(0.3, 1.15))
    own = {id: written_at(run, id, last)["decay"] for id in FORGETTING[:2]}
    for id, values in own.items():
        dots = figures.dots(
            np.stack([np.full(len(values), run.config.drift), values], 1), f"{SHORT[id]}, trained"
        )
        dots["marker"]["color"] = figures.colour(STYLES[id][0])
        figure.add_trace(dots)
    best = tuned_of(run, "decayed")["decay"]
    return Panel(
        f"At ρ = {run.config.drift:g} the sum's best decay is {number_text(best, 3)}; training "
        f"finds {number_text(float(own['decayed'].mean()), 3)}",
        "The decay a pair with which each rule loses least. Without drift it is 1: nothing is to "
        "be forgotten. The best decay of the gated delta rule is the share √(1 − ρ²) that W keeps "
        "of itself. A sum forgets faster, and least squares fastest, because what they "
        "hold of old pairs is not corrected by new ones. (Least squares is searched in steps of "
        "0.05.) Dots are trained rules, one a seed.",
        figure,
        data=pd.DataFrame({"drift": at} | {curve.name: curve.y for curve in series}).round(4),
    )


@torch.no_grad()
def symmetries(run: Run, view: Any) -> Panel:
    """Draw how far each rule, with its best settings, is from answering as it should when the
    prompt is changed."""
    f = run.config.f
    N = run.config.N
    generator = torch.Generator().manual_seed(2**31 + 23)
    tasks = sample(f, N, TASKS, generator).to(torch.float64)
    rows = [_changes(rule, tuned_of(run, rule.id), tasks) for rule in rules_of(run)]
    data = pd.DataFrame(rows)
    order = TRANSFORMATIONS[2].name
    kept = data.loc[data[order] == 0, "rule"].tolist()
    return Panel(
        f"{len(kept)} of {len(rows)} rules do not depend on the order of the pairs",
        "How far a prediction is from the one that should come out when the prompt is changed, as "
        "a share of it: 0 is exact. All rules follow the size and the rotation of y and the "
        "rotation of x, because they see x only through products xᵀx. Where x grows by √2 a sum "
        "answers twice as much, a departure of exactly 1, and at this scale it is no better than "
        "zero; unit keys do not depend on the scale at all. Sums and least squares do not depend "
        "on the order, if nothing decays; rules that correct do, because the newest pair has the "
        "last word. The last column is no departure: by how much the answer moves if every y has a "
        "factor of its own. A model that is blind to sizes has 0 there.",
        table=data.map(lambda cell: cell if isinstance(cell, str) else f"{cell:.2g}"),
        data=data,
    )


def _changes(rule: Rule, settings: expected.Tuned, tasks: Tasks) -> dict[str, str | float]:
    """Return a rule's row; a share that rounding makes is 0."""

    def predict(tasks: Tasks) -> torch.Tensor:
        state = rules.after(rule, tasks.x[:-1], tasks.y[:-1], settings)
        return settings["gain"] * rules.predict(rule, state, tasks.x[-1], settings)

    names_by_id = {transformation.id: transformation.name for transformation in TRANSFORMATIONS}
    shares = {names_by_id[id]: share for id, share in departures(predict, tasks).items()}
    shares[SIZES] = response_to_sizes(predict, tasks)
    return {"rule": rule.name} | {
        name: 0.0 if share < ROUNDING else share for name, share in shares.items()
    }


def training(run: Run, view: Any) -> Panel:
    """Draw the loss of every trained rule against the step; also of a run that is still going."""
    x = np.asarray(run.tensors.get("curve/step", [0]))
    curves = {id: run.tensors[f"curve/{id}"] for id in RULES if f"curve/{id}" in run.tensors}
    series = [Curve(SHORT[id], x, rows, *STYLES[id]) for id, rows in curves.items()]
    ends = {curve.name: float(curve.mean()[-1]) for curve in series}
    best = min(ends, key=lambda name: ends[name], default="")
    return Panel(
        f"{len(ends)} rules trained; the lowest is {best}, {number_text(ends[best])}"
        if ends
        else "No rule is trained yet",
        "The loss at the query on fresh tasks while each rule learns which part of the window is "
        "its key, its value and its query. Look for plateaus: a rule that has not found the three "
        "predicts zero.",
        figures.curves(
            series or [Curve("none yet", x, np.full(len(x), np.nan))],
            "training step",
            "loss at the query",
        ),
        data=pd.DataFrame({"step": x} | {curve.name: curve.mean() for curve in series}).round(5),
    )
