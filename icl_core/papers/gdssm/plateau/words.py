"""The numbers in words.md, and which answers are right."""

from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.words import Reading, Words
from icl_core.papers.gdssm.plateau.claims import budget, middle, size_shown
from icl_core.papers.gdssm.plateau.settings import Config, View, sizes
from icl_core.papers.gdssm.shared.captions import EXAMPLE
from icl_core.papers.gdssm.shared.sequence_models import model
from icl_core.papers.gdssm.shared.sequence_models.training_end import LEFT

HELPS = ("curriculum", "dense", "both")


def _tasks(run: Run, recipe: str) -> np.ndarray:
    """Return the tasks until the first model leaves, [sizes]; infinite where it does not."""
    return middle(run, run.names("models")[0], recipe)


def _until(recipe: str, size: int = -1) -> Reading:
    """Return the reading of those tasks at a size, the largest by default; None where it does
    not leave."""

    def read(run: Run, view: Any) -> float | None:
        tasks = float(_tasks(run, recipe)[size])
        return tasks if np.isfinite(tasks) else None

    return read


def _grows(run: Run, view: Any) -> int:
    """Return by how many times as many tasks the largest f takes as the smallest, as the paper
    trains."""
    tasks = _tasks(run, "paper")
    return int(np.digitize(tasks[-1] / tasks[0], (1.2, 3.0)))


def _helps(run: Run, view: Any) -> int:
    """Return which recipe takes the fewest tasks at the largest f."""
    return int(np.argmin([_tasks(run, recipe)[-1] for recipe in HELPS]))


WORDS = Words(
    __file__,
    Config,
    View,
    of_config={"first_model": lambda config: model(config.models.split(",")[0].strip()).label},
    readings={
        "first_model": lambda run, view: model(run.names("models")[0]).label,
        "smallest": lambda run, view: sizes(run.config)[0],
        "largest": lambda run, view: sizes(run.config)[-1],
        "f_shown": size_shown,
        # tasks of the first model until zero is left at the largest f, by the way of training
        "paper": _until("paper"),
        "curriculum": _until("curriculum"),
        "dense": _until("dense"),
        "both": _until("both"),
        "paper_smallest": _until("paper", 0),
        "budget": lambda run, view: budget(run),
        "share": lambda run, view: LEFT,
    },
    right={"grows": _grows, "helps": _helps},
    example=EXAMPLE,
)
