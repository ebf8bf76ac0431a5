"""A number for each claim, read off a run."""

import numpy as np

from icl_core.contract.experiment import Metric, Run
from icl_core.papers.learners.memory import claims


def measure(run: Run) -> list[Metric]:
    """Return all that this setting can bear out."""
    best = np.min([total(run, name) for name in run.names("models")], 0)
    without = np.max([total(run, name) for name in ("without yy", "without xy")], 0)
    last = run["triangle/all"][:, :, -1]  # [levels, seeds, layers]
    metrics = [
        Metric.over_seeds(claims.BAYES, best / total(run, "bayes")),
        Metric(claims.EXACT, float(run["explained/memformer"].min())),
        Metric.over_seeds(claims.ADAPTS, ratio(run, "all", "ridge")),
        Metric.over_seeds(claims.NEAR, ratio(run, "all", "knowing")),
        Metric.over_seeds(claims.MEMORY, ratio(run, "memformer", "ridge")),
        Metric.over_seeds(claims.EITHER, without / total(run, "all")),
        Metric.over_seeds(claims.ALONE, ratio(run, "xx alone", "ridge")),
        Metric.over_seeds(claims.SHORTER, last[0, :, -1] / last[-1, :, -1]),
    ]
    if run.config.layers > 1:
        metrics.append(Metric.over_seeds(claims.BACK, last[-1, :, :-1].sum(-1)))
    return metrics


def total(run: Run, name: str) -> np.ndarray:
    """Return what a model leaves over all noises, [seeds], or a reference, a number."""
    return run[f"total/{name}"]


def ratio(run: Run, model: str, reference: str) -> np.ndarray:
    """Return what a model leaves over what a reference leaves, [seeds]."""
    return total(run, model) / total(run, reference)


def share(run: Run, name: str, level: int) -> float:
    """Return what a model or reference leaves at a noise, the mean over seeds."""
    return float(np.atleast_2d(run[f"share/{name}"])[:, level].mean())
