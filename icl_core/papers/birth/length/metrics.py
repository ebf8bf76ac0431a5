"""The claims, measured."""

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.birth.length import claims
from icl_core.papers.birth.length.arrival_times import slopes, times
from icl_core.papers.birth.length.settings import OPTIMISERS

NEVER = "Not every training comes so far at every length."


def measure(run: Run) -> list[Metric]:
    """Return the slopes, their means over seeds."""
    if run.config.repeats == "1":
        return [_slope(run, claims.ONCE_SGD, "sgd"), _slope(run, claims.ONCE_ADAMW, "adamw")]
    if not run.config.in_the_papers_task:
        return _of_a_share(run) if run.config.repeats == "T/16" else []
    return [_slope(run, claims.SGD, "sgd"), _slope(run, claims.ADAMW, "adamw"), _apart(run)]


def _slope(run: Run, claim: Claim, optimiser: str) -> Metric:
    found = slopes(run["task/lengths"], times(run, "accuracy", optimiser))
    if not len(found):
        return Metric(claim, None, unfinished=NEVER)
    fails = claim.slack(float(found.mean())) < 0
    return Metric.over_seeds(claim, found, reason=_shares(run) if fails else "")


def _of_a_share(run: Run) -> list[Metric]:
    """Return the larger of the slopes with the two optimisers."""
    every = [slopes(run["task/lengths"], times(run, "accuracy", name)) for name in OPTIMISERS]
    if not all(len(found) for found in every):
        return [Metric(claims.SHARE, None, unfinished=NEVER)]
    return [Metric.over_seeds(claims.SHARE, max(every, key=np.mean))]


def _shares(run: Run) -> str:
    """Return what this run has measured of the signal from which the head starts."""
    told = ", ".join(
        f"{share:.0%} at T = {T}"
        for T, share in zip(run["task/lengths"], run["task/even"], strict=True)
    )
    return (
        f"Even attention finds what followed the trigger: {told}. Longer sequences repeat their "
        "triggers more often."
    )


def _apart(run: Run) -> Metric:
    """Seed by seed, of those that arrive everywhere by both measures."""
    first, second = (times(run, measure, "adamw") for measure in ("W_K1", "accuracy"))
    both = np.isfinite(first).all(1) & np.isfinite(second).all(1)
    if not both.any():
        return Metric(claims.POSITIONS, None, unfinished=NEVER)
    apart = slopes(run["task/lengths"], first[both]) - slopes(run["task/lengths"], second[both])
    return Metric.over_seeds(claims.POSITIONS, apart)
