"""What is known of one layer with k training tasks, and what is found, each written once; and its
number, read off a run."""

from functools import partial

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.learners.diversity import one_layer

theory = partial(Claim, kind="theory")
ours = partial(Claim, kind="ours")
ENOUGH = 8  # times as many tasks as features
MANY = {"prompts": range(16_384, 65_537)}
LIKE = (
    "Raventós et al. 2023 (arXiv 2306.15063) and Lu et al. 2024 (arXiv 2405.11751) ask this; here"
)

RANK = theory(
    id="rank-is-the-number-of-tasks",
    label="what is left outside of the tasks' span",
    text="With fewer training tasks than features the layer answers nothing outside of their span: "
    "all of a fresh task is left there.",
    source="Γ = C (…)⁻¹ has the rank of C",
    near=1.0,
    tolerance=1e-6,
)
LIMIT = theory(
    id="optimum-becomes-one-step",
    panel="singular values",
    label="Γ with 1,024 tasks, away from its limit",
    text="With ever more training tasks Γ becomes a multiple of the identity, 1 / (1 + (1 + d + "
    "τ²) / n): one step of gradient descent at its best rate.",
    source="C becomes I",
    at={"d": range(2, 21), "n": range(16, 65)},
    near=0.0,
    tolerance=0.1,
)
FITTED = theory(
    id="fitted-is-the-optimum",
    panel="errors",
    label="fitted layer, over its optimum, on fresh tasks",
    text="Fitted to 16,384 prompts the layer leaves what its optimum leaves, on fresh tasks and "
    "averaged over all numbers of training tasks.",
    source="least squares",
    at=MANY,
    near=1.0,
    tolerance=0.05,
)
GAP = ours(
    id="gap-at-as-many-tasks-as-features",
    panel="errors",
    label="fresh over trained tasks, k = d",
    text="With as many training tasks as features the layer still leaves at least a third more of "
    "fresh tasks than of trained ones.",
    source=f"{LIKE} in closed form",
    at={"d": 8, "n": 16, "noise": 0.5},
    at_least=4 / 3,
)
MEET = ours(
    id="errors-meet",
    panel="errors",
    label="fresh over trained tasks, k = 8 d",
    text="With eight times as many training tasks as features the layer leaves at most a tenth "
    "more of fresh tasks than of trained ones.",
    source=f"{LIKE} in closed form",
    at={"d": 8, "n": 16, "noise": 0.5},
    at_most=1.1,
)
MEMORY = ours(
    id="memory-needs-more",
    panel="errors",
    label="Bayes over trained tasks, over the layer, fresh, k = 8 d",
    text="Bayes over the training tasks, which knows them by heart, leaves at least half as much "
    "again of fresh tasks as the layer does.",
    source=f"{LIKE} on sampled prompts",
    at={"d": 8, "n": 16, "noise": 0.5},
    at_least=1.5,
)
ALL = (RANK, LIMIT, FITTED, GAP, MEET, MEMORY)


def measure(run: Run) -> list[Metric]:
    """Return all that this setting can bear out."""
    config = run.config
    fitted = run["curve/fitted_fresh"] / run["curve/optimum_fresh"]
    metrics = [
        Metric.over_seeds(LIMIT, away_from_limit(run)),
        Metric.over_seeds(FITTED, fitted.mean(1)),
        Metric.over_seeds(GAP, gap(run, config.d)),
    ]
    outside = run["snapshot/outside"]
    if np.isfinite(outside).any():
        metrics.append(Metric(RANK, float(np.nanmin(outside))))
    if ENOUGH * config.d in config.counts:
        at = place(run, ENOUGH * config.d)
        memory = run["curve/memory_fresh"][:, at] / run["curve/optimum_fresh"][:, at]
        metrics.append(Metric.over_seeds(MEET, gap(run, ENOUGH * config.d)))
        metrics.append(Metric.over_seeds(MEMORY, memory))
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
