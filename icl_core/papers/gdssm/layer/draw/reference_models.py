"""What a trained layer is set beside, apart from its construction: the best weights of all, what
the 1-D layer's tokens allow, and the best two steps, over the contours of their exact loss."""

from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Bowl, Curve
from icl_core.figures.style import INK, PAPER
from icl_core.papers.gdssm.layer.exact import population_distance
from icl_core.papers.gdssm.layer.symmetries import coefficients, mean_decay, quantities
from icl_core.papers.gdssm.layer.words import WORDS
from icl_core.papers.gdssm.shared import closed_forms
from icl_core.papers.gdssm.shared.closed_forms import TwoSteps
from icl_core.papers.gdssm.shared.load_run import folded, model_of, row_of

# of the contours, above the optimum, as shares of zero's loss
LEVELS = (0.003, 0.015, 0.05, 0.12, 0.25, 0.45, 0.7)
ENTRIES = ("x x", "y x", "y y", "x⁺ x", "x⁺ y", "x⁺ x⁺")  # of Q, folded


def population(run: Run, view: Any) -> Panel:
    """Draw, for one feature, the trained weights, the weights of least expected loss, and the
    constructed ones."""
    names, trained = _numbers(run, "final/")
    best = _numbers(run, "population/")[1][0]
    constructed = np.isin(names, ("Q: y x", "q: x⁺", "rate", "decay")) * 1.0
    x = np.arange(len(names))
    series = [
        Curve("constructed", x, constructed, "construction"),
        Curve("best on average", x, best, "floor"),
        Curve("trained", x, trained, "trained", band="minmax"),
    ]
    figure = figures.curves(series, "", "in units of the construction", y_range=(-0.25, 1.25))
    shapes = {
        "constructed": ("line-ew-open", 30, "construction"),
        "best on average": ("diamond-open", 12, "floor"),
        "trained": ("circle", 7, "trained"),
    }
    for trace in figure.data:
        if trace.get("name") in shapes:
            symbol, size, kind = shapes[trace["name"]]
            marker = {"symbol": symbol, "size": size, "color": figures.colour(kind)}
            trace.update(mode="markers", marker=marker)
    figure.update_xaxes(tickvals=x.tolist(), ticktext=names)
    table = {"weight": names, "trained": trained.mean(0), "best": best, "constructed": constructed}
    return WORDS.panel(
        "population",
        run,
        view,
        figure,
        data=pd.DataFrame(table),
        best=population_distance(run),
        trained=population_distance(run, "final/"),
    )


def _numbers(run: Run, prefix: str) -> tuple[list[str], np.ndarray]:
    """Return the names of the numbers in which weights of one feature compare, and their values
    [seeds, numbers]."""
    config = run.config
    weights = folded(model_of(config, run.tensors, prefix), 1)
    parts = quantities(weights, config.N)
    rate = closed_forms.best_beta(1, config.N, config.r)
    Q, q = (parts[name].numpy() for name in ("Q", "q"))
    lower = Q[:, *np.tril_indices(3)]  # [seeds, 6]
    decay = mean_decay(weights.tensors()["a"], config.N).numpy().reshape(-1, 1)
    rates = parts["rate"].numpy().reshape(-1, 1) / rate
    names = [
        *(f"Q: {entry}" for entry in ENTRIES),
        *(f"q: {entry}" for entry in ("x", "y", "x⁺")),
        "rate",
        "decay",
    ]
    return names, np.concatenate([lower, q, rates, decay], 1)


def tokens(run: Run, view: Any) -> Panel:
    """Draw, for scalar labels, what two layers do on windows, and two ways to use the 1-D layer's
    tokens at their best."""
    losses = _reached(run)
    zero = closed_forms.zero_loss(run.config.f, run.config.r)
    kinds = ["gradient descent", "layer 1", "layer 2", "construction", "trained"]
    figure = figures.bars(
        list(losses),
        list(losses.values()),
        "loss at the query",
        kinds=kinds,
        lines=[("predicting zero", zero, "floor")],
        y_range=(0, 1.1 * zero),
    )
    return WORDS.panel(
        "second",
        run,
        view,
        figure,
        data=pd.DataFrame({"two layers": list(losses), "loss": list(losses.values())}).round(5),
        trained=losses["trained on windows"],
        stacked=losses["a layer on a layer"],
        left_out=losses["x₁ left out of ∑ x xᵀ"],
    )


