"""How the tasks until predicting zero is left grow with f, and what shortens them."""

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.gdssm.plateau.claims import BOTH, CURRICULUM, GROWS
from icl_core.papers.gdssm.plateau.load_run import at_least, budget, left


def measure(run: Run) -> list[Metric]:
    """Measure the claims on the first model. A training that has not left counts with all the tasks
    that it has seen, so that what is divided by it is too large rather than too small."""
    model = run.names("models")[0]
    plain = at_least(run, model, "paper")  # (sizes, seeds)
    metrics = []
    if len(plain) > 1:
        stuck = not np.isfinite(left(run, model, "paper")[0]).all()
        metrics.append(_over_seeds(run, GROWS, plain[-1] / plain[0], stuck))
    for claim, recipe in ((CURRICULUM, "curriculum"), (BOTH, "both")):
        stuck = not np.isfinite(left(run, model, recipe)[-1]).all()
        ratios = at_least(run, model, recipe)[-1] / plain[-1]
        metrics.append(_over_seeds(run, claim, ratios, stuck))
    return metrics


def _over_seeds(run: Run, claim: Claim, ratios: np.ndarray, stuck: bool) -> Metric:
    """Return a claim's metric, not decided where the trainings that had to leave have not."""
    why = f"Some seed has not left predicting zero after {budget(run):,} tasks." if stuck else ""
    return Metric.over_seeds(claim, ratios, unfinished=why)
