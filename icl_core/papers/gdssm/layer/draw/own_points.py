"""Your own points: the line that the trained layer fits to them in one pass, beside gradient
descent and the best."""

from typing import Any

import numpy as np
import pandas as pd
import torch

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve, number_text
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared.load_run import constructed_of, row_of, trained_at
from icl_core.papers.gdssm.shared.task import Tasks
from icl_core.papers.gdssm.shared.typed_points import points

QUERIES = 41


def draw(run: Run, view: Any) -> Panel:
    """Draw the prediction at every query x of the trained model, the construction and least
    squares."""
    pairs = np.array(points(view.points), dtype=np.float32)
    reach = max(1.0, float(np.abs(pairs[:, 0]).max())) * 1.1
    queries = np.linspace(-reach, reach, QUERIES, dtype=np.float32)
    snapshot = run.snapshot_at(view)
    row = row_of(run, view)
    tasks = _prompt(pairs, queries, run.config.f, run.config.labels)
    layers = trained_at(run, snapshot, row), constructed_of(run)
    trained, constructed = (models.predict(layer, tasks)[0, 0].numpy() for layer in layers)
    best = float(pairs[:, 0] @ pairs[:, 1]) / (float(pairs[:, 0] @ pairs[:, 0]) or 1.0)
    series = [
        Curve("least squares", queries, best * queries, "floor"),
        Curve("constructed", queries, constructed, "construction"),
        Curve("trained", queries, trained, "trained", "dash"),
    ]
    figure = figures.curves(
        series, "x", "y", y_range=limits(pairs, [curve.mean() for curve in series])
    )
    slopes = [float(queries @ line / (queries @ queries)) for line in (trained, constructed)]
    return Panel(
        f"Trained fits slope {number_text(slopes[0], 2)}, gradient descent "
        f"{number_text(slopes[1], 2)}, least squares {number_text(best, 2)}",
        "Your points are the prompt, and every x of the lines is a query. Blue should lie on the "
        "construction, one step of gradient descent. Its rate is right on average over tasks, so "
        "on your points it may stop short of least squares or go too far. A layer that learned "
        "nothing would draw a flat line.",
        figure.add_trace(figures.dots(pairs, "your points")),
        data=pd.DataFrame(
            {"x": queries, "trained": trained, "constructed": constructed, "best": best * queries}
        ),
        note=_applies(run, len(pairs)) + f" Step {run.snapshot_steps[snapshot]}, seed {row + 1}.",
    )


def _prompt(pairs: np.ndarray, queries: np.ndarray, f: int, labels: int) -> Tasks:
    """Return a task for every query, with the same points: x and y in the first coordinate, zeros
    in the others."""
    x = torch.zeros(len(pairs) + 1, f, len(queries))
    y = torch.zeros(len(pairs) + 1, labels, len(queries))
    x[:-1, 0] = torch.tensor(pairs[:, :1])
    y[:-1, 0] = torch.tensor(pairs[:, 1:])
    x[-1, 0] = torch.tensor(queries)
    return Tasks(x, y)


def limits(pairs: np.ndarray, lines: list[np.ndarray]) -> tuple[float, float]:
    """Return limits of y that hold the points, and the lines as far as they are no more than three
    times as high."""
    most = max(float(np.abs(pairs[:, 1]).max()), 0.5)
    high = min(max(most, *(float(np.nanmax(np.abs(line))) for line in lines)), 3 * most) * 1.12
    return -high, high


def _applies(run: Run, count: int) -> str:
    """Say how the typed points differ from the prompts of training."""
    config = run.config
    sentences = []
    if count != config.N:
        more = "long" if count > config.N else "short"
        sentences.append(
            f"Trained for {config.N} pairs and given {count}, its step is too {more}: η/N is fixed."
        )
    if config.f > 1:
        sentences.append(
            f"The layer was trained on {config.f} features. It gets your x in the first, zeros in "
            f"the others, and steps as far as is right for {config.f}. The preset of one feature "
            "is made for this."
        )
    return " ".join(sentences) or "The layer was trained for one feature and as many pairs."
