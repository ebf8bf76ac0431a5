"""Reads a run of the experiment on the plateau."""

from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
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
