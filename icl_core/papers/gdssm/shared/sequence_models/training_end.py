"""How the training of a model of sequences ended, and whether a claim can rest on it.

The learning rate falls to zero along a cosine, so that the last tenth of the steps moves the
weights hardly at all: every loss looks level there. What is looked at instead is the last tenth of
the summed learning rate, which is about the last two fifths of the steps."""

from functools import cache
from typing import NamedTuple

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.papers.gdssm.shared.sequence_models.train import WARM_UP, Levels
from icl_core.statistics import trend
from icl_core.statistics.over_seeds import standard_error
from icl_core.training import loop

NEAR = 1.05  # times gradient descent's loss: as good
LEFT = 0.1  # of predicting zero: a loss that has gained less has not left it
MATTERS = 0.01  # of one step's loss: a fall by less is none
SHARE = 0.1  # of the summed learning rate
ZERO, FALLING, FLAT, LOST = "at predicting zero", "still falling", "flat", "diverged"


class End(NamedTuple):
    """How a training ended, in a word, and why that may decide nothing, in a sentence; empty if it
    is flat. `fall` is that of each seed, [seeds], in the loss's own units; NaN where it diverged.
    """

    word: str
    why: str
    fall: np.ndarray


def levels(run: Run) -> Levels:
    """Predicting zero, one step and two, on the test set."""
    return _held(run, "baseline")


def watched(run: Run) -> Levels:
    """The same on the tasks of the curves; also of a run that is still going."""
    return _held(run, "watched")


def _held(run: Run, which: str) -> Levels:
    zero, one, two = (float(run[f"{which}/{name}"][0]) for name in ("zero", "one", "two"))
    return zero, one, two


@cache
def late(steps: int) -> int:
    """The step from which on the last tenth of the summed learning rate is spent."""
    rate = loop.cosine(steps, WARM_UP)
    summed = np.cumsum([rate(step) for step in range(steps)])
    return int(np.searchsorted(summed, (1 - SHARE) * summed[-1]))


def falls(run: Run, curve: np.ndarray) -> np.ndarray:
    """How far each seed's loss, of `curve` [seeds, evaluations], fell from there on."""
    before = int(np.searchsorted(run["curve/step"], late(run.config.steps), side="right")) - 1
    return curve[:, max(0, before)] - curve[:, -1]


def end(run: Run, curve: np.ndarray | None) -> End:
    """How the training with this curve [seeds, evaluations] ended; None where every
    rate diverged."""
    if curve is None or not np.isfinite(curve).all():
        return End(LOST, "It diverged.", np.full(run.config.seeds, np.nan))
    zero, one, _ = watched(run)
    fall = falls(run, curve)
    if said := trend.on_plateau(curve, zero, LEFT, run["curve/step"]):
        return End(ZERO, said, fall)
    error = standard_error(fall) or 0.0
    if fall.mean() <= max(2 * error, MATTERS * one):
        return End(FLAT, "", fall)
    share = 1 - late(run.config.steps) / run.config.steps
    said = (
        f"It fell by {fall.mean() / one:.2g} of one step's loss over the last {share:.0%} of its "
        "steps."
    )
    return End(FALLING, said, fall)


def undecided(run: Run, curve: np.ndarray | None) -> str:
    """Why a training cannot tell that its model does not come near one step: it diverged, still
    predicts zero, or falls so fast that as much again would be near, or is as much as near. Empty
    if it can."""
    found = end(run, curve)
    if found.word != FALLING or curve is None:
        return found.why
    one, fall = watched(run)[1], found.fall.mean()
    return found.why if fall >= min(NEAR * one - one, curve[:, -1].mean() - NEAR * one) else ""
