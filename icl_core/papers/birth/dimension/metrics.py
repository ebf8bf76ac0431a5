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
    """Return what this run's widths can bear out, the means over seeds."""
    widths = run["task/widths"].tolist()
    means = over_training(run)
    # [seeds, widths]
    best = at_rates(means, tuned(run))
    plain = at_rates(means, fixed(run))
    arrived = np.minimum(halves(run, tuned(run))[:, widths.index(ENOUGH)], run["curve/step"][-1])
    found = [_least(claims.FASTER, np.diff(best)), Metric.over_seeds(claims.ENOUGH, arrived)]
    if HIGH in widths:
        kept = plain / np.maximum(best, 1e-6)
        lost = kept[:, widths.index(HIGH)] - kept[:, widths.index(LOW)]
        found.append(Metric.over_seeds(claims.UNTUNED, lost))
        found.append(_conditioned(run))
    return [*found, *_one_step(run)]


def _conditioned(run: Run) -> Metric:
    """Return how the condition number changes with a doubling of the width, where it changes
    least."""
    widths = run["task/widths"]
    numbers = run["conditioning/number"][:, widths >= ENOUGH]  # [seeds, widths]
    ratios = numbers[:, 1:] / numbers[:, :-1]  # [seeds, doublings]
    return Metric.over_seeds(claims.CONDITIONED, ratios[:, ratios.mean(0).argmax()])


def _least(claim: Claim, gains: np.ndarray) -> Metric:
    """Return the least of several gains [seeds, gains], by their means over seeds."""
    return Metric.over_seeds(claim, gains[:, gains.mean(0).argmin()])


def _one_step(run: Run) -> list[Metric]:
    widths = run["task/widths"]
    numbers = run["task/numbers"].tolist()
    recall = run["one_step/recall"]
    ratio = run["one_step/noise"] / run["theory/noise"]  # [seeds, numbers, widths]
    # the numbers of batches share embeddings and data, so only widths and seeds are independent
    # draws
    error = float(
        (run["one_step/noise_error"] / run["theory/noise"]).mean() / ratio[:, 0].size ** 0.5
    )
    few = recall[:, numbers.index(FEW), widths.tolist().index(ENOUGH)]
    apart = np.abs(recall.mean(0) - at_widths(run))[:, widths >= FROM].max()
    return [
        Metric.over_seeds(claims.HANDFUL, few),
        _least(claims.EASIER, np.diff(recall.mean(1))),
        Metric(claims.NOISE, float(ratio.mean()), error),
        Metric(claims.PREDICTED, float(apart)),
    ]
