"""How the losses of the comparison fell; also of a run still going."""

from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures import Curve, mean_of
from icl_core.papers.gdssm.comparison.draw import style
from icl_core.papers.gdssm.comparison.load_run import curves
from icl_core.papers.gdssm.shared.sequence_models import Model, model, train
from icl_core.papers.gdssm.shared.sequence_models import training_end as ends_of
from icl_core.papers.gdssm.shared.sequence_models.training_end import watched


def training(run: Run, view: Any) -> Panel:
    """Draw the loss of every model over its training; also of a run that is still going."""
    x = np.asarray(run.tensors.get("curve/step", [0]))
    losses = {model(id): y for id, y in curves(run).items()}
    means = {each.label: mean_of(rows) for each, rows in losses.items()}
    levels = watched(run)
    diverged = style.diverged(run) if run.finished else []
    divergences = [_when(x, losses, entry.model) for entry in diverged]
    partial_title = (
        f"{len(losses)} of {len(run.names('models'))} models so far"
        if losses
        else "No model so far"
    )
    return Panel(
        _late(x, means, levels[0]) if run.finished else partial_title,
        f"Means over the seeds, on {train.WATCHED[1]} held-out tasks{_elsewhere(run)}. Look for "
        "plateaus: a model that finds the products falls suddenly, and one that does not stays "
        "level. Slow learners may still be improving. Colours are those of the names in the panel "
        "beside." + style.diverged_sentence(divergences),
        _falling(x, losses, levels, view.single_seeds, not run.finished),
        data=pd.DataFrame({"step": x} | {label: mean.round(4) for label, mean in means.items()}),
    )


def _elsewhere(run: Run) -> str:
    """Say why the reference lines are not where the panel beside has them. Empty while the run is
    still going."""
    if not run.finished:
        return ""
    here, there = (f"{each[1]:.3f}" for each in (watched(run), ends_of.levels(run)))
    return (
        f" (one step loses {here} on these, and {there} on the {train.TEST_SET[1]:,} of the panel "
        "beside)"
    )


def _falling(
    x: np.ndarray,
    losses: dict[Model, np.ndarray],
    levels: train.Levels,
    single_seeds: bool,
    legend: bool,
) -> Figure:
    """Draw a curve a model, and one a seed behind it if asked for."""
    single = [
        Curve(f"{each.label}, seed {i + 1}", x, row, each.colour, "dot")
        for each, rows in losses.items()
        for i, row in enumerate(rows)
        if single_seeds
    ]
    series = [
        Curve(each.label, x, mean_of(rows), each.colour, each.dash) for each, rows in losses.items()
    ]
    lowest = min([levels[2], *(rows[np.isfinite(rows)].min() for rows in losses.values())])
    figure = figures.curves(
        [*single, *series] or [Curve("none yet", x, np.full(len(x), np.nan))],
        "training step",
        "loss at the query",
        y_range=(0.92 * lowest, 1.12 * levels[0]),
        lines=style.lines(*levels),
        height=460,
    )
    return figures.seated(figure.update_layout(showlegend=legend), figures.HALF)


def _when(x: np.ndarray, losses: dict[Model, np.ndarray], lost: Model) -> str:
    """Return the name of a model that diverged, with the last step at which a loss was finite."""
    if lost not in losses:
        return f"{lost.short} at every rate"
    return f"{lost.short} after step {int(x[np.isfinite(losses[lost]).any(0)][-1]):,}"


def _late(x: np.ndarray, means: dict[str, np.ndarray], zero: float) -> str:
    """Say who left the plateau when: the first evaluation at which a tenth of predicting zero is
    gained."""
    under = {name: x[mean < 0.9 * zero] for name, mean in means.items()}
    left = {name: int(steps[0]) for name, steps in under.items() if len(steps)}
    if not left:
        return "No model leaves predicting zero"
    first = min(left, key=left.__getitem__)
    never = len(means) - len(left)
    return f"First off zero is {first}, by step {left[first]:,}" + f"; {never} never" * (never > 0)
