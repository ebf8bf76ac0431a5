"""The story of the trained learners."""

from typing import Any

from icl_core.contract.experiment import Run
from icl_core.contract.story import (
    FIRST,
    HEADLINE,
    LAST,
    Beat,
    Example,
    Question,
    Story,
    Task,
    Try,
)
from icl_core.figures import number_text
from icl_core.papers.learners.trained.load_run import learners_of, nearest, place, share_of
from icl_core.papers.learners.trained.settings import Config

BETWEEN = (" ", "")
EXAMPLE = Example(
    (("(0.5, 1)", "x"), BETWEEN, ("2", "y"), BETWEEN, ("(0.2, −0.3)", "query")), "−0.25"
)


def _task(config: Config) -> str:
    noise = f" with noise of {config.noise:g}" if config.noise else ""
    return (
        f"A prompt shows {config.n} pairs of x, with {config.d} features, and y = ⟨w*, x⟩{noise}, "
        "and asks for the y of a new x. Twelve models of two papers learn it from the same prompts."
    )


def _below(run: Run) -> int:
    """Return how many learners are below one step of gradient descent at the end."""
    return int((run["evaluated/share"] < share_of(run, "GD 1")).sum())


def _how_many(run: Run, view: Any) -> int:
    below = _below(run)
    return 0 if below <= 3 else 1 if below <= 8 else 2


def _how_many_said(run: Run, view: Any) -> str:
    return (
        f"{_below(run)} of {len(learners_of(run))} leave less than one step, which leaves "
        f"{number_text(share_of(run, 'GD 1'), 2)}; Bayes leaves "
        f"{number_text(share_of(run, 'Bayes'), 3)}."
    )


def _like(run: Run, view: Any) -> int:
    name = nearest(run, "gd-ssm-1", -1).name
    return 0 if name == "GD 1" else 1 if name.startswith("GD") else 2


def _like_said(run: Run, view: Any) -> str:
    like = nearest(run, "gd-ssm-1", -1)
    return (
        f"Its answers are nearest to those of {like.name}: the mean squared difference is "
        f"{number_text(like.distance, 4)} of the error of predicting zero."
    )


def _end(run: Run, view: Any) -> str:
    memformer = float(run["evaluated/share"][place(run, "memformer")])
    gd_ssm = float(run["evaluated/share"][place(run, "gd-ssm-1")])
    return (
        f"The Memformer, with its {int(run['count/parameters'][place(run, 'memformer')])} numbers, "
        f"leaves {number_text(memformer, 3)}, one GD-SSM layer {number_text(gd_ssm, 3)}: what a "
        "model can multiply decides what it can learn."
    )


HOW_MANY = Question(
    "Twelve models train on the same prompts, for the same steps. How many come to leave less than "
    "one step of gradient descent?",
    ("At most three", "Four to eight", "More than eight"),
    _how_many,
    _how_many_said,
    "Models with attention or with a state that corrects what it holds can do more than one step, "
    "once they have found out which tokens belong together.",
    (HEADLINE, "errors"),
)
LIKE = Question(
    "What does the trained GD-SSM of one layer act most like?",
    ("One step of gradient descent", "Several steps", "Ridge or Bayes"),
    _like,
    _like_said,
    "Its state is a sum of y xᵀ, and a sum is one step, whatever is trained.",
    ("acts like",),
)

STORY = Story(
    task=Task(_task, EXAMPLE),
    beats=(
        Beat(
            "before",
            "Before training all implied weights are near zero: whatever the pairs say, the answer "
            "is noise.",
            at=FIRST,
            marks=("plane",),
        ),
        Beat(
            "errors",
            "Lines that have left 1 have found what to multiply with what.",
            at=LAST,
            marks=("errors",),
            ask=HOW_MANY,
        ),
        Beat(
            "like",
            "A pale cell: by its answers the learner is this method.",
            at=LAST,
            marks=("acts like",),
            drawer="What it acts like",
            ask=LIKE,
        ),
        Beat("end", _end, at=LAST, marks=("errors", "plane")),
    ),
    tries=(
        Try(
            "Who was still learning when the training ended?",
            drawer="Certificates",
            marks=("certificate",),
        ),
        Try(
            "Pairs that are unlike home's: who has learned a method?",
            fields={"points": "1.5 0: 2; 0 1.8: -1; -2 1: -3"},
            drawer="Your own pairs",
            marks=("own plane",),
        ),
        Try("Another prompt: do the marks keep their order?", fields={"prompt": 3}),
    ),
    brief="Twelve models learn linear regression from the same prompts.",
)
