"""The claims, measured."""

import numpy as np

from icl_core.contract.experiment import Metric, Run
from icl_core.papers.birth.counting import claims
from icl_core.papers.birth.counting.strategy import in_order, share_of_gain
from icl_core.statistics.trend import still_falling


def measure(run: Run) -> list[Metric]:
    """Return the measured claims that this run's setting can bear out, the mean over its seeds."""
    excess = run["evaluated/loss"] - run["baseline/loss_bigram_at"].mean()
    exact = Metric.over_seeds(claims.BAYES, excess)
    if run.config.layers == 1:
        apart = run["evaluated/kl_bigram"] - run["evaluated/kl_unigram"]
        return [Metric.over_seeds(claims.ONE_LAYER, apart), exact]
    ordered = np.mean([in_order(run, seed) for seed in range(len(run["curve/loss"]))])
    metrics = [Metric(claims.STAGES, float(ordered), None, _unfinished(run) if ordered < 1 else "")]
    for claim, values in (
        (claims.LOOKS_BACK, run["evaluated/previous"]),
        (claims.TOWARDS_BAYES, share_of_gain(run)),
    ):
        is_short = claim.slack(float(values.mean())) < 0
        unfinished = _unfinished(run) if is_short else ""
        metrics.append(Metric.over_seeds(claim, values, unfinished=unfinished))
    return [*metrics, exact]


def _unfinished(run: Run) -> str:
    return still_falling(run["batch/loss"])
