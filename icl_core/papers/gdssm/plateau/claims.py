"""What is found here of the plateau; the paper does not speak of it."""

from functools import partial

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.gdssm.plateau.load_run import at_least, budget, left

SETTING = {
    "features": "2, 3, 4",
    "models": "softmax-2",
    "form": "plain",
    "parameters": 2000,
    "seeds": range(3, 6),
}
ours = partial(Claim, kind="ours", source="not in the paper", at=SETTING)

GROWS = ours(
    id="the-plateau-grows",
    label="tasks until zero is left at the largest f, over those at the smallest",
    text=(
        "As the paper trains, a transformer of two layers takes at least twice as many tasks to "
        "leave predicting zero on the most features as on the fewest. (The first of the chosen "
        "models; one that has not left counts with all the tasks that it has seen.)"
    ),
    at_least=2.0,
)
CURRICULUM = ours(
    id="a-curriculum-shortens-the-plateau",
    label="tasks until zero is left at the largest f: curriculum over none",
    text=(
        "On the most features a curriculum at least halves the tasks until predicting zero is "
        "left. (The first of the chosen models.)"
    ),
    at_most=0.5,
)
BOTH = ours(
    id="both-shorten-the-plateau",
    label="tasks until zero is left at the largest f: both over neither",
    text=(
        "With a curriculum and a loss at every x together they are at most half as many. (The "
        "first of the chosen models.)"
    ),
    at_most=0.5,
)
ALL = (GROWS, CURRICULUM, BOTH)


def measure(run: Run) -> list[Metric]:
    """Measure the claims on the first model. A training that has not left counts with all the tasks
    that it has seen, so that what is divided by it is too large rather than too small."""
    model = run.names("models")[0]
    plain = at_least(run, model, "paper")  # (sizes, seeds)
    metrics = []
    if len(plain) > 1:
        stuck = not np.isfinite(left(run, model, "paper")[0]).all()
        metrics.append(_over_seeds(run, GROWS, plain[-1] / plain[0], stuck))
    for claim, recipe in ((CURRICULUM, "curriculum"), (BOTH, "both")):
        stuck = not np.isfinite(left(run, model, recipe)[-1]).all()
        ratios = at_least(run, model, recipe)[-1] / plain[-1]
        metrics.append(_over_seeds(run, claim, ratios, stuck))
    return metrics


def _over_seeds(run: Run, claim: Claim, ratios: np.ndarray, stuck: bool) -> Metric:
    """Return a claim's metric, not decided where the trainings that had to leave have not."""
    why = f"Some seed has not left predicting zero after {budget(run):,} tasks." if stuck else ""
    return Metric.over_seeds(claim, ratios, unfinished=why)
