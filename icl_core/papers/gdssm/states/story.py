"""What is told of the update rules."""

from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.story import FIRST, HEADLINE, LAST, Beat, Question, Story, Task, Try
from icl_core.figures import number_text
from icl_core.papers.gdssm.shared.captions import EXAMPLE
from icl_core.papers.gdssm.shared.load_run import percent
from icl_core.papers.gdssm.states.load_run import farthest, over_one_step, place
from icl_core.papers.gdssm.states.settings import Config

DRIFT = 0.5  # of which the beats speak


def _task(config: Config) -> str:
    drifts = f", which drifts by {config.drift:g} after every pair" if config.drift else ""
    return (
        f"A prompt shows {config.N} examples (x, y) of one linear map W{drifts}, and asks for the "
        "y of a new x. A state of f × f numbers reads them, and the rules differ in what a pair "
        "changes in it."
    )


def _ratio(run: Run, id: str) -> float:
    return float(over_one_step(run)[place(run, id)])


def _two(run: Run) -> float:
    return float(run["baseline/two"][0] / run["baseline/one"][0])


def _better(run: Run, view: Any) -> int:
    ratio = _ratio(run, "delta")
    return 0 if ratio > 1.02 else 1 if ratio > 0.98 else 2


def _better_said(run: Run, view: Any) -> str:
    delta, unit, two = (
        number_text(value, 3) for value in (_ratio(run, "delta"), _ratio(run, "unit"), _two(run))
    )
    return (
        f"Of the loss of one step it has {delta}, and with unit keys {unit}. Two steps on all "
        f"pairs have {two}."
    )


def _squares(run: Run, view: Any) -> str:
    return (
        f"Least squares has {number_text(_ratio(run, 'squares'), 2)} of the loss of one step. It "
        "keeps a second matrix, ∑ x xᵀ, and solves for W: twice the numbers, and more work at "
        "every query."
    )


def _trained(run: Run, view: Any) -> str:
    away = float(farthest(run, "delta").max())
    return (
        "Trained from small random weights, the delta rule has found that x_t is its key, y_t its "
        f"value and the next x its query, to within {number_text(away, 2)}."
    )


def _batches(run: Run, view: Any) -> int:
    ratio = run["batches/share"] / run["baseline/one"]
    inner = ratio[1:-1]
    if not len(inner) or (inner.min() > ratio[0] and inner.max() < ratio[-1]):
        return 1
    return 0 if inner.min() < ratio[0] else 2


def _batches_said(run: Run, view: Any) -> str:
    ratio = run["batches/share"] / run["baseline/one"]
    middle = len(ratio) // 2
    return (
        f"Batches of 1, {middle} and {len(ratio)} pairs have {number_text(float(ratio[0]), 2)}, "
        f"{number_text(float(ratio[middle - 1]), 2)} and 1 of the loss of one step."
    )


def _at_drift(run: Run, id: str) -> float:
    index = int(np.abs(run["drift/at"] - DRIFT).argmin())
    return float(run["drift/share"][place(run, id), index])


def _gates(run: Run, view: Any) -> int:
    index = int(np.abs(run["drift/at"] - DRIFT).argmin())
    decay = run["drift/decay"][place(run, "decayed"), index]
    return 0 if decay > 0.99 else 1 if decay > 0.6 else 2


def _gates_said(run: Run, view: Any) -> str:
    index = int(np.abs(run["drift/at"] - DRIFT).argmin())
    decay = float(run["drift/decay"][place(run, "decayed"), index])
    saved = 1 - _at_drift(run, "decayed") / _at_drift(run, "sum")
    gated = 1 - _at_drift(run, "gated") / _at_drift(run, "unit")
    return (
        f"The best decay of the sum is {number_text(decay, 2)} a pair and saves it "
        f"{percent(saved)} of its loss; a gate saves the delta rule {percent(gated)}."
    )


BETTER = Question(
    "The GD-SSM adds y xᵀ for every pair. The delta rule adds (y − W x) xᵀ, only what it still "
    "gets wrong. Same state, same pairs, each at its best rate: what does the delta rule lose?",
    ("More than one step of gradient descent", "The same", "Less"),
    _better,
    _better_said,
    "A sum counts again what it has from earlier pairs where their x overlap. A rule that corrects "
    "does not, and can afford a larger rate.",
    (HEADLINE, "losses", "batches", "drift"),
)
BATCHES = Question(
    "Between the delta rule, which corrects after each pair, and one step on all pairs lie batches "
    "of 2, 3, … pairs. Where do they end?",
    ("Below both: averaging helps", "In between", "Above both"),
    _batches,
    _batches_said,
    "Within a batch no pair knows what the others have corrected. The larger the batch, the more "
    "is counted twice, and the smaller the rate has to be.",
    ("batches",),
)
GATES = Question(
    "Let W change after every pair: it keeps √(1 − 0.5²) of itself and is given 0.5 times fresh "
    "numbers. Which decay a pair is best for the sum?",
    ("Still 1: every pair counts", "Between 0.6 and 1", "Below 0.6"),
    _gates,
    _gates_said,
    "What was true of W some pairs ago is true in part. A decay gives old pairs less weight. This "
    "is what gates are for.",
    ("drift",),
)

STORY = Story(
    task=Task(_task, EXAMPLE),
    beats=(
        Beat(
            "better",
            "A bar is a rule as it is written, over one step of gradient descent. The sum is 1.",
            at=LAST,
            marks=("losses",),
            ask=BETTER,
        ),
        Beat("squares", _squares, at=LAST, marks=("losses",)),
        Beat(
            "before",
            "Before training the window's coefficients are small and random. Nothing tells the "
            "layer which token is the key.",
            at=FIRST,
            marks=("window", "losses"),
        ),
        Beat("trained", _trained, at=LAST, marks=("window", "losses")),
        Beat(
            "batches",
            "Batches of b pairs lead from the delta rule (left) to the GD-SSM (right).",
            at=LAST,
            marks=("batches",),
            ask=BATCHES,
        ),
        Beat(
            "gates",
            "Towards the right W drifts more, and the rules with a decay leave those without.",
            at=LAST,
            marks=("drift",),
            ask=GATES,
        ),
    ),
    tries=(
        Try(
            "W drifts by 0.3 a pair: does training find the best decay?",
            preset="drift",
            drawer="Forgetting",
            marks=("decays",),
        ),
        Try(
            "Which rules depend on the order of the pairs?",
            drawer="Symmetries",
            marks=("symmetries",),
        ),
        Try(
            "Batches of five pairs: how much of the delta rule's gain is left?",
            fields={"pairs_a_batch": 5},
            marks=("batches",),
        ),
    ),
    brief="Read examples into a state of f × f numbers, and predict one more.",
)
