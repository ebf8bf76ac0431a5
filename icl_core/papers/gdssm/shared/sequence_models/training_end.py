"""How the training of a model of sequences ended, and whether a claim can rest on it.

The learning rate falls to zero along a cosine, so that the last tenth of the steps moves the
weights hardly at all: every loss looks level there. What is looked at instead is the last tenth of
the summed learning rate, which is about the last two fifths of the steps."""

from functools import cache
from typing import NamedTuple

import numpy as np

from icl_core.contract import statistics
from icl_core.contract.experiment import Run
from icl_core.papers.gdssm.shared.sequence_models.train import WARM_UP, Levels
from icl_core.training import loop

NEAR = 1.05  # times gradient descent's loss: as good
LEFT = 0.1  # of predicting zero: a loss that has gained less has not left it
MATTERS = 0.01  # of one step's loss: a fall by less is none
SHARE = 0.1  # of the summed learning rate
ZERO = "at predicting zero"
FALLING = "still falling"
FLAT = "flat"
LOST = "diverged"


class End(NamedTuple):
    """How a training ended, in a word, and why that may decide nothing, in a sentence; empty if it
    is flat. `fall` is that of each seed, [seeds], in the loss's own units; NaN where it diverged.
    """

    word: str
    why: str
    fall: np.ndarray


def levels(run: Run) -> Levels:
    """Return the losses of predicting zero, of one step and of two, on the test set."""
    return _levels(run, "baseline")


def watched(run: Run) -> Levels:
    """Return the same on the tasks of the curves; also of a run that is still going."""
    return _levels(run, "watched")


def _levels(run: Run, which: str) -> Levels:
    """Return the losses of predicting zero, of one step and of two, as the run holds them."""
    zero, one, two = (float(run[f"{which}/{name}"][0]) for name in ("zero", "one", "two"))
    return zero, one, two


@cache
def late(steps: int) -> int:
    """Return the step from which on the last tenth of the summed learning rate is spent."""
    rate = loop.cosine(steps, WARM_UP)
    summed = np.cumsum([rate(step) for step in range(steps)])
    return int(np.searchsorted(summed, (1 - SHARE) * summed[-1]))


def falls(run: Run, curve: np.ndarray) -> np.ndarray:
    """Return how far each seed's loss, of `curve` [seeds, evaluations], fell from there on."""
    before = int(np.searchsorted(run["curve/step"], late(run.config.steps), side="right")) - 1
    return curve[:, max(0, before)] - curve[:, -1]


def end(run: Run, curve: np.ndarray | None) -> End:
    """Return how the training with this curve [seeds, evaluations] ended; None where every rate
    diverged."""
    if curve is None or not np.isfinite(curve).all():
        return End(LOST, "It diverged.", np.full(run.config.seeds, np.nan))
    zero, one, _ = watched(run)
    fall = falls(run, curve)
    if reason := statistics.on_plateau(curve, zero, LEFT, run["curve/step"]):
        return End(ZERO, reason, fall)
    error = statistics.standard_error(fall) or 0.0
    if fall.mean() <= max(2 * error, MATTERS * one):
        return End(FLAT, "", fall)
    share = 1 - late(run.config.steps) / run.config.steps
    reason = (
        f"It fell by {fall.mean() / one:.2g} of one step's loss over the last {share:.0%} of its "
        "steps."
    )
    return End(FALLING, reason, fall)


def undecided(run: Run, curve: np.ndarray | None) -> str:
    """Say why a training cannot tell that its model does not come near one step: it diverged, still
    predicts zero, or falls so fast that as much again would be near, or is as much as near. Empty
    if it can."""
    training_end = end(run, curve)
    if training_end.word != FALLING or curve is None:
        return training_end.why
    one = watched(run)[1]
    fall = training_end.fall.mean()
    matters = fall >= min(NEAR * one - one, curve[:, -1].mean() - NEAR * one)
    return training_end.why if matters else ""
