"""The state as a gradient: what the model has accumulated after every token, beside the exact sum."""

from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from icl_core import figures
from icl_core.experiment import Panel, Run
from icl_core.papers.gdssm import descent, layer_1d, layer_nd, models, multi_layer
from icl_core.papers.gdssm.inspection import example, moment_of, percent, row_of, steps, trained_at, written
from icl_core.papers.gdssm.layer_1d import Layer1D
from icl_core.papers.gdssm.layer_nd import LayerND
from icl_core.papers.gdssm.models import Model
from icl_core.papers.gdssm.task import Tasks


def draw(run: Run, view: Any) -> Panel:
    """The state after t pairs, the exact sum scaled onto it by one factor for all t, and their difference."""
    moment, tasks = moment_of(run, view), example(run.config, view.example)
    which = view.state if run.config.layers > 1 else "first"
    ours = _states(trained_at(run, moment, row_of(run, view)), tasks, which)  # [N, rows, columns]
    exact = _exact(tasks, which)
    factor = _factor(ours[-1], exact[-1])
    t = min(view.token, run.config.N)
    scaled = ours * factor
    shown = [_seen(each, t) for each in (scaled, exact, scaled - exact)]
    figure = figures.maps(
        (f"state × {written(factor, 3)}", "exact", "difference"), shown, None, None, _sum(which), columns=3,
        limit=figures.largest(exact), row_title=_axes(run, which)[0], column_title=_axes(run, which)[1],
    )  # fmt: skip
    away = [_away(scaled, exact, n) for n in range(1, run.config.N + 1)]
    return Panel(
        f"After {t} of {run.config.N} pairs the state is {percent(away[t - 1])} off the {_word(which)}",
        _caption(run, which),
        figure,
        data=pd.DataFrame({"pairs": range(1, len(away) + 1), "relative difference": away}).round(6),
        note=f"One factor for all t, {written(factor)}, is fitted by least squares to the state after the last pair: "
        f"the state's own scale is free, β undoes it. Step {steps(run)[moment]}, seed {row_of(run, view) + 1}.",
    )


@torch.no_grad()
def _states(weights: Model, tasks: Tasks, which: str) -> np.ndarray:
    """[N, rows, columns] of one seed and task."""
    read = models.read(weights, tasks)
    if isinstance(weights, Layer1D):
        states = layer_1d.recurrent(weights, read)[1][:, 0, :, 0]  # (N, f)
        turned = states @ weights.Theta[0, :, tasks.f :]  # Theta^T z: in the basis of x, whatever basis z is in
        return turned[:, None].numpy()
    if isinstance(weights, LayerND):
        return layer_nd.recurrent(weights, read)[1][:, 0, :, :, 0].numpy()
    found = multi_layer.recurrent(weights, read)[1]
    every = {"first": found.Z[0], "last": found.Z[-1], "curvature": found.Z_tilde[-1]}
    return every[which][:, 0, :, :, 0].numpy()


def _exact(tasks: Tasks, which: str) -> np.ndarray:
    """The sum of y xᵀ over the first 1..N pairs, -N times the gradient at zero; or of x xᵀ. [N, rows, columns]"""
    if which != "curvature":
        return descent.accumulated(tasks)[..., 0].numpy()
    x: Tensor = tasks.x[:-1, :, 0]
    return (x[:, :, None] * x[:, None]).cumsum(0).numpy()


def _factor(ours: np.ndarray, exact: np.ndarray) -> float:
    """The factor that brings the last state nearest to the exact sum."""
    size = float((ours * ours).sum())
    return float((ours * exact).sum()) / size if size > 0 else 0.0


def _away(ours: np.ndarray, exact: np.ndarray, t: int) -> float:
    """The difference's size after t pairs as a share of the sum's; of a single number, over the first t pairs."""
    part = slice(0 if ours[0].size == 1 else t - 1, t)
    return float(np.linalg.norm(ours[part] - exact[part]) / (np.linalg.norm(exact[part]) or 1.0))


def _seen(states: np.ndarray, t: int) -> np.ndarray:
    """The state after t pairs; of a vector the states after 1..t as rows, of a number as columns, the others blank."""
    if states.shape[1] > 1:
        return states[t - 1]
    rows = states[:, 0].copy()
    rows[t:] = np.nan
    return rows.T if rows.shape[1] == 1 else rows


def _sum(which: str) -> str:
    return "Σ x xᵀ" if which == "curvature" else "Σ y xᵀ"


def _word(which: str) -> str:
    return "curvature" if which == "curvature" else "gradient"


def _axes(run: Run, which: str) -> tuple[str, str]:
    if run.config.f == 1:
        return "", "pairs read"
    if run.config.model == "1-D":
        return "pairs read", "feature"
    return "row of x" if which == "curvature" else "row of y", "column of x"


def _caption(run: Run, which: str) -> str:
    what = (
        "the sum of x xᵀ, the curvature, added up directly"
        if which == "curvature"
        else "the sum of y xᵀ, minus N times the gradient at zero, by automatic differentiation"
    )
    turned = " The state is read out through Θ, as its own basis is arbitrary." if run.config.model == "1-D" else ""
    return (
        f"Left, what the layer holds for one fresh prompt; in the middle {what}. "
        "Move the pairs read: the two should grow together, token by token, and the difference stay empty."
        f"{turned} Before training the state is a mixture of all products of tokens, and the difference is as strong "
        "as the state."
    )
