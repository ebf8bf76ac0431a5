"""The state as a gradient: what the model has accumulated after every token, beside the
exact sum."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import number_text
from icl_core.papers.gdssm.layer.ablation import kind_of
from icl_core.papers.gdssm.layer.grafted import as_trained, model_shown
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import gradient_descent, layer_1d, layer_nd, multi_layer
from icl_core.papers.gdssm.shared.any_layer import Model
from icl_core.papers.gdssm.shared.layer_1d import Layer1D
from icl_core.papers.gdssm.shared.layer_nd import LayerND
from icl_core.papers.gdssm.shared.load_run import example, percent, row_of
from icl_core.papers.gdssm.shared.task import Tasks

TYPICAL = -1  # the prompts that say how large a sum usually is; none of them can be looked at
PROMPTS = 16  # of those
# of the prompt that the stage's task shows
EXAMPLE = (
    " In the example of the task the sum is 0.4 · 0.2 + (−1)(−0.5) = 0.58; times η/N, times "
    "0.3, it is what the step predicts."
)
GRADIENT = "minus N times the gradient at zero, by automatic differentiation"
# What the state is compared with, by whether it is the curvature: the sum, its name, its rows, and
# how it is made.
SUMS = {
    False: ("∑ y xᵀ", "gradient", "entry of y", f"the sum of y xᵀ, {GRADIENT}"),
    True: (
        "∑ x xᵀ",
        "curvature",
        "entry of x",
        "the sum of x xᵀ, the curvature, added up directly",
    ),
}


@dataclass(frozen=True, eq=False)
class Held:
    """What a model has added up after every pair of a prompt, scaled onto the exact sum by one
    factor."""

    state: np.ndarray  # [N, rows, columns]
    exact: np.ndarray
    factor: float
    away: list[float]  # [N]: the difference, as a share of the sum's usual size after as many pairs
    shown: int  # pairs read
    names: tuple[str, str, str, str]  # of SUMS
    axes: tuple[str, str]  # of rows and columns

    @property
    def maps(self) -> dict[str, np.ndarray]:
        """What is drawn of it after the pairs shown, by title."""
        states = {
            f"state × {number_text(self.factor, 3)}": self.state,
            "exact": self.exact,
            "difference": self.state - self.exact,
        }
        return {name: _seen(array, self.shown) for name, array in states.items()}

    @property
    def limit(self) -> float:
        """Of the maps' colours: the same however the model is trained."""
        return figures.largest_magnitude(self.exact)


def held(run: Run, view: Any, exactly: bool = False) -> Held:
    """Return what the model holds at the view's snapshot, seed, prompt and pairs read. `exactly`:
    the gradient by automatic differentiation, and not as the sum that it is, which takes a tenth of
    the time."""
    tasks = example(run.config, view.example)
    which = view.state if run.config.layers > 1 else "first"
    trained = model_shown(run, view)
    many = example(run.config, TYPICAL, PROMPTS)
    sums = _exact if exactly else _sums
    ours = _states(trained, tasks, which)[..., 0]  # [N, rows, columns]
    exact = sums(tasks, which)[..., 0]
    typical = _sums(many, which)  # [N, rows, columns, prompts]
    factor = _factor(_states(trained, many, which)[-1], typical[-1])
    sizes = np.sqrt((typical**2).sum((1, 2)).mean(-1))  # [N]
    misses = np.sqrt(((ours * factor - exact) ** 2).sum((1, 2)))
    away = (misses / np.where(sizes > 0, sizes, 1.0)).tolist()
    names = SUMS[which == "curvature"]
    return Held(
        ours * factor,
        exact,
        factor,
        away,
        min(view.token, run.config.N),
        names,
        _axes(run, names[2]),
    )