def _reached(run: Run) -> dict[str, float]:
    """Return the losses that are drawn: of steps in closed form, of the others over that of two
    steps on the same tasks."""
    f = run.config.f
    N = run.config.N
    r = run.config.r
    two = closed_forms.two_steps_free(f, N, r).loss
    scale = two / float(run["baseline/floor"][0])  # of the test set's tasks
    return {
        "one step": closed_forms.best_loss(f, N, r),
        "a layer on a layer": scale * float(run["baseline/stacked"][0]),
        "x₁ left out of ∑ x xᵀ": scale * float(run["baseline/left_out"][0]),
        "two steps": two,
        "trained on windows": float(run["evaluated/scaled"].mean()),
    }


def two_steps(run: Run, view: Any) -> Panel:
    """Draw where training took A and B of the prediction A G x − B G S x, over the exact loss, with
    the curve of all shared rates."""
    size = run.config.f, run.config.N, run.config.r
    free = closed_forms.two_steps_free(*size)
    shared = closed_forms.two_steps_shared(*size)
    paths = np.stack([coefficients(run, index) for index in range(len(run.snapshot_steps))], 1)
    snapshot = run.snapshot_at(view)
    row = row_of(run, view)
    table = {"step": run.snapshot_steps, "A": paths[:, :, 0].mean(0), "B": paths[:, :, 1].mean(0)}
    A, B = paths[row, snapshot].tolist()
    return WORDS.panel(
        "steps",
        run,
        view,
        _plane(size, free, shared, paths[row, : snapshot + 1]),
        data=pd.DataFrame(table).round(6),
        A=A,
        B=B,
        loss=closed_forms.two_step_loss(A, B, *size),
        shared=shared.loss,
        free=free.loss,
    )


def _plane(
    size: tuple[int, int, float], free: TwoSteps, shared: TwoSteps, path: np.ndarray
) -> Figure:
    """Draw the path [snapshots, 2] of one seed over the contours of the loss, and the two
    optima."""
    rates = np.linspace(0, 1.7 * shared.A / 2, 60)
    series = [
        Curve("one rate for both steps", 2 * rates, rates**2, "gradient descent"),
        Curve("trained", path[:, 0], path[:, 1], markers=True),
    ]
    reach = 1.55 * free.A, 1.7 * free.B
    figure = figures.curves(
        series,
        "A, on the gradient",
        "B, on curvature times gradient",
        x_range=(-0.04 * reach[0], reach[0]),
        y_range=(-0.12 * reach[1], reach[1]),
        height=440,
    )
    best = (
        _best(shared, "best shared rate", "gradient descent"),
        _best(free, "best two rates", "construction"),
    )
    figure.add_traces([_contours(size, free), *best])
    return figure.update_layout(
        hovermode="closest", showlegend=True, yaxis={"exponentformat": "none"}
    )


def _contours(size: tuple[int, int, float], free: TwoSteps) -> Trace:
    """Return lines of equal loss on tasks of that f, N and r: ellipses about the best pair."""
    f, _, r = size
    _, m2, m3, m4 = closed_forms.moments(*size)
    scale = np.array([free.A, free.B])  # A and B differ by powers of N
    curvature = closed_forms.variance(r) * np.array([[m2, -m3], [-m3, m4]]) * scale[:, None] * scale
    losses = [share * closed_forms.zero_loss(f, r) for share in LEVELS]
    return figures.contours(Bowl(curvature, (1.0, 1.0)), losses, 100.0, (free.A, free.B)).update(
        opacity=0.4
    )


def _best(best: TwoSteps, name: str, kind: str) -> Trace:
    """Return a marker at the best pair, with its name and loss."""
    marker = {"size": 14, "color": figures.colour(kind), "line": {"color": INK, "width": 1.5}}
    marker |= {"symbol": "star" if kind == "construction" else "circle", "opacity": 1}
    look = {"mode": "markers", "marker": marker, "hoverlabel": {"bgcolor": PAPER}}
    return Trace(x=[best.A], y=[best.B], name=f"{name}: {best.loss:.3f}", **look)
