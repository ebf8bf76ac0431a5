"""Measures the claims on a finished run of methods learned from few prompts and from many."""

import numpy as np

from icl_core.contract.experiment import Metric, Run
from icl_core.papers.memformers.learned import claims
from icl_core.papers.memformers.shared.load_run import log_from_least

SOLVED = -14.0  # a log-loss below it is of prompts that are solved, down to rounding
POWER_AT = 2  # steps of the method: of more, the mean over fresh prompts is heavy-tailed


def measure(run: Run) -> list[Metric]:
    """Few prompts on themselves and on fresh ones; many; and the fall of the excess risk."""
    found, config, sizes = [], run.config, list(run["size/prompts"])
    shared = config.memory == "learned shared"
    if 10 in sizes and shared and 3 <= config.layers < config.d <= config.n:
        found += _from_ten(run, sizes.index(10))
    if 1000 in sizes and shared and config.layers == 4 and config.d == 5:
        found.append(_generalised(run, sizes.index(1000)))
    if claims.AS_PRINTED.is_at(config):
        found += _as_printed(run)
    depth = min(POWER_AT, config.layers)
    found += [
        Metric(claims.RISK_FALLS, power(run, depth), power_error(run, depth)),
        Metric(claims.MEDIAN_FALLS, power(run, depth, "median"), power_error(run, depth, "median")),
    ]
    return [metric for metric in found if metric.value is not None and np.isfinite(metric.value)]


def _from_ten(run: Run, at: int) -> list[Metric]:
    """The method learned from ten prompts against conjugate gradient: on these, and on fresh ones.
    How deep it falls on its own differs by orders of magnitude between seeds, so that the worst of
    them says more than a mean."""
    own, fresh, cg = (
        log_from_least(run[name])[:, at, -1]
        for name in ("evaluated/train", "evaluated/loss", "baseline/cg_train")
    )
    behind = log_from_least(run["baseline/cg"])[-1] - fresh
    return [
        Metric(claims.FEW_FIT, float(np.min(cg - own))),
        Metric(claims.OVERFITS, float(np.min(fresh - own))),
        Metric(claims.FEW_FAIL, float(np.max(behind))),
    ]


def _generalised(run: Run, at: int) -> Metric:
    """A method learned from many prompts, on fresh ones against these."""
    own, fresh = (
        log_from_least(run[name])[:, at, -1] for name in ("evaluated/train", "evaluated/loss")
    )
    return Metric.over_seeds(claims.GENERALISES, fresh - own)


def _as_printed(run: Run) -> list[Metric]:
    """How far the points are from the printed ones on the authors' own prompts, at the worst; and
    how far down ten solved prompts are. Their U is that of the run's first seed."""
    solved: list[float] = []
    gaps: dict[str, float] = {}
    for at, size in enumerate(run["size/prompts"].tolist()):
        own = log_from_least(run["evaluated/train"])[0, at]  # [K]
        for depth, point in enumerate(claims.PRINTED.get(size, ())):
            if point < SOLVED:
                solved.append(float(own[depth]))
            else:
                where = f"{size} prompts, {depth + 1} step{'s' * (depth > 0)}"
                gaps[where] = float(abs(own[depth] - point))
    worst = max(gaps, key=lambda where: gaps[where])
    cg = np.abs(log_from_least(run["authors/cg"]) - claims.PRINTED_CGD)
    return [
        Metric(claims.AS_PRINTED, gaps[worst], reason=f"Largest at {worst}."),
        Metric(claims.TEN_SOLVED, max(solved)),
        Metric(claims.CGD_AS_PRINTED, float(cg.max())),
    ]


def excess(run: Run, depth: int, of: str = "loss") -> np.ndarray:
    """The excess risk [seeds, N] of Theorem 5.1: how much more the method of `depth` steps loses on
    fresh prompts than one learned from endlessly many, in the mean or ("median") on half of them.
    """
    return run[f"evaluated/{of}"][:, :, depth - 1] - run[f"endless/{of}"][:, None, depth - 1]


def power(run: Run, depth: int, of: str = "loss") -> float:
    """The power of N at which the mean excess over seeds falls, by least squares on logarithms; NaN
    for fewer than two N."""
    return _slope(run["size/prompts"], excess(run, depth, of).mean(0))


def power_error(run: Run, depth: int, of: str = "loss") -> float | None:
    """The standard error of `power`, from what it is without each seed in turn (the jackknife)."""
    every = excess(run, depth, of)
    count = len(every)
    if count < 3:
        return None
    slopes = np.array(
        [_slope(run["size/prompts"], np.delete(every, seed, 0).mean(0)) for seed in range(count)]
    )
    return float(((count - 1) * slopes.var()) ** 0.5)


def _slope(sizes: np.ndarray, mean: np.ndarray) -> float:
    seen = mean > 0
    if seen.sum() < 2:
        return float("nan")
    return float(np.polyfit(np.log(sizes[seen]), np.log(mean[seen]), 1)[0])
