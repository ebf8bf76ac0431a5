"""What one layer leaves of trained and of fresh tasks, and the matrix that it has learned."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.number_text import significant
from icl_core.figures import Curve, number_text
from icl_core.papers.learners.diversity import one_layer
from icl_core.papers.learners.diversity.settings import View

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
    at = run.step(view)
    place = run.snapshot_at(view)
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
        at=at,
        height=figures.SEAT,
    )
    trained, fresh = (
        number_text(float(run[f"curve/optimum_{where}"][:, place].mean()), 2)
        for where in ("trained", "fresh")
    )
    return Panel(
        f"Trained {trained} left, fresh {fresh}",
        "The error over that of predicting zero: of the best single layer of linear attention on "
        "other prompts of its training tasks (dashed) and on tasks that it has never seen (solid), "
        "and of the layer that is fitted to prompts (dotted, on the solid line with many prompts). "
        "They meet once there are several times as many tasks as features. A learner that knows "
        "the training tasks by heart leaves more of fresh ones.",
        figures.seated(figure),
        data=pd.DataFrame({"tasks": counts} | {curve.name: curve.mean() for curve in series}).round(
            5
        ),
    )


def matrix(run: Run, view: View) -> Panel:
    """Draw the learned matrix beside its optimum."""
    place = run.snapshot_at(view)
    row = min(view.seed_shown, run.config.seeds) - 1
    optimum, fitted = (
        run[f"snapshot/{name}"][place, row].astype(np.float32) for name in ("optimum", "fitted")
    )
    d = run.config.d
    labels = [str(i + 1) for i in range(d)]
    count = run.step(view)
    rank = min(d, count)
    return Panel(
        f"With {count:,} {'task' if count == 1 else 'tasks'} the best Γ has rank {rank}",
        "The matrix that the layer puts between the query and b = 1/n ∑ y x: fitted to prompts, "
        "and its optimum. With one task it is w wᵀ, as good as a memory of w. With many it becomes "
        "a multiple of the identity: one step of gradient descent, whatever the task is.",
        figures.small_maps(
            {"fitted": fitted, "optimum": optimum}, (labels, labels), ("", ""), "Γ", 1.0
        ),
        data=pd.DataFrame(fitted, columns=labels),
    )


def singular_values(run: Run, view: View) -> Panel:
    """Draw the singular values of the learned matrix and of its optimum."""
    place = run.snapshot_at(view)
    config = run.config
    ranks = np.arange(1, config.d + 1)
    series = [
        Curve(name, ranks, _singular(run[f"snapshot/{key}"][place]), kind, markers=True)
        for key, name, kind in (
            ("optimum", "optimum", "construction"),
            ("fitted", "fitted", "trained"),
        )
    ]
    limit = one_layer.limit(config.d, config.n, config.noise)
    series.append(Curve("one step", ranks, np.full(len(ranks), limit), "gradient descent"))
    figure = figures.curves(
        series, "rank", "singular value of Γ", y_range=(0.0, 1.15), height=figures.SEAT
    )
    least = number_text(float(series[0].mean()[-1]), 2)
    return Panel(
        f"The least singular value is {least}",
        "Of the optimum as many values are above zero as there are tasks, at most d. Along the "
        "others it answers nothing. With more tasks all come to the same value, that of one step "
        "of gradient descent at its best rate.",
        figures.seated(figure),
        data=pd.DataFrame({"rank": ranks} | {curve.name: curve.mean() for curve in series}).round(
            5
        ),
    )


def span(run: Run, view: View) -> Panel:
    """Draw what is left of a fresh task within the span of the training tasks and outside."""
    counts = run["curve/step"]
    inside, outside = (run[f"snapshot/{where}"].T for where in ("inside", "outside"))
    series = [
        Curve("within the span", counts, inside, "layer 2", markers=True),
        Curve("outside", counts, outside, "layer 8", markers=True),
    ]
    at = run.step(view)
    figure = figures.curves(
        series,
        "training tasks, k",
        "share left",
        log_x=True,
        y_range=(0.0, 1.15),
        at=at,
        height=figures.SEAT,
    )
    place = run.snapshot_at(view)
    left = number_text(float(inside[:, place].mean()), 2)
    has_outside = bool(np.isfinite(outside[:, place]).any())
    title = f"Within {left} is left, outside all"
    return Panel(
        title if has_outside else f"{left} is left in every direction",
        "A fresh task has a part within the span of the training tasks and a part outside. Of the "
        "part outside the layer knows nothing, and all of it is left. From k = d on there is no "
        "outside, and what is left within falls to that of one step.",
        figures.seated(figure),
        data=pd.DataFrame(
            {"tasks": counts, "within": inside.mean(0), "outside": outside.mean(0)}
        ).round(5),
    )


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
    last = number_text(float(run["curve/memory_fresh"][:, -1].mean()), 2)
    most = significant(float(run["curve/memory_trained"].mean(0).max()), 1)
    return Panel(
        f"Knowing 1,024 tasks by heart still leaves {last} of a fresh one",
        "Bayes over the training tasks weighs each by how well it fits the pairs. Of trained tasks "
        f"it leaves {most} at most; a line at the bottom has 0.01 or less. Of a fresh task it "
        "leaves about the distance to the nearest that it knows, which in many features falls "
        "slowly.",
        figure,
        data=pd.DataFrame({"tasks": counts} | {curve.name: curve.mean() for curve in series}).round(
            5
        ),
    )


def _singular(matrices: np.ndarray) -> np.ndarray:
    """Return the singular values of matrices [seeds, d, d], largest first, [seeds, d]."""
    return np.linalg.svd(matrices.astype(np.float64), compute_uv=False)
