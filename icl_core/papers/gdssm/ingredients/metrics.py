"""Measures what is left of the gain without each part, and how near each layer is to its
construction."""

import numpy as np

from icl_core.contract.experiment import Metric, Run
from icl_core.papers.gdssm.ingredients.claims import FORGETS, INGREDIENTS, KEEPS, WINDOW_TWO
from icl_core.papers.gdssm.shared.load_run import COUNTS, percent
from icl_core.statistics import trend


def measure(run: Run) -> list[Metric]:
    """Measure all claims; they are undecided where a training had not come to its end."""
    without = ("one", "fixed")
    best = max(float(gain_left(run, id).max()) for id in without)
    still = " ".join(filter(None, (unfinished(run, id) for id in without)))
    near = ((FORGETS, "forgets"), (KEEPS, "keeps"))
    return [
        Metric(INGREDIENTS, best, unfinished=still),
        Metric(WINDOW_TWO, _highest(run, "two"), unfinished=unfinished(run, "two")),
        *(Metric(claim, worst(run, id), unfinished=unfinished(run, id)) for claim, id in near),
    ]


def gain_left(run: Run, id: str) -> np.ndarray:
    """Return the gain over predicting zero as a share of that of one step, on the same tasks,
    [seeds]."""
    zero, one = (float(run[f"baseline/{name}"][0]) for name in ("zero", "one"))
    return (zero - np.asarray(run[f"evaluated/{id}"], float)) / (zero - one)


def left(run: Run, id: str) -> str:
    """Return, in words, the share of the gain that a layer keeps, as the mean over seeds."""
    share = float(gain_left(run, id).mean())
    return "nothing" if abs(share) < COUNTS else percent(share)


def worst(run: Run, id: str) -> float:
    """Return a layer's loss over that of its construction less 1, of the seed that is farthest
    off."""
    away = run[f"evaluated/{id}"] / run[f"constructed/{id}"][0] - 1
    return float(away[np.abs(away).argmax()])


def _highest(run: Run, id: str) -> float:
    """Return a layer's loss over that of its construction less 1, of the worst seed."""
    return float((run[f"evaluated/{id}"] / run[f"constructed/{id}"][0] - 1).max())


def unfinished(run: Run, id: str) -> str:
    """Return why a training does not decide what is claimed of its end; empty if it does."""
    matters = COUNTS * float(run["baseline/one"][0])
    return trend.still_falling(run[f"curve/{id}"], matters, run["curve/step"])
