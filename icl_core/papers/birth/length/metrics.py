"""The claims, measured."""

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.birth.length import claims
from icl_core.papers.birth.length.arrival_times import slopes, times
from icl_core.papers.birth.length.settings import OPTIMISERS

NEVER = "Not every training comes so far at every length."


def measure(run: Run) -> list[Metric]:
    """Return the claims on slopes that the run's task can bear out, the means over seeds."""
    if run.config.repeats == "1":
        return [_slope(run, claims.ONCE_SGD, "sgd"), _slope(run, claims.ONCE_ADAMW, "adamw")]
    if not run.config.in_the_papers_task:
        return _of_a_share(run) if run.config.repeats == "T/16" else []
    return [_slope(run, claims.SGD, "sgd"), _slope(run, claims.ADAMW, "adamw"), _apart(run)]


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
            return [Metric(claims.SHARE, None, unfinished=NEVER)]
        by_optimiser.append(values)
    return [Metric.over_seeds(claims.SHARE, max(by_optimiser, key=np.mean))]


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
        return Metric(claims.POSITIONS, None, unfinished=NEVER)
    difference = slopes(lengths, of_W_K1[arrive]) - slopes(lengths, of_accuracy[arrive])
    return Metric.over_seeds(claims.POSITIONS, difference)
