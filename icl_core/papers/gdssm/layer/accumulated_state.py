"""The state beside the exact sum: what the model has accumulated after every pair."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from icl_core import figures
from icl_core.contract.experiment import Run
from icl_core.figures import number_text
from icl_core.papers.gdssm.layer.grafted import model_shown
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import gradient_descent, layer_1d, layer_nd, multi_layer
from icl_core.papers.gdssm.shared.any_layer import Model
from icl_core.papers.gdssm.shared.layer_1d import Layer1D
from icl_core.papers.gdssm.shared.layer_nd import LayerND
from icl_core.papers.gdssm.shared.load_run import example
from icl_core.papers.gdssm.shared.task import Tasks

TYPICAL = -1  # the prompts that say how large a sum usually is; none of them can be looked at
PROMPTS = 16  # of those
# What the state is compared with, by whether it is the curvature: the sum, and its rows.
SUMS = {False: ("∑ y xᵀ", "entry of y"), True: ("∑ x xᵀ", "entry of x")}


@dataclass(frozen=True, eq=False)
class Held:
    """What a model has added up after every pair of a prompt, scaled onto the exact sum by one
    factor."""

    state: np.ndarray  # [N, rows, columns]
    exact: np.ndarray
    factor: float
    away: list[float]  # [N]: the difference, as a share of the sum's usual size after as many pairs
    shown: int  # pairs read
    total: str  # of SUMS
    axes: tuple[str, str]  # of rows and columns

    @property
    def off(self) -> float:
        """The difference after the pairs read."""
        return self.away[self.shown - 1]

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
    which = _which(run, view)
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
    total, rows = SUMS[which == "curvature"]
    return Held(
        ours * factor,
        exact,
        factor,
        away,
        pairs_read(run, view),
        total,
        _axes(run, rows),
    )


def pairs_read(run: Run, view: Any) -> int:
    """Return how many pairs the view shows as read."""
    return min(view.token, run.config.N)


def is_curvature(run: Run, view: Any) -> bool:
    """Return whether the view asks for the state that adds up x xᵀ."""
    return _which(run, view) == "curvature"


def _which(run: Run, view: Any) -> str:
    """Return which state the view asks for, by its name in settings; a single layer has but one."""
    return view.state if run.config.layers > 1 else "first"


def typical(run: Run, view: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the scaled state and the sum of many prompts after every pair, [N, prompts], of a
    model with one feature."""
    many = example(run.config, TYPICAL, PROMPTS)
    which = _which(run, view)
    ours = _states(model_shown(run, view), many, which)
    exact = _sums(many, which)
    return _factor(ours[-1], exact[-1]) * ours[:, 0, 0], exact[:, 0, 0]


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
    which = _which(run, view)
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
    if run.config.labels == 1 and rows == SUMS[False][1]:
        return "pairs read", "feature"
    return rows, "entry of x"
