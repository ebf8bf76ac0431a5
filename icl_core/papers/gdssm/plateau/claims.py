"""What a run says of the plateau, and what is found here of it; the paper does not speak of it."""

from functools import partial
from typing import Any

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.gdssm.plateau.settings import same_training, sizes

LABELS = {
    "paper": "as the paper trains",
    "curriculum": "curriculum",
    "dense": "a loss at every x",
    "both": "both",
}


def label(recipe: str) -> str:
    """Return what a recipe is called; one that the table does not know is called by its id."""
    return LABELS.get(recipe, recipe)


def size_shown(run: Run, view: Any) -> int:
    """Return the f of the curves that the view shows; also of a run that is still going."""
    return sizes(run.config)[-1 if view.shown == "largest" else 0]


def budget(run: Run) -> int:
    """Return the most tasks that a training has seen."""
    return run.config.steps * run.config.batch


def left(run: Run, model: str, recipe: str) -> np.ndarray:
    """Return the tasks until predicting zero is left, [sizes, seeds]; infinite where it was not."""
    at = run.names("models").index(model), run.names("recipes").index(recipe)
    tasks = run["left/tasks"][:, at[0], at[1]]
    return np.where(np.isnan(tasks), np.inf, tasks)


def middle(run: Run, model: str, recipe: str) -> np.ndarray:
    """Return the median of `left` over seeds, [sizes]; infinite where half of the seeds had not
    left."""
    return np.median(left(run, model, recipe), 1)


def at_least(run: Run, model: str, recipe: str) -> np.ndarray:
    """Return `left`, with all tasks that were trained on where it was not left: it took at least so
    many."""
    return np.minimum(left(run, model, recipe), budget(run))


def curve(run: Run, model: str, recipe: str, f: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the tasks seen [evaluations] and the losses over that of predicting zero [seeds,
    evaluations], as far as the training went; None where there is none yet."""
    rows = run.tensors.get(f"curve/{model} {same_training(f, recipe)} {f}")
    if rows is None:
        return None
    reached = np.isfinite(rows).any(0)
    tasks = run["curve/step"][reached] * run.config.batch
    return tasks, np.asarray(rows)[:, reached] / run["zero"][sizes(run.config).index(f)]


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
    panel="until",
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
