"""A number for each claim, read off a run."""

import numpy as np

from icl_core.contract.experiment import Metric, Run
from icl_core.papers.learners.diversity import claims, one_layer

ENOUGH = 8  # times as many tasks as features


def measure(run: Run) -> list[Metric]:
    """Return all that this setting can bear out."""
    config = run.config
    fitted = run["curve/fitted_fresh"] / run["curve/optimum_fresh"]
    metrics = [
        Metric.over_seeds(claims.LIMIT, away_from_limit(run)),
        Metric.over_seeds(claims.FITTED, fitted.mean(1)),
        Metric.over_seeds(claims.GAP, gap(run, config.d)),
    ]
    outside = run["snapshot/outside"]
    if np.isfinite(outside).any():
        metrics.append(Metric(claims.RANK, float(np.nanmin(outside))))
    if ENOUGH * config.d in config.counts:
        at = place(run, ENOUGH * config.d)
        memory = run["curve/memory_fresh"][:, at] / run["curve/optimum_fresh"][:, at]
        metrics.append(Metric.over_seeds(claims.MEET, gap(run, ENOUGH * config.d)))
        metrics.append(Metric.over_seeds(claims.MEMORY, memory))
    return metrics


def place(run: Run, count: int) -> int:
    """Return the place of a number of training tasks among those of a run."""
    return run.snapshot_steps.index(count)


def gap(run: Run, count: int) -> np.ndarray:
    """Return what the optimum leaves of fresh tasks over that of trained ones, [seeds]."""
    at = place(run, count)
    return run["curve/optimum_fresh"][:, at] / run["curve/optimum_trained"][:, at]


def away_from_limit(run: Run) -> np.ndarray:
    """Return how far the optimum of the most tasks is from its limit, as a share of the limit's
    size, [seeds]."""
    config = run.config
    limit = one_layer.limit(config.d, config.n, config.noise) * np.eye(config.d)
    last = run["snapshot/optimum"][-1]  # [seeds, d, d]
    return np.linalg.norm(last - limit, axis=(1, 2)) / np.linalg.norm(limit)
