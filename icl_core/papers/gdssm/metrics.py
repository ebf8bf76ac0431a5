"""Measures the paper's claims on a finished training."""

from dataclasses import replace

import numpy as np

from icl_core.experiment import Claim, Metric, Run
from icl_core.papers.gdssm import claims, sweeps
from icl_core.papers.gdssm.inspection import constructed_of, folded, model_of
from icl_core.papers.gdssm.symmetries import compare


def metrics(run: Run) -> list[Metric]:
    """The claims that this setting can bear out, measured at the worst seed."""
    config = run.config
    if config.layers > 1 and (config.penalty > 0 or config.layers > 2):
        return _several(run)
    found = [_reached(run), *(_several(run) if config.layers == 2 else [])]
    found.append(Metric(_looser(run, claims.WEIGHTS), farthest(run)))
    if config.f > 1:  # of single numbers the cosine is a sign
        found.append(Metric(_looser(run, claims.COSINE), cosine(run)))
    found.append(Metric(claims.SCALES, off_closed_form(run)))
    return [*found, Metric(claims.ROOT_TWO, worse_than_zero(run))] if config.layers == 1 else found


def worst_ratio(run: Run) -> float:
    """Trained over constructed minus 1, of the seed where that is farthest from 0."""
    away = run["judged/ratio"] - 1
    return float(away[np.abs(away).argmax()])


def farthest(run: Run) -> float:
    """The largest difference of any quantity, entry and seed, in units of the construction."""
    trained = model_of(run.config, run.tensors, "final/")
    pairs = compare(folded(trained, run.config.f), constructed_of(run), run.config.N)
    return max(float(each.farthest.max()) for each in pairs)


def cosine(run: Run) -> float:
    """Of the sensitivities after training, at the worst seed."""
    return float(run["curve/sensitivity_cosine"][:, -1].min())


def off_closed_form(run: Run) -> float:
    """The largest relative gap between the loss at any test scale, a mean over seeds, and the closed form."""
    return float(np.abs(run["scale/trained"].mean(0) / run["scale/closed"] - 1).max())


def worse_than_zero(run: Run) -> float:
    """The test scale from which on the mean over seeds is worse than predicting zero."""
    return sweeps.crossing(run["scale/alpha"], run["scale/trained"].mean(0), run["scale/zero"])


def _reached(run: Run) -> Metric:
    if run.config.layers == 2:
        claim = claims.TWO_RATES
    else:
        claim = claims.REACHES_1D if run.config.model == "1-D" else claims.REACHES
    return Metric(claim, worst_ratio(run))


def _several(run: Run) -> list[Metric]:
    """What holds for any number of layers beside the construction with one rate for all."""
    shared, floor = run["baseline/shared"][0], run["baseline/floor"][0]
    found = [Metric(claims.BEATS_SHARED, float((run["judged/loss"] / shared - 1).max()))]
    if run.config.penalty > 0:
        found.append(Metric(claims.UNDOES, float((run["judged/loss"] / floor - 1).max())))
    return found


def _looser(run: Run, claim: Claim) -> Claim:
    """The claim with the tolerance for the models whose gradients are noisier: one label a task, or two layers."""
    if run.config.f == 1 and claim is claims.WEIGHTS and run.config.model == "N-D":
        claim = replace(claim, reason=claims.ONE_FEATURE)
    if run.config.recurrence == "full" and claim is claims.WEIGHTS:
        return replace(claim, reason=claims.MANY)
    if run.config.model == "N-D" and run.config.layers == 1:
        return claim
    return replace(claim, predicted=0.998) if claim is claims.COSINE else replace(claim, tolerance=0.1)
