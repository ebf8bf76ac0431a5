"""The loss on tasks of another scale than those trained on (Figures 1 D and 2 D)."""

from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures import Curve, number_text
from icl_core.papers.gdssm.layer.draw.loss_levels import COUNTED
from icl_core.papers.gdssm.layer.metrics import off_closed_form, worse_than_zero
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import closed_forms, train
from icl_core.papers.gdssm.shared.load_run import constructed_of, percent, row_of, trained_at

POINTS = 60  # of the closed form's line
TASKS = (2**12, 2**19)  # at the scale that is looked at: at most, and numbers of x at most


def draw(run: Run, view: Any) -> Panel:
    """Draw the loss against the test scale: trained and constructed, with the closed form drawn
    through."""
    rows = {name: run[f"sweep/{name}"] for name in ("trained", "constructed", "closed", "zero")}
    table = {name: row.mean(0) if row.ndim > 1 else row for name, row in rows.items()}
    return Panel(
        _title(run),
        "The finished model on tasks whose x is α times as large as in training. Trained, "
        "constructed and the closed form should be one line. The rate was learned for α = 1 and "
        "stays, so for larger x the step is too long"
        + (", and from √2 on it is worse than predicting zero." if run.config.layers == 1 else ".")
        + " A model that measured the scale of its prompt would run parallel to the dashed line.",
        _lines(run, rows, view.alpha),
        data=pd.DataFrame({"alpha": run["sweep/alpha"]} | table).round(5),
        note=_looked_at(run, view),
    )


def _lines(run: Run, rows: dict[str, np.ndarray], at: float) -> Figure:
    """Draw the losses [seeds, scales] or [scales] of `rows`, and mark the scale that is asked
    for."""
    alpha = run["sweep/alpha"]
    beyond = [(2**0.5, "α = √2", "floor")] if run.config.layers == 1 else []
    series = [
        Curve("constructed", alpha, rows["constructed"], "construction"),
        Curve("trained", alpha, rows["trained"], markers=True),
        Curve("predicting zero", alpha, rows["zero"], "gradient descent"),
    ]
    if np.isfinite(rows["closed"]).all():
        dense = np.geomspace(alpha[0], alpha[-1], POINTS)
        exact = [train.expected(run.config, float(scale)) for scale in dense]
        series.append(Curve("closed form", dense, np.array(exact), "floor"))
    marks = [(1.0, "trained here", "trained"), *beyond]
    titles = "test scale α", "loss at the query"
    figure = figures.curves(series, *titles, log_x=True, log_y=True, marks=marks, at=at)
    return figure.update_xaxes(tickvals=[0.1, 0.3, 1, 3], ticktext=["0.1", "0.3", "1", "3"])


def at_scale(run: Run, view: Any) -> tuple[float, float, float, int]:
    """Return the losses at the scale that the view asks for, trained, constructed and of predicting
    zero, and on how many fresh tasks."""
    config = run.config
    row = row_of(run, view)
    alpha = view.alpha
    tasks = train.held_out(config, TASKS).times(alpha).to("cpu")
    ours, theirs = (
        float(models.losses(model, tasks)[0])
        for model in (trained_at(run, -1, row), constructed_of(run))
    )
    return ours, theirs, closed_forms.zero_loss(config.f, alpha * config.r), len(tasks)


def _looked_at(run: Run, view: Any) -> str:
    """Return the losses of `at_scale`, and the exact one, in a sentence."""
    (ours, theirs, zero, count) = at_scale(run, view)
    exact = train.expected(run.config, view.alpha)
    counted = COUNTED[run.config.layers]
    steps = "one step loses" if run.config.layers == 1 else f"{counted} steps lose"
    known = (
        f"In closed form, over all tasks, {steps} {number_text(exact)}; "
        if np.isfinite(exact)
        else "Over all tasks, "
    )
    return (
        f"At α = {view.alpha:g}, seed {row_of(run, view) + 1}, on the same {count:,} tasks: "
        f"trained {number_text(ours)}, constructed {number_text(theirs)}. {known}predicting zero "
        f"loses {number_text(zero)}."
    )


def _title(run: Run) -> str:
    """Say how far from the construction the losses are, and where they are worse than zero's."""
    cross = worse_than_zero(run)
    if np.isnan(cross):
        worse = "never worse than zero"
    elif cross <= run["sweep/alpha"][0]:
        worse = "worse than zero at every scale"
    else:
        worse = f"worse than zero beyond α = {number_text(cross, 2)}"
    if not np.isfinite(run["sweep/closed"]).all():
        return f"The trained model is {worse}"
    return (
        f"At every scale within {percent(off_closed_form(run))} of the construction, on the same "
        f"tasks; {worse}"
    )
