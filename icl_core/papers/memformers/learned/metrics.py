"""Measures the claims on a finished run of methods learned from few prompts and from many."""

import numpy as np

from icl_core.experiment import Metric, Run
from icl_core.papers.memformers.learned import claims
from icl_core.papers.memformers.shared.read_run import log_from_least, mean_and_error

POWER_AT = 2  # steps of the method: of more, the mean over fresh prompts is heavy-tailed


def metrics(run: Run) -> list[Metric]:
    """Few prompts on themselves and on fresh ones; many; and the fall of the excess risk."""
    found, config, sizes = [], run.config, list(run["size/prompts"])
    shared = config.memory == "learned shared"
    if 10 in sizes and shared and 3 <= config.layers < config.d <= config.n:
        found += _from_ten(run, sizes.index(10))
    if 1000 in sizes and shared and config.layers == 4 and config.d == 5:
        last = log_from_least(run["evaluated/loss"])[:, sizes.index(1000), -1]
        found.append(Metric(claims.MANY_SHARED, *mean_and_error(last)))
    found.append(Metric(claims.RISK_FALLS, power(run, min(POWER_AT, config.layers))))
    return found


def _from_ten(run: Run, at: int) -> list[Metric]:
    """The method learned from ten prompts against conjugate gradient: on these, and on fresh ones."""
    own, fresh, cg = (
        log_from_least(run[name])[:, at, -1] for name in ("evaluated/train", "evaluated/loss", "baseline/cg_train")
    )
    behind = log_from_least(run["baseline/cg"])[-1] - fresh
    return [Metric(claims.FEW_FIT, *mean_and_error(cg - own)), Metric(claims.FEW_FAIL, float(np.max(behind)))]


def excess(run: Run, depth: int) -> np.ndarray:
    """The excess risk [seeds, N] of Theorem 5.1: how much more the method of `depth` steps loses on fresh prompts than
    one learned from endlessly many."""
    return run["evaluated/loss"][:, :, depth - 1] - run["endless/loss"][:, None, depth - 1]


def power(run: Run, depth: int) -> float:
    """The power of N at which the mean excess risk falls, by least squares on logarithms; NaN for fewer than two N."""
    mean = excess(run, depth).mean(0)
    seen = mean > 0
    if seen.sum() < 2:
        return float("nan")
    return float(np.polyfit(np.log(run["size/prompts"][seen]), np.log(mean[seen]), 1)[0])
