"""The lesson on one prompt and many learners. Imports no torch."""

from collections.abc import Callable

from icl_core.contract.experiment import Run
from icl_core.contract.lesson import EXPERIMENTS, PRESETS
from icl_core.contract.paper_words import LessonWords

LARGER = 2.0  # the scale of x that is asked for


def _left(learner: str) -> Callable[[Run], float]:
    """Return the function that gives the share that a learner leaves after all pairs."""
    return lambda run: float(run["lengths/share"][run.names("learners").index(learner), -1])


def _times_bayes(run: Run) -> float:
    at = list(run["broken/scale/at"]).index(LARGER)
    shares = run["broken/scale/share"][:, at]
    ids = run.names("learners")
    return float(shares[ids.index("sum")] / shares[ids.index("bayes")])


def _nearest_to_delta(run: Run) -> tuple[str, float]:
    """Return the reference that the delta rule acts most like, and how far it is from it."""
    distances = run["who/reference"][run.names("learners").index("delta")]
    nearest = int(distances.argmin())
    return run.names("references")[nearest], float(distances[nearest])


LESSON = LessonWords(
    __file__,
    right={
        "one-step": (_left("sum"), 0.01),
        "larger": (_times_bayes, 100.0),
        "delta": (lambda run: _nearest_to_delta(run)[1], 0.002),
    },
    readings={
        "delta": _left("delta"),
        "nearest": lambda run: _nearest_to_delta(run)[0],
    },
).lesson(
    name="one-prompt-many-rules",
    experiment="prompt",
    preset="two",
    working=15,
    fixed={
        "d": 2,
        "n": 10,
        "noise": 0.2,
        "covariance": "narrow",
        "condition": 4.0,
        "rotated": False,
        "target": "white",
        "steps": 2,
        "seed": 0,
    },
    hidden=(PRESETS, EXPERIMENTS, "Evidence"),
    predict=("nearest", "breaks"),
)
