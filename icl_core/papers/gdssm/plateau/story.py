"""What is told of the plateau."""

from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import HEADLINE, Beat, Question, Story, Task, Try
from icl_core.papers.gdssm.plateau.load_run import budget, in_words, label, middle
from icl_core.papers.gdssm.plateau.settings import Config, sizes
from icl_core.papers.gdssm.shared.captions import EXAMPLE
from icl_core.papers.gdssm.shared.sequence_models import model

RECIPE_ORDER = ("curriculum", "dense", "both")


def _task(config: Config) -> str:
    return (
        "A prompt shows f examples (x, y) of one linear map, with f numbers in each x and y, and "
        "asks for the y of a new x. A model that has not yet found what to multiply predicts zero; "
        "in the example here x and y are single numbers."
    )


def _first(run: Run) -> str:
    return run.names("models")[0]


def _grows(run: Run, view: Any) -> int:
    """Return by how many times as many tasks the largest f takes as the smallest, as the paper
    trains."""
    tasks = middle(run, _first(run), "paper")
    return int(np.digitize(tasks[-1] / tasks[0], (1.2, 3.0)))


def _said_of(run: Run, recipe: str, place: int) -> str:
    return in_words(float(middle(run, _first(run), recipe)[place]), budget(run))


def _grows_said(run: Run, view: Any) -> str:
    x = sizes(run.config)
    return (
        f"{_said_of(run, 'paper', 0).capitalize()} tasks at f = {x[0]}, "
        f"{_said_of(run, 'paper', -1)} at f = {x[-1]}."
    )


def _best(run: Run, view: Any) -> int:
    """Return which recipe takes the fewest tasks at the largest f."""
    tasks = [middle(run, _first(run), recipe)[-1] for recipe in RECIPE_ORDER]
    return int(np.argmin(tasks))


def _best_said(run: Run, view: Any) -> str:
    counts = "; ".join(f"{label(recipe)}: {_said_of(run, recipe, -1)}" for recipe in RECIPE_ORDER)
    return f"At f = {sizes(run.config)[-1]}: {counts} tasks."


def _curves(run: Run, view: Any) -> str:
    return (
        "These are the losses over the tasks seen. A step multiplies y with x, and that with the "
        "query. One product without the other gains nothing, so that the loss hardly changes "
        "until both are there."
    )


def _close(run: Run, view: Any) -> str:
    return (
        "You have seen a plateau hide what a model can learn. The paper's Figure 6 has f = 10: "
        "there a model that still predicts zero after millions of tasks may lack a way of "
        "training, not an architecture. Garg et al. (2022) trained all theirs on few features "
        "first, with a loss at every x."
    )


GROWS = Question(
    "A transformer of two layers trains as in the paper, on all features from the start. From two "
    "features to four, how many times as many tasks does it take to leave predicting zero?",
    ("As many", "Up to three times", "More than three times, or it does not leave"),
    _grows,
    _grows_said,
    "With more features there are more directions in which keys, values and queries must agree "
    "before their product is worth anything, and a gradient of almost zero to find them by.",
    (HEADLINE, "until"),
)
HELPS = Question(
    "What helps most on the most features: tasks with few features first, a loss at every x of "
    "the prompt, or both?",
    ("The curriculum alone", "The loss at every x alone", "Both together"),
    _best,
    _best_said,
    "Few features make a short plateau, and what is found on them serves for more. A loss at every "
    "x makes one prompt into f, some of them with few pairs.",
    (HEADLINE, "until"),
)

STORY = Story(
    task=Task(_task, EXAMPLE),
    beats=(
        Beat(
            "grows",
            "A line is one way of training; its height says after how many tasks the model has "
            "left predicting zero. Grey is as the paper trains.",
            marks=("until",),
            ask=GROWS,
        ),
        Beat("plateau", _curves, marks=("curves",)),
        Beat(
            "helps",
            "The other lines are the same model, trained in another order or with more losses.",
            marks=("until",),
            ask=HELPS,
        ),
        Beat("close", _close, marks=("until", "curves")),
    ),
    tries=(
        Try(
            "The curves of the smallest f: is there a plateau too?",
            fields={"shown": "smallest"},
            marks=("curves",),
        ),
        Try(
            "A plain linear transformer of one layer: exact theory says that it never leaves.",
            fields={"models": "linear-1", "features": "2, 3"},
            marks=("until",),
        ),
        Try(
            "A smaller learning rate: does the order of the lines stay?",
            fields={"learning_rate": 3e-3},
            marks=("until",),
        ),
    ),
    brief=lambda config: (
        f"{model(config.models.split(',')[0].strip()).label}: after how many tasks does it leave "
        "predicting zero?"
    ),
)
