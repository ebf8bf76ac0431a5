"""Loss and alignment over the training (Figures 1 A, B and 2 A, B); also of a run that is still
going."""

from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve, mean_of, number_text
from icl_core.papers.gdssm.layer.draw.loss_levels import ZERO, beaten, foot, levels, settle, words
from icl_core.papers.gdssm.shared import closed_forms, train
from icl_core.papers.gdssm.shared.load_run import compared, curve_of

NEAR = 0.02  # of the construction's loss: arrived
LEAST = 1e-6  # a distance below it is rounding


def loss(run: Run, view: Any) -> Panel:
    """Draw the loss on held-out tasks against the training step, beside the construction's on the
    same tasks and the levels of fewer or simpler steps."""
    config = run.config
    references = levels(run)
    x, trained = curve_of(run, "loss")
    zero = closed_forms.zero_loss(config.f, config.r)
    beside = float(run.tensors.get("watched/constructed", [np.nan])[0])
    series = [
        Curve(f"seed {i + 1}", x, row, "seed") for i, row in enumerate(trained) if view.single_seeds
    ]
    if np.isfinite(beside):
        series.append(Curve("constructed", x[[0, -1]], [beside, beside], "construction"))
    series.append(Curve("trained", x, trained))
    top = max(zero * 1.15, np.nanmax(mean_of(trained)[-1:], initial=0))
    lines = [*references, (ZERO, zero, "floor")]
    limits = foot(references, beside, zero, top), top
    figure = figures.curves(
        series,
        "training step",
        "loss at the query",
        y_range=limits,
        lines=lines,
        at=_at(run, view),
        height=figures.SEAT,
    )
    if len(references) > 1:
        settle(figure)
    return Panel(
        _loss_title(run, x, mean_of(trained), beside),
        f"The same {train.count(config, train.WATCHED):,} tasks at every step, none of which is "
        f"trained on. {words(run, beside)} A layer that learns nothing from its prompt stays at "
        "predicting zero." + (" The band is the spread over seeds." if len(trained) > 1 else ""),
        figure,
        data=pd.DataFrame({"step": x, "trained": mean_of(trained)}).round(5),
    )


def alignment(run: Run, view: Any) -> Panel:
    """Draw the distances between trained model and construction over training, all three falling on
    a log axis."""
    x, predictions = curve_of(run, "prediction_distance")
    cosine = curve_of(run, "sensitivity_cosine")[1]
    kinds = {
        "predictions, L2": ("trained", predictions),
        "sensitivities, L2": ("layer 2", curve_of(run, "sensitivity_distance")[1]),
    }
    if run.config.f > 1:  # the cosine of two numbers is a sign
        kinds["sensitivities, 1 − cosine"] = ("layer 4", 1 - cosine)
    series = [Curve(name, x, np.maximum(rows, LEAST), kind) for name, (kind, rows) in kinds.items()]
    figure = figures.curves(series, "training step", "distance", log_y=True, at=_at(run, view))
    return Panel(
        _alignment_title(run, float(mean_of(cosine if run.config.f > 1 else predictions)[-1])),
        "How far the predictions are from the construction's, and how far their derivatives by "
        "the query's x (the sensitivities) are, in length and in direction. "
        + (
            "The construction keeps a penalty that training undoes, so they stay apart."
            if run.config.penalty > 0 and run.config.layers > 1
            else "All should fall together. A model that solves the task in another way could "
            "reach the same loss, and would stay up here."
        ),
        figure,
        data=pd.DataFrame(
            {"step": x} | {name: mean_of(rows) for name, (_, rows) in kinds.items()}
        ).round(6),
    )


def _at(run: Run, view: Any) -> float | None:
    """Return the training step shown, None of a run without snapshots."""
    return run.step(view) if run.snapshot_steps else None


def _alignment_title(run: Run, last: float) -> str:
    """Say how far apart the models are, by the last cosine, or distance of predictions."""
    now = "so far" if not run.finished else "at the end"
    if run.config.f == 1:
        return f"Predictions are {number_text(last, 4)} from gradient descent's {now}"
    along = "point" if last >= 0.99 else "do not yet point"
    return f"Sensitivities {along} along gradient descent's: cosine {number_text(last, 4)} {now}"


def _loss_title(run: Run, x: np.ndarray, trained: np.ndarray, beside: float) -> str:
    """Say where the loss ends beside the construction's, and from which step on it is there."""
    if not run.finished:
        return f"Loss so far: {number_text(float(trained[-1]))}"
    away = trained[-1] / beside - 1
    ends = f"Trained ends {compared(float(away))} the construction"
    if run.config.penalty > 0 and run.config.layers > 1:
        return f"{ends}, which keeps the penalty"
    if run.config.tied and run.config.layers > 2:
        return f"{ends}, the best looped layer"
    if run.config.layers > 1:
        return ends + beaten(run, float(trained[-1] / beside))
    outside = np.flatnonzero(~(np.abs(trained / beside - 1) <= NEAR))
    arrived = x[outside[-1] + 1] if len(outside) and outside[-1] + 1 < len(x) else None
    return ends + (f", within 2% from step {arrived} on" if arrived is not None else "")