def typical(run: Run, view: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the scaled state and the sum of many prompts after every pair, [N, prompts], of a
    model with one feature."""
    many = example(run.config, TYPICAL, PROMPTS)
    which = view.state if run.config.layers > 1 else "first"
    ours = _states(model_shown(run, view), many, which)
    exact = _sums(many, which)
    return _factor(ours[-1], exact[-1]) * ours[:, 0, 0], exact[:, 0, 0]


def draw(run: Run, view: Any) -> Panel:
    """Draw the state after t pairs, scaled by one factor for all t, the exact sum, and their
    difference."""
    state = held(run, as_trained(view), exactly=True)
    snapshot = run.snapshot_at(view)
    total, word, _, origin = state.names
    row_title, column_title = state.axes
    t = state.shown
    figure = figures.maps(
        tuple(state.maps),
        list(state.maps.values()),
        None,
        None,
        total,
        columns=3,
        limit=state.limit,
        row_title=row_title,
        column_title=column_title,
    )
    return Panel(
        f"After {t} of {run.config.N} pairs the state is {percent(state.away[t - 1])} off the "
        f"{word}",
        _caption(run, origin) + EXAMPLE * (state.names is SUMS[False]),
        figure,
        data=pd.DataFrame(
            {"pairs": range(1, len(state.away) + 1), "relative difference": state.away}
        ).round(6),
        note="The state's scale is arbitrary, as β makes up for it. So one factor, "
        f"{number_text(state.factor)}, is fitted to the last states of {PROMPTS} other prompts. "
        "Off: as a share of the sum's typical size after as many pairs. Step "
        f"{run.snapshot_steps[snapshot]}, seed {row_of(run, view) + 1}.",
    )


@torch.no_grad()
def _states(weights: Model, tasks: Tasks, which: str) -> np.ndarray:
    """Return the states of one seed after every pair, [N, rows, columns, tasks]."""
    return _of_tokens(weights, models.read(weights, tasks), which)


@torch.no_grad()
def contributed(run: Run, view: Any, pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what each of the first `pairs` examples has added to the state after them, before it
    is scaled, and to the exact sum: [pairs, rows, columns]. The state is linear in what is read:
    each example is read alone."""
    tasks = example(run.config, view.example)
    which = view.state if run.config.layers > 1 else "first"
    weights = model_shown(run, view)
    read = models.read(weights, tasks)[:pairs]
    # (pairs, ..., 1) -> (pairs, ..., pairs): every example as a prompt of its own
    alone = read * torch.eye(pairs).reshape(pairs, *[1] * (read.dim() - 2), pairs)
    exact = np.diff(_sums(tasks, which)[:pairs, ..., 0], axis=0, prepend=0)
    return np.moveaxis(_of_tokens(weights, alone, which)[-1], -1, 0), exact


def _of_tokens(weights: Model, read: torch.Tensor, which: str) -> np.ndarray:
    """Return the states after each of the tokens that were read, [N, rows, columns, tasks]."""
    if isinstance(weights, Layer1D):
        states = layer_1d.recurrent(weights, read)[1][:, 0]  # (N, f, tasks)
        # Theta^T z: in the basis of x, whatever basis z is in
        Theta = weights.Theta[0, :, states.shape[1] :]  # (f, f)
        return torch.einsum("nit,ij->njt", states, Theta)[:, None].numpy()
    if isinstance(weights, LayerND):
        return layer_nd.recurrent(weights, read)[1][:, 0, -weights.labels :].numpy()
    _, Z, Z_tilde, _ = multi_layer.recurrent(weights, read)
    states = {"first": Z[0], "last": Z[-1], "curvature": Z_tilde[-1]}[which]
    states = states[:, 0]  # (N, f, f, tasks), of the one seed
    if which != "curvature":
        states = states[:, -weights.labels :]  # (N, labels, f, tasks): those that are asked for
    return states.numpy()


def _exact(tasks: Tasks, which: str) -> np.ndarray:
    """Return the sum of y xᵀ over the first 1..N pairs as -N times the gradient at zero, by
    automatic differentiation; or of x xᵀ, added up. [N, rows, columns, tasks]"""
    if which == "curvature":
        return _sums(tasks, which)
    return gradient_descent.accumulated(tasks).numpy()


def _sums(tasks: Tasks, which: str) -> np.ndarray:
    """Return what `_exact` returns, added up in any case: quick for many tasks."""
    x = tasks.x[:-1]
    y = tasks.y[:-1]
    left = x if which == "curvature" else y
    return (left[:, :, None] * x[:, None]).cumsum(0).numpy()  # [N, rows, columns, tasks]


def _factor(ours: np.ndarray, exact: np.ndarray) -> float:
    """Return the factor that brings the last states nearest to the exact sums."""
    size = float((ours * ours).sum())
    return float((ours * exact).sum()) / size if size > 0 else 0.0


def _seen(states: np.ndarray, t: int) -> np.ndarray:
    """Return the state after t pairs; of a vector the states after 1..t as rows, of a number as
    columns, the others blank."""
    if states.shape[1] > 1:
        return states[t - 1]
    rows = states[:, 0].copy()
    rows[t:] = np.nan
    return rows.T if rows.shape[1] == 1 else rows


def _axes(run: Run, rows: str) -> tuple[str, str]:
    """Return the titles of the rows and of the columns."""
    if run.config.f == 1:
        return "", "pairs read"
    if run.config.labels == 1 and rows == SUMS[False][2]:
        return "pairs read", "feature"
    return rows, "entry of x"


def _caption(run: Run, origin: str) -> str:
    """Say what the maps show; `origin` is how the exact sum is computed."""
    turned = " The state is shown as Θ reads it, because its own basis is arbitrary." * (
        kind_of(run.config) == "scalar"
    )
    return (
        f"On the left, what the layer holds for one fresh prompt; in the middle, {origin}. Move "
        "the pairs read: the two should grow together, pair by pair, and the difference should "
        f"stay empty.{turned} Before training the state mixes all products of tokens, and the "
        "difference is as strong as the state."
    )
