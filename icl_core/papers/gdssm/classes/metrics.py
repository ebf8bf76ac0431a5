"""Measures the layer on classes beside its construction, at the worst seed."""

import numpy as np

from icl_core.contract.experiment import Metric, Run
from icl_core.papers.gdssm.classes.claims import STEP, WEIGHTS
from icl_core.papers.gdssm.shared.load_run import COUNTS
from icl_core.statistics import trend


def measure(run: Run) -> list[Metric]:
    """Measure both claims; they are undecided where the training had not come to its end."""
    beside = float(run["baseline/constructed"][0])
    away = run["evaluated/loss"] / beside - 1
    ended = trend.still_falling(run["curve/loss"], COUNTS * beside, run["curve/step"])
    worst = float(away[np.abs(away).argmax()])
    return [
        Metric(STEP, worst, unfinished=ended),
        Metric(WEIGHTS, max(weights_off(run).values()), unfinished=ended),
    ]


def normalised(run: Run, prefix: str) -> dict[str, np.ndarray]:
    """Return Q / Q[y, x] and q / q[next x], which the model's freedom of scale and sign leaves
    alone, [seeds, ...]."""
    Q = run[f"{prefix}/Q"]
    q = run[f"{prefix}/q"]
    return {"Q": Q / Q[:, 1:2, 0:1], "q": q / q[:, 2:]}


def weights_off(run: Run) -> dict[str, float]:
    """Return how far the farthest entry of each part is from the construction."""
    ours = normalised(run, "final")
    theirs = normalised(run, "constructed")
    return {name: float(np.abs(ours[name] - theirs[name]).max()) for name in ours}
