"""Losses and distances to the construction: over the training (Figures 1 A, B and 2 A, B), also of
a run that is still going, and against the scale of the tasks (Figures 1 D and 2 D)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures import Curve, mean_of
from icl_core.papers.gdssm.layer.losses import (
    ARRIVED,
    PLAIN,
    SHARED,
    SINGLE,
    ZERO,
    Level,
    arrivals,
    at_scale,
    beaten,
    late_by,
    levels,
    spread,
    watched_loss,
)
from icl_core.papers.gdssm.layer.settings import as_here
from icl_core.papers.gdssm.layer.words import WORDS
from icl_core.papers.gdssm.shared import closed_forms, train
from icl_core.papers.gdssm.shared.load_run import compared, curve_of

REACHED = 0.02  # of the construction's loss: arrived
LEAST = 1e-6  # a distance below it is rounding
LOWEST = 1e-5  # a share above L* below it is rounding
POINTS = 60  # of the closed form's line
ON = 0.27  # the share of the height from which on a label stands on its line, and not under it


def loss_on_stage(run: Run, view: Any) -> Panel:
    """Draw the loss over training, with its distance from the construction at the step shown."""
    panel = loss(run, view)
    assert panel.figure is not None
    figure = figures.seated(panel.figure)
    if not run.finished:
        return replace(panel, figure=figure)
    title = WORDS.text("loss at the step shown", run, view)
    return replace(panel, title=title, figure=figure)


def loss(run: Run, view: Any) -> Panel:
    """Draw the loss on held-out tasks against the training step, beside the construction's on the
    same tasks and the levels of fewer or simpler steps."""
    references = levels(run)
    x, trained = curve_of(run, "loss")
    mean = mean_of(trained)
    zero = closed_forms.zero_loss(run.config.f, run.config.r)
    beside = watched_loss(run)
    series = [
        Curve(f"seed {i + 1}", x, row, "seed") for i, row in enumerate(trained) if view.single_seeds
    ]
    if np.isfinite(beside):
        series.append(Curve("constructed", x[[0, -1]], [beside, beside], "construction"))
    series.append(Curve("trained", x, trained))
    top = max(zero * 1.15, np.nanmax(mean[-1:], initial=0))
    figure = figures.curves(
        series,
        "training step",
        "loss at the query",
        y_range=(_foot(references, beside, zero, top), top),
        lines=[*references, (ZERO, zero, "floor")],
        at=_at(run, view),
        height=figures.SEAT,
    )
    if len(references) > 1:
        _settle(figure)
    return WORDS.panel(
        "training",
        run,
        view,
        figure,
        data=pd.DataFrame({"step": x, "trained": mean}).round(5),
        last=float(mean[-1]),
        ends=compared(float(mean[-1] / beside - 1)),
        arrived=_arrived(x, mean / beside - 1),
        beaten=" and below ".join(beaten(run, float(mean[-1] / beside))),
        curves=len(trained),
    )


def _arrived(x: np.ndarray, away: np.ndarray) -> int | None:
    """Return the first of the steps `x` from which on the share above the construction stays small,
    None if it does not."""
    outside = np.flatnonzero(~(np.abs(away) <= REACHED))
    return int(x[outside[-1] + 1]) if len(outside) and outside[-1] + 1 < len(x) else None


def _foot(lines: Sequence[Level], beside: float, zero: float, top: float) -> float:
    """Return the lower end of an axis up to `top` on which the floor's label stands under its line,
    for that is free, and the next one's on its own."""
    losses = (*(line.loss for line in lines), beside, zero)
    lowest = min(loss for loss in losses if np.isfinite(loss))
    low = lowest - 0.25 * (zero - lowest)
    if any(line.kind == "floor" for line in lines):
        on_lines = ((line.loss - ON * top) / (1 - ON) for line in lines if line.kind == PLAIN)
        low = min([low, *on_lines])
    return max(0.0, low)


def _settle(figure: Figure) -> None:
    """Move labels to where the falling curve is not, and to where none is above another."""
    for label in figure.layout["annotations"]:
        if label["text"] == SINGLE:
            label.update(x=0.42)
        elif label["text"] == ZERO or label["text"].endswith(SHARED):
            label.update(x=0.97, xanchor="right")


def _at(run: Run, view: Any) -> float | None:
    """Return the training step shown, None of a run without snapshots."""
    return run.step(view) if run.snapshot_steps else None


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
    means = {name: mean_of(rows) for name, (_, rows) in kinds.items()}
    last = float(mean_of(cosine if run.config.f > 1 else predictions)[-1])
    return WORDS.panel(
        "alignment",
        run,
        view,
        figure,
        data=pd.DataFrame({"step": x} | means).round(6),
        last=last,
        aligned=last >= 0.99,
    )


def arrival(run: Run, view: Any) -> Panel:
    """Draw the steps to within 1% of L*, trained as the authors do and as here, from equal
    weights."""
    own = as_here(run.config)
    level = watched_loss(run)
    theirs, ours = arrivals(run)
    rows = {"as here": ("beside", "layer 4"), "as the authors train": ("curve", "trained")}
    series = [
        Curve(
            name,
            run[f"{kind}/step"][1:],
            np.maximum(np.abs(run[f"{kind}/loss"][:, 1:] / level - 1), LOWEST),
            colour,
        )
        for name, (kind, colour) in rows.items()
    ]
    tables = [
        pd.DataFrame({"trained": x.name, "step": x.x, "off L*": mean_of(x.y).round(6)})
        for x in series
    ]
    titles = "training step", "off L*, as a share"
    lines = [("1%", ARRIVED, "floor")]
    ratios = theirs / np.maximum(ours, 1)
    comparable = bool(np.isfinite(ratios).any())
    return WORDS.panel(
        "arrival",
        run,
        view,
        figures.curves(series, *titles, log_x=True, log_y=True, lines=lines),
        data=pd.concat(tables),
        theirs=_steps_of_seeds(theirs),
        ours=_steps_of_seeds(ours),
        own_rate=own.learning_rate,
        own_batch=own.batch,
        comparable=comparable,
        times_steps=spread(ratios) if comparable else "",
        times_tasks=spread(run.config.batch / own.batch * ratios) if comparable else "",
        times_rate=own.learning_rate / run.config.learning_rate,
        late=late_by(run["curve/step"], theirs),
        own_late=late_by(run["beside/step"], ours),
    )


def _steps_of_seeds(steps: np.ndarray) -> str:
    """Return the steps of all seeds in words: "after 9,600 to 12,000 steps (1 of 5 seeds not at
    all)"."""
    missing = int((~np.isfinite(steps)).sum())
    shown = spread(steps) if missing < len(steps) else ""
    return WORDS.text("arrived", steps=shown, missing=missing, trainings=len(steps))


def scale(run: Run, view: Any) -> Panel:
    """Draw the loss against the test scale: trained and constructed, with the closed form drawn
    through."""
    rows = {name: run[f"sweep/{name}"] for name in ("trained", "constructed", "closed", "zero")}
    table = {name: row.mean(0) if row.ndim > 1 else row for name, row in rows.items()}
    trained, constructed, zero, count = at_scale(run, view)
    return WORDS.panel(
        "scale",
        run,
        view,
        _lines_of_scales(run, rows, view.alpha),
        data=pd.DataFrame({"alpha": run["sweep/alpha"]} | table).round(5),
        trained=trained,
        constructed=constructed,
        zero=zero,
        tasks=count,
    )


def _lines_of_scales(run: Run, rows: dict[str, np.ndarray], at: float) -> Figure:
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
