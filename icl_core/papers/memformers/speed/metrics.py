"""Measures what memory is worth in steps of training on a finished run."""

from collections.abc import Sequence

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.memformers.speed import claims
from icl_core.papers.memformers.speed.crossings import Factors, above_floor, at_best, at_equal
from icl_core.papers.memformers.speed.models import CGD, EQUAL, LFOM, STEPPED

WHERE = "original"


def measure(run: Run) -> list[Metric]:
    """Return the factors at the rate of the claims and at the best ones; how near every model comes
    to the floor."""
    metrics = [_slowest(claims.BEST_RATE, [at_best(run, WHERE, each) for each in (CGD, LFOM)])]
    if (index := _claimed_rate(run)) is not None:
        equal = [at_equal(run, WHERE, each)[index] for each in (CGD, LFOM)]
        metrics += [
            _slowest(claims.EQUAL_RATE, equal),
            _slowest(claims.STEP_SIZES, [at_equal(run, WHERE, STEPPED)[index]]),
            _slowest(claims.MEMORY_ALONE, [at_equal(run, WHERE, CGD, STEPPED)[index]]),
        ]
    return [*metrics, Metric(claims.SAME_FLOOR, _farthest(run))]


def _claimed_rate(run: Run) -> int | None:
    indices = np.flatnonzero(np.isclose(run["rate/values"], claims.RATE))
    return int(indices[0]) if len(indices) else None


def _slowest(claim: Claim, every: Sequence[Factors | None]) -> Metric:
    """Return the least of the mean factors. A lower bound bears the claim out if it is enough, and
    else decides nothing."""
    known = [each for each in every if each is not None and not np.isnan(each.mean)]
    if len(known) < len(every):
        return Metric(claim, None)
    least = min(known, key=lambda each: each.mean)
    bounds = int(least.at_least.sum())
    reason = (
        f"A lower bound: the slower model does not arrive in {bounds} of {len(least.values)} seeds."
        * bool(bounds)
    )
    open_ended = reason if claim.slack(least.mean) < 0 else ""
    return Metric(claim, least.mean, least.error, open_ended, reason, len(least.values))


def _farthest(run: Run) -> float:
    """Return how far above the common floor the worst of models, coordinates and seeds stays at the
    nearest of all rates."""
    rates = range(len(run["rate/values"]))
    nearest = []
    for model in EQUAL:
        for where in run.names("coordinates"):
            above = np.stack([above_floor(run, model, where, rate) for rate in rates])
            # (rates, seeds, points)
            nearest.append(np.where(np.isnan(above), np.inf, above).min((0, 2)))
    return float(np.max(nearest))
