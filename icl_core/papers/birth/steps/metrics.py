"""The claims, measured; the mean over seeds."""

import numpy as np

from icl_core.contract.experiment import Metric, Run
from icl_core.papers.birth.steps import claims
from icl_core.papers.birth.steps.settings import THEN

# what must have learned, for a gradient
NEEDS = {
    "W_O2": set(),
    "W_K2": {"W_O2"},
    "W_K1": {"W_O2", "W_K2"},
}
RECALLS = {claims.W_O2: "recall_W_O2", claims.W_K2: "recall_W_K2", claims.W_K1: "recall_W_K1_asked"}
STORED = 0.5  # a recall that counts as stored


def measure(run: Run) -> list[Metric]:
    """Return the measured claims that this run's setting can bear out."""
    if run.config.setup == "whole":
        return [Metric.over_seeds(claims.WHOLE, after(run, "recall_W_K2"))]
    metrics = [Metric.over_seeds(claim, after(run, name)) for claim, name in RECALLS.items()]
    metrics.append(Metric.over_seeds(claims.ATTENTION, after(run, "on_output")))
    metrics.append(Metric.over_seeds(claims.NEAR_RANDOM, after(run, "accuracy", 1)))
    metrics.append(Metric.over_seeds(claims.TRIGGER, after(run, "trigger", 2)))
    metrics += [
        Metric.over_seeds(claims.SPURIOUS, run["spurious/ratio"] / tau(run)),
        Metric.over_seeds(claims.FILTERED, run["toy/accuracy_exact"][:, -1]),
    ]
    worst = max(float(run[f"lemma/{name}"].max()) for name in run.names("lemmas"))
    metrics += [Metric(claims.FORMULAS, worst), Metric(claims.NOTHING, too_early(run))]
    return [
        *metrics,
        Metric.over_seeds(claims.POSITIONS, placed(run)["all"], reason=_which_positions(run)),
    ]


def after(run: Run, measure: str, steps: int = 3, way: str = "batch") -> np.ndarray:
    """Return a measure after the first `steps` steps, [seeds]; `way` is an id of
    `settings.WAYS`."""
    return run[f"curve/{measure}_{way}"][:, steps]


def tau(run: Run) -> float:
    """Return eq. 16's τ, exactly: how strong the spurious pairs of W_O² are beside the right
    ones."""
    own, mean = run["law/shares"]
    return float(mean / own)


def too_early(run: Run) -> float:
    """Return the Euclidean norm of the largest matrix, over seeds and orders, that had its turn
    before those that it needs had learned; 0 if there is none."""
    names = run.names("matrices")
    norms = [0.0]
    for index, order in enumerate(run.names("orders")):
        for name in set(names) - set(learned_in(order)):
            norms.append(float(run["orders/size"][:, index, names.index(name)].max()))
    return max(norms)


def learned_in(order: str) -> list[str]:
    """Return the names of the matrices that find a gradient when their turn comes."""
    learned: list[str] = []
    for name in order.split(THEN):
        if set(learned) >= NEEDS[name]:
            learned.append(name)
    return learned


def complete(run: Run) -> np.ndarray:
    """Return whether each order stores more than half of all three memories, [seeds, orders]
    bool."""
    return np.all(run["orders/recall"] > STORED, axis=-1)


def placed(run: Run) -> dict[str, np.ndarray]:
    """Return the share of right answers by which part of the stream holds positions, [seeds]
    each."""
    return dict(zip(run.names("places"), run["places/accuracy"].T, strict=True))


def _which_positions(run: Run) -> str:
    """Return why positions in the stream do harm, by which part holds them; empty if they do
    none."""
    shares = {name: float(values.mean()) for name, values in placed(run).items()}
    if shares["none"] - shares["all"] < 0.3:
        return ""
    return (
        f"Characters alone: {shares['none']:.0%} right. With positions in the values "
        f"{shares['values']:.0%}, in the keys {shares['keys']:.0%}, in the query "
        f"{shares['query']:.0%}: W_K² has matched the position T with every character."
    )
