"""What is found of the layer on classes. A cross-entropy is new in version 3 of the paper, whose
text is not quoted here."""

from functools import partial

import numpy as np

from icl_core.contract import statistics
from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.gdssm.shared.load_run import COUNTS

SIZE = {"f": 10, "N": 10, "K": (3, 10), "seeds": range(3, 6)}
ours = partial(
    Claim, kind="ours", at=SIZE, source="not in version 1 of the paper; classes are in version 3"
)

STEP = ours(
    id="class-step",
    panel="training",
    label="classes: cross-entropy differs from one step's by",
    text="Trained on the cross-entropy, one layer is as good as one step of gradient descent on "
    "softmax regression at its best rate, at the worst seed.",
    near=0.0,
    tolerance=0.01,
)
WEIGHTS = ours(
    id="class-weights",
    label="classes: weights differ from the construction by",
    text="The trained weights are those of the construction, scale and sign normalised away: Q "
    "over its entry (y, x) and q over its last.",
    at_most=0.0,
    tolerance=0.05,
)

ALL = (STEP, WEIGHTS)


def measure(run: Run) -> list[Metric]:
    """Measure both claims; they are undecided where the training had not come to its end."""
    beside = float(run["baseline/constructed"][0])
    away = run["evaluated/loss"] / beside - 1
    ended = statistics.still_falling(run["curve/loss"], COUNTS * beside, run["curve/step"])
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
