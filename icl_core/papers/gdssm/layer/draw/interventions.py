"""What a visitor changes. A trained part replaced by its construction, its initial value or zero:
the loss and one prediction, at once. Points of their own: the line that the trained layer fits to
them in one pass, beside gradient descent and the best."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures import Curve
from icl_core.figures.style import PAPER
from icl_core.papers.gdssm.layer.grafted import (
    SIGNS,
    after,
    as_trained,
    held_out,
    model_shown,
    wanted,
)
from icl_core.papers.gdssm.layer.settings import PARTS
from icl_core.papers.gdssm.layer.words import WORDS
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import closed_forms
from icl_core.papers.gdssm.shared.load_run import constructed_of, row_of, trained_at
from icl_core.papers.gdssm.shared.task import Tasks
from icl_core.papers.gdssm.shared.typed_points import points

QUERIES = 41  # points of a line


def graft(run: Run, view: Any) -> Panel:
    """Draw the loss before and after the replacements that the view asks for, beside construction
    and zero."""
    shown = model_shown(run, as_trained(view)), model_shown(run, view), constructed_of(run)
    tasks = held_out(run)
    losses = [*after(run, view), float(models.losses(shown[2], tasks)[0])]
    labels = ["trained", "after the graft", "constructed"]
    first = tasks.part(0, 1)
    outputs = [float(models.predict(model, first)[0, 0, 0]) for model in shown]
    return WORDS.panel(
        "graft",
        run,
        view,
        _bars(labels, losses, closed_forms.zero_loss(run.config.f, run.config.r)),
        data=pd.DataFrame({"model": labels, "loss": losses, "prediction": outputs}).round(5),
        replacements=_in_short(wanted(run.config, view)),
        before=losses[0],
        after=losses[1],
        constructed=losses[2],
        label=float(first.y[-1, 0, 0]),
        output_before=outputs[0],
        output_after=outputs[1],
        output_constructed=outputs[2],
        tasks=len(tasks),
    )


def _bars(labels: list[str], losses: list[float], zero: float) -> Figure:
    """Draw a bar for every model, cut off at twice the loss of predicting zero."""
    figure = figures.bars(
        labels,
        [min(value, 2 * zero) for value in losses],
        "loss at the query",
        kinds=["trained", "#7a6fb0", "construction"],
        lines=[("predicting zero", zero, "floor")],
        y_range=(0, min(max(*losses, zero), 2 * zero) * 1.15),
        text="none",
    )
    for name, value in zip(figure.data[0]["x"], losses, strict=True):
        text = f"{value:.4g}" if np.isfinite(value) else "not finite"
        over = {
            "x": name,
            "y": min(value, 2 * zero),
            "yanchor": "bottom",
            "yshift": 2,
            "bgcolor": PAPER,
        }
        figure.add_annotation(text=text, showarrow=False, **over)
    return figure


def _in_short(replacements: Mapping[str, str]) -> str:
    """Return what is replaced by what, as a title has room for it."""
    names = {name: PARTS[how] for name, how in replacements.items()}
    if len(names) > 2 and len(set(names.values())) == 1:
        return f"{len(names)} parts → {next(iter(names.values()))}"
    return ", ".join(f"{SIGNS.get(name, name)} → {word}" for name, word in names.items())


def prompt(run: Run, view: Any, on_stage: bool = False) -> Panel:
    """Draw the prediction at every query x of the trained model, the construction and least
    squares."""
    pairs = np.array(points(view.points), dtype=np.float32)
    reach = max(1.0, float(np.abs(pairs[:, 0]).max())) * 1.1
    queries = np.linspace(-reach, reach, QUERIES, dtype=np.float32)
    tasks = _prompt(pairs, queries, run.config.f, run.config.labels)
    layers = trained_at(run, run.snapshot_at(view), row_of(run, view)), constructed_of(run)
    trained, constructed = (models.predict(layer, tasks)[0, 0].numpy() for layer in layers)
    best = float(pairs[:, 0] @ pairs[:, 1]) / (float(pairs[:, 0] @ pairs[:, 0]) or 1.0)
    series = [
        Curve("least squares", queries, best * queries, "floor"),
        Curve("constructed", queries, constructed, "construction"),
        Curve("trained", queries, trained, "trained", "dash"),
    ]
    figure = figures.curves(
        series, "x", "y", y_range=_limits(pairs, [curve.mean() for curve in series])
    )
    slopes = [float(queries @ line / (queries @ queries)) for line in (trained, constructed)]
    surplus = len(pairs) - run.config.N
    return WORDS.panel(
        "prompt",
        run,
        view,
        figure.add_trace(figures.dots(pairs, "your points")),
        data=pd.DataFrame(
            {"x": queries, "trained": trained, "constructed": constructed, "best": best * queries}
        ),
        on_stage=on_stage,
        trained=slopes[0],
        constructed=slopes[1],
        best=best,
        pairs=len(pairs),
        surplus=surplus,
        too_long=surplus > 0,
    )


def line(run: Run, view: Any) -> Panel:
    """Draw, for one feature, the line through your points, in a picture that does not move."""
    panel = prompt(run, view, on_stage=True)
    pairs = np.array(points(view.points))
    assert panel.figure is not None and panel.data is not None
    low, high = _limits(pairs, [panel.data[name].to_numpy() for name in ("constructed", "best")])
    panel.figure.update_yaxes(range=[low, high])
    for trace in panel.figure.data:  # one row of names
        trace.update(showlegend=trace["name"] in ("trained", "constructed"))
    return replace(panel, figure=figures.seated(panel.figure))


def _prompt(pairs: np.ndarray, queries: np.ndarray, f: int, labels: int) -> Tasks:
    """Return a task for every query, with the same points: x and y in the first coordinate, zeros
    in the others."""
    x = torch.zeros(len(pairs) + 1, f, len(queries))
    y = torch.zeros(len(pairs) + 1, labels, len(queries))
    x[:-1, 0] = torch.tensor(pairs[:, :1])
    y[:-1, 0] = torch.tensor(pairs[:, 1:])
    x[-1, 0] = torch.tensor(queries)
    return Tasks(x, y)


def _limits(pairs: np.ndarray, lines: list[np.ndarray]) -> tuple[float, float]:
    """Return limits of y that hold the points, and the lines as far as they are no more than three
    times as high."""
    most = max(float(np.abs(pairs[:, 1]).max()), 0.5)
    high = min(max(most, *(float(np.nanmax(np.abs(line))) for line in lines)), 3 * most) * 1.12
    return -high, high
