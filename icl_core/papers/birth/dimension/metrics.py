"""The claims, measured."""

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.birth.dimension import claims
from icl_core.papers.birth.dimension.tuned_rates import (
    FROM,
    at_rates,
    at_widths,
    fixed,
    halves,
    over_training,
    tuned,
)

# widths that claims name, and a handful of batches
LOW = 32
HIGH = 512
ENOUGH = 128
FEW = 4


def measure(run: Run) -> list[Metric]:
    """Return the claims that this run's widths can bear out, the means over seeds."""
    widths = run["task/widths"].tolist()
    recalls = over_training(run)  # (seeds, widths, rates)
    at_tuned = at_rates(recalls, tuned(run))  # (seeds, widths)
    at_fixed = at_rates(recalls, fixed(run))  # (seeds, widths)
    arrivals = halves(run, tuned(run))[:, widths.index(ENOUGH)]  # (seeds,)
    # what never arrives counts as arriving at the training's end
    steps = np.minimum(arrivals, run["curve/step"][-1])
    metrics = [_least(claims.FASTER, np.diff(at_tuned)), Metric.over_seeds(claims.ENOUGH, steps)]
    if HIGH in widths:
        shares = at_fixed / np.maximum(at_tuned, 1e-6)  # (seeds, widths)
        difference = shares[:, widths.index(HIGH)] - shares[:, widths.index(LOW)]  # (seeds,)
        metrics.append(Metric.over_seeds(claims.UNTUNED, difference))
        metrics.append(_conditioned(run))
    return [*metrics, *_one_step(run)]


def _conditioned(run: Run) -> Metric:
    """Return the condition number after a doubling of the width over that before, for the doubling
    from ENOUGH on where the ratio is largest."""
    widths = run["task/widths"]
    numbers = run["conditioning/number"][:, widths >= ENOUGH]  # (seeds, widths)
    ratios = numbers[:, 1:] / numbers[:, :-1]  # (seeds, doublings)
    return Metric.over_seeds(claims.CONDITIONED, ratios[:, ratios.mean(0).argmax()])


def _least(claim: Claim, gains: np.ndarray) -> Metric:
    """Return the least of several gains [seeds, gains], by their means over seeds."""
    return Metric.over_seeds(claim, gains[:, gains.mean(0).argmin()])


def _one_step(run: Run) -> list[Metric]:
    """Return the claims on the one-step memory."""
    widths = run["task/widths"]
    numbers = run["task/numbers"].tolist()
    recall = run["one_step/recall"]  # (seeds, numbers, widths)
    few = recall[:, numbers.index(FEW), widths.tolist().index(ENOUGH)]  # (seeds,)
    ratio = run["one_step/noise"] / run["theory/noise"]  # (seeds, numbers, widths)
    # The numbers of batches share embeddings and data, so only widths and seeds are independent
    # draws.
    independent = ratio[:, 0].size
    errors = run["one_step/noise_error"] / run["theory/noise"]  # (seeds, numbers, widths)
    error = float(errors.mean() / independent**0.5)
    differences = np.abs(recall.mean(0) - at_widths(run))  # (numbers, widths)
    largest = differences[:, widths >= FROM].max()
    return [
        Metric.over_seeds(claims.HANDFUL, few),
        _least(claims.EASIER, np.diff(recall.mean(1))),
        Metric(claims.NOISE, float(ratio.mean()), error),
        Metric(claims.PREDICTED, float(largest)),
    ]
