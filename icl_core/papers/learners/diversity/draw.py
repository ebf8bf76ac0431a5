"""What one layer leaves of trained and of fresh tasks, and the matrix that it has learned."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.papers.learners.diversity import one_layer
from icl_core.papers.learners.diversity.settings import View
from icl_core.papers.learners.diversity.words import WORDS

LEAST, LARGEST = 0.01, 3.0  # the ends of the axis of errors
LINES = {
    "optimum_trained": ("trained tasks", "construction", "dash"),
    "optimum_fresh": ("fresh tasks", "construction", "solid"),
    "fitted_fresh": ("fitted, fresh", "trained", "dot"),
    "memory_fresh": ("by heart, fresh", "layer 3", "dashdot"),
}


def errors(run: Run, view: View) -> Panel:
    """Draw what is left of trained and of fresh tasks against the number of training tasks."""
    counts = run["curve/step"]
    series = [
        Curve(name, counts, run[f"curve/{key}"], kind, dash)
        for key, (name, kind, dash) in LINES.items()
    ]
    figure = figures.curves(
        series,
        "training tasks, k",
        "share left",
        log_x=True,
        log_y=True,
        y_range=(LEAST, LARGEST),
        lines=[("Bayes, w* ~ N(0, I)", float(run["baseline/ridge"][0]), "floor")],
        at=run.step(view),
        height=figures.SEAT,
    )
    data = pd.DataFrame({"tasks": counts} | {curve.name: curve.mean() for curve in series})
    return WORDS.panel("errors", run, view, figures.seated(figure), data=data.round(5))


def matrix(run: Run, view: View) -> Panel:
    """Draw the learned matrix beside its optimum."""
    place = run.snapshot_at(view)
    row = min(view.seed_shown, run.config.seeds) - 1
    optimum, fitted = (
        run[f"snapshot/{name}"][place, row].astype(np.float32) for name in ("optimum", "fitted")
    )
    labels = [str(i + 1) for i in range(run.config.d)]
    figure = figures.small_maps(
        {"fitted": fitted, "optimum": optimum}, (labels, labels), ("", ""), "Γ", 1.0
    )
    data = pd.DataFrame(fitted, columns=labels)
    return WORDS.panel("matrix", run, view, figure, data=data)


def singular_values(run: Run, view: View) -> Panel:
    """Draw the singular values of the learned matrix and of its optimum."""
    place = run.snapshot_at(view)
    config = run.config
    ranks = np.arange(1, config.d + 1)
    optimum, fitted = (  # [seeds, d] each, largest first
        np.linalg.svd(run[f"snapshot/{key}"][place].astype(np.float64), compute_uv=False)
        for key in ("optimum", "fitted")
    )
    series = [
        Curve(name, ranks, values, kind, markers=True)
        for name, values, kind in (
            ("optimum", optimum, "construction"),
            ("fitted", fitted, "trained"),
        )
    ]
    limit = one_layer.limit(config.d, config.n, config.noise)
    series.append(Curve("one step", ranks, np.full(len(ranks), limit), "gradient descent"))
    figure = figures.curves(
        series, "rank", "singular value of Γ", y_range=(0.0, 1.15), height=figures.SEAT
    )
    data = pd.DataFrame({"rank": ranks} | {curve.name: curve.mean() for curve in series})
    return WORDS.panel(
        "singular values",
        run,
        view,
        figures.seated(figure),
        data=data.round(5),
        least=float(series[0].mean()[-1]),
    )


def span(run: Run, view: View) -> Panel:
    """Draw what is left of a fresh task within the span of the training tasks and outside."""
    counts = run["curve/step"]
    inside, outside = (run[f"snapshot/{where}"].T for where in ("inside", "outside"))
    series = [
        Curve("within the span", counts, inside, "layer 2", markers=True),
        Curve("outside", counts, outside, "layer 8", markers=True),
    ]
    figure = figures.curves(
        series,
        "training tasks, k",
        "share left",
        log_x=True,
        y_range=(0.0, 1.15),
        at=run.step(view),
        height=figures.SEAT,
    )
    data = pd.DataFrame({"tasks": counts, "within": inside.mean(0), "outside": outside.mean(0)})
    return WORDS.panel("span", run, view, figures.seated(figure), data=data.round(5))


def memory(run: Run, view: View) -> Panel:
    """Draw the layer beside Bayes over the training tasks, on trained and on fresh tasks."""
    counts = run["curve/step"]
    names = {
        "memory_trained": ("by heart, trained", "layer 3", "dash"),
        "memory_fresh": ("by heart, fresh", "layer 3", "solid"),
        "fitted_trained": ("fitted, trained", "trained", "dash"),
        "fitted_fresh": ("fitted, fresh", "trained", "solid"),
    }
    series = [
        Curve(name, counts, np.clip(run[f"curve/{key}"], LEAST, None), kind, dash)
        for key, (name, kind, dash) in names.items()
    ]
    figure = figures.curves(
        series,
        "training tasks, k",
        "share left",
        log_x=True,
        log_y=True,
        y_range=(LEAST, LARGEST),
        lines=[("Bayes, w* ~ N(0, I)", float(run["baseline/ridge"][0]), "floor")],
    )
    data = pd.DataFrame({"tasks": counts} | {curve.name: curve.mean() for curve in series})
    most = float(run["curve/memory_trained"].mean(0).max())
    return WORDS.panel("memory", run, view, figure, data=data.round(5), most=most)
