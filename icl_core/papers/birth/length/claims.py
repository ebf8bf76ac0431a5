"""What Musat et al. find, compared with these trainings, and what is found here."""

from functools import partial

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.birth.length.arrival_times import slopes, times
from icl_core.papers.birth.length.settings import OPTIMISERS

NEVER = "Not every training comes so far at every length."

# three seeds, as one decides nothing; the simplified transformer or the full one
EITHER = {"seeds": range(3, 6), "full": (False, True)}
quadratic = partial(
    Claim,
    kind="ours",
    source="Musat et al. 2025",
    at=EITHER,
    near=2.0,
    tolerance=0.5,
)
TEXT = (
    "Musat et al. find, in a task of their own, that the time until an induction head emerges "
    "grows with the square of the context length. In this paper's task, with {}, we take the slope "
    "of log steps until accuracy is 80% against log T; 2 would be quadratic."
)

SGD = quadratic(
    id="quadratic-sgd",
    label="slope of the time to 80%, SGD",
    text=TEXT.format("SGD"),
    panel="accuracy",
)
ADAMW = quadratic(
    id="quadratic-adamw",
    label="slope of the time to 80%, AdamW",
    text=TEXT.format("AdamW"),
    panel="growth",
)
POSITIONS = Claim(
    id="positions-slower",
    panel="table",
    label="slope of W_K¹ less that of accuracy, AdamW",
    kind="ours",
    text="The time of W_K¹, which stores a pair for every position, grows faster with the length "
    "than accuracy's, by a power of at least 0.2.",
    source="not in a paper",
    at=EITHER,
    at_least=0.2,
)

once = partial(quadratic, at={"seeds": range(3, 6), "repeats": "1", "K": 1})
ONCE = (
    "Where the trigger has come exactly once before (Theorem 3's data and the model of its proof), "
    "the time grows with the square of the length: the slope of log steps until accuracy is 80% "
    "against log T, with {}, from T = 32 to 128."
)
ONCE_SGD = once(
    id="once-sgd",
    label="one occurrence: slope, SGD",
    text=ONCE.format("SGD"),
    panel="accuracy",
)
ONCE_ADAMW = once(
    id="once-adamw",
    label="one occurrence: slope, AdamW",
    text=ONCE.format("AdamW"),
    panel="growth",
)
SHARE = Claim(
    id="one-in-sixteen",
    panel="accuracy",
    label="an occurrence in sixteen positions: the larger slope",
    kind="ours",
    text="In the same model, where each of four triggers has come once in sixteen positions, the "
    "time grows more slowly than the length itself: with both optimisers the slope is below 1.",
    source="not in a paper",
    at={"seeds": range(3, 6), "repeats": "T/16", "K": 4},
    at_most=1.0,
)

ALL = (SGD, ADAMW, POSITIONS, ONCE_SGD, ONCE_ADAMW, SHARE)


def measure(run: Run) -> list[Metric]:
    """Return the claims on slopes that the run's task can bear out, the means over seeds."""
    if run.config.repeats == "1":
        return [_slope(run, ONCE_SGD, "sgd"), _slope(run, ONCE_ADAMW, "adamw")]
    if not run.config.in_the_papers_task:
        return _of_a_share(run) if run.config.repeats == "T/16" else []
    return [_slope(run, SGD, "sgd"), _slope(run, ADAMW, "adamw"), _apart(run)]


def _slope(run: Run, claim: Claim, optimiser: str) -> Metric:
    """Return the slope of the time to the head with an optimiser, as the measure of a claim."""
    values = slopes(run["task/lengths"], times(run, "accuracy", optimiser))  # [seeds]
    if not len(values):
        return Metric(claim, None, unfinished=NEVER)
    fails = claim.slack(float(values.mean())) < 0
    return Metric.over_seeds(claim, values, reason=_shares(run) if fails else "")


def _of_a_share(run: Run) -> list[Metric]:
    """Return the larger of the slopes with the two optimisers."""
    by_optimiser = []
    for name in OPTIMISERS:
        values = slopes(run["task/lengths"], times(run, "accuracy", name))  # [seeds]
        if not len(values):
            return [Metric(SHARE, None, unfinished=NEVER)]
        by_optimiser.append(values)
    return [Metric.over_seeds(SHARE, max(by_optimiser, key=np.mean))]


def _shares(run: Run) -> str:
    """Return a sentence on the signal from which the head starts, as this run has measured it."""
    by_length = ", ".join(
        f"{share:.0%} at T = {T}"
        for T, share in zip(run["task/lengths"], run["task/even"], strict=True)
    )
    return (
        f"Even attention finds what followed the trigger: {by_length}. Longer sequences repeat "
        "their triggers more often."
    )


def _apart(run: Run) -> Metric:
    """Return the slope of W_K1's time less that of accuracy's with AdamW, seed by seed, of the
    seeds that arrive at every length by both measures."""
    lengths = run["task/lengths"]
    of_W_K1 = times(run, "W_K1", "adamw")  # [seeds, lengths]
    of_accuracy = times(run, "accuracy", "adamw")  # [seeds, lengths]
    arrive = np.isfinite(of_W_K1).all(1) & np.isfinite(of_accuracy).all(1)  # [seeds]
    if not arrive.any():
        return Metric(POSITIONS, None, unfinished=NEVER)
    difference = slopes(lengths, of_W_K1[arrive]) - slopes(lengths, of_accuracy[arrive])
    return Metric.over_seeds(POSITIONS, difference)
