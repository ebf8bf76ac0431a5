"""A number for each claim, read off a run."""

import numpy as np

from icl_core.contract.experiment import Metric, Run
from icl_core.papers.learners.memory import claims


def measure(run: Run) -> list[Metric]:
    """Return all that this setting can bear out. Seeds differ in their first numbers alone: all
    train on the same prompts and are tested on the same."""
    best = np.min([total(run, name) for name in run.names("models")], 0)
    kept_alone = np.min([gain(run, name) for name in ("without yy", "without xy")], 0)
    return [
        Metric.over_seeds(claims.BAYES, best / total(run, "bayes")),
        Metric(claims.EXACT, float(run["explained/memformer"].min())),
        Metric.over_seeds(claims.MEMORY, ratio(run, "memformer", "ridge")),
        Metric.over_seeds(claims.ALONE, ratio(run, "xx alone", "ridge")),
        Metric.over_seeds(claims.ADAPTS, ratio(run, "all", "ridge")),
        Metric.over_seeds(claims.NEAR, gain(run, "all") / gain(run, "knowing")),
        Metric.over_seeds(claims.EITHER, kept_alone / gain(run, "all")),
        Metric.over_seeds(claims.SHORTER, shortening(run, "all") / shortening(run, "xx alone")),
    ]


def gain(run: Run, name: str) -> np.ndarray:
    """Return how much less a model leaves over all noises than ridge with one r, [seeds], or a
    reference, a number."""
    return total(run, "ridge") - total(run, name)


def shortening(run: Run, name: str) -> np.ndarray:
    """Return the last step that is read off a model's answers without noise, over that with the
    most, [seeds]."""
    last = run[f"triangle/{name}"][:, :, -1, -1]  # [levels, seeds]
    return last[0] / last[-1]


def total(run: Run, name: str) -> np.ndarray:
    """Return what a model leaves over all noises, [seeds], or a reference, a number."""
    return run[f"total/{name}"]


def ratio(run: Run, model: str, reference: str) -> np.ndarray:
    """Return what a model leaves over what a reference leaves, [seeds]."""
    return total(run, model) / total(run, reference)


def share(run: Run, name: str, level: int) -> float:
    """Return what a model or reference leaves at a noise, the mean over seeds."""
    return float(np.atleast_2d(run[f"share/{name}"])[:, level].mean())
