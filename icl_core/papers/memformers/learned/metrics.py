"""Measures the claims on a finished run of methods learned from few prompts and from many."""

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.memformers.learned import claims
from icl_core.papers.memformers.shared.load_run import log_from_least

SOLVED = -14.0  # a log-loss below it is of prompts that are solved, down to rounding
POWER_AT = 2  # steps of the method: of more, the mean over fresh prompts is heavy-tailed


def measure(run: Run) -> list[Metric]:
    """Return the metrics that the run's setting bears out: of few prompts on themselves and on
    fresh ones, of many, of the printed points, and of the fall of the excess risk."""
    config = run.config
    sizes = list(run["size/prompts"])
    shared = config.memory == "learned shared"
    metrics = []
    if 10 in sizes and shared and 3 <= config.layers < config.d <= config.n:
        metrics += _from_ten(run, sizes.index(10))
    if 1000 in sizes and shared and config.layers == 4 and config.d == 5:
        metrics.append(_generalised(run, sizes.index(1000)))
    if claims.AS_PRINTED.is_at(config):
        metrics += _as_printed(run)
    metrics += _leads(run)
    if config.prompts == "spheres":
        metrics.append(_fall(run, claims.RISK_VANISHES, "loss"))
    else:
        metrics.append(_fall(run, claims.RISK_FALLS, "loss"))
        metrics.append(_fall(run, claims.MEDIAN_FALLS, "median"))
    return [metric for metric in metrics if metric.value is not None and np.isfinite(metric.value)]


def _from_ten(run: Run, index: int) -> list[Metric]:
    """Return the metrics of the method learned from ten prompts, the `index`-th of the sizes,
    against conjugate gradient: on these, and on fresh ones. How deep it falls on its own differs by
    orders of magnitude between seeds, so that the worst of them says more than a mean."""
    own, fresh, cg = (
        log_from_least(run[name])[:, index, -1]
        for name in ("evaluated/train", "evaluated/loss", "baseline/cg_train")
    )
    behind = log_from_least(run["baseline/cg"])[-1] - fresh
    return [
        Metric(claims.FEW_FIT, float(np.min(cg - own))),
        Metric(claims.OVERFITS, float(np.min(fresh - own))),
        Metric(claims.FEW_FAIL, float(np.max(behind))),
    ]


def _generalised(run: Run, index: int) -> Metric:
    """Return how far the method from the `index`-th number of prompts is worse on fresh ones."""
    own, fresh = (
        log_from_least(run[name])[:, index, -1] for name in ("evaluated/train", "evaluated/loss")
    )
    return Metric.over_seeds(claims.GENERALISES, fresh - own)


def _as_printed(run: Run) -> list[Metric]:
    """Return how far the points are from the printed ones on the authors' own prompts, at the
    worst, and how far down ten solved prompts are. Their U is that of the run's first seed."""
    solved: list[float] = []
    gaps: dict[str, float] = {}
    for index, size in enumerate(run["size/prompts"].tolist()):
        own = log_from_least(run["evaluated/train"])[0, index]  # [K]
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


def _fall(run: Run, claim: Claim, of: str) -> Metric:
    """Return the power of N in the excess, in the mean or ("median") on half of the prompts."""
    depth = min(POWER_AT, run.config.layers)
    return Metric(claim, power(run, depth, of), power_error(run, depth, of), count=run.config.seeds)


def lead(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Return the log-loss of the method of most steps less conjugate gradient's, on its own prompts
    and on fresh ones, [seeds, N] each."""
    own = log_from_least(run["evaluated/train"])[..., -1]
    own_cg = log_from_least(run["baseline/cg_train"])[..., -1]
    fresh = log_from_least(run["evaluated/loss"])[..., -1]
    return own - own_cg, fresh - log_from_least(run["baseline/cg"])[-1]


def _leads(run: Run) -> list[Metric]:
    """Return where Memformers learned from batches of 1 to 1000 prompts are ahead of conjugate
    gradient: the least lead on own prompts from 30 on with A = aI, and up to 1000 with full A; and
    the least distance behind on fresh ones up to 300."""
    sizes = run["size/prompts"]
    own, fresh = lead(run)
    metrics: list[Metric] = []
    for claim, gaps, chosen in (
        (claims.SCALAR_LEAD_ENDS, own, sizes >= 30),
        (claims.FULL_LEADS_ON_OWN, -own, sizes >= 1),
        (claims.BEHIND_ON_FRESH, fresh, sizes <= 300),
    ):
        if claim.is_at(run.config):
            kept = gaps[:, chosen]  # [seeds, some N]
            metrics.append(Metric.over_seeds(claim, kept[:, kept.mean(0).argmin()]))
    return metrics


def excess(run: Run, depth: int, of: str = "loss") -> np.ndarray:
    """Return the excess risk of Theorem 5.1, [seeds, N]: how much more the method of `depth` steps
    loses on fresh prompts than one learned from endlessly many, in the mean or ("median") on half
    of them."""
    return run[f"evaluated/{of}"][:, :, depth - 1] - run[f"endless/{of}"][:, None, depth - 1]


def power(run: Run, depth: int, of: str = "loss") -> float:
    """Return the power of N at which the mean excess over seeds falls, by least squares on
    logarithms; NaN for fewer than two N."""
    return _slope(run["size/prompts"], excess(run, depth, of).mean(0))


def power_error(run: Run, depth: int, of: str = "loss") -> float | None:
    """Return the standard error of `power`, from what it is without each seed in turn (the
    jackknife); None for fewer than three seeds."""
    every = excess(run, depth, of)  # [seeds, N]
    count = len(every)
    if count < 3:
        return None
    sizes = run["size/prompts"]
    slopes = [_slope(sizes, np.delete(every, seed, 0).mean(0)) for seed in range(count)]
    return float(((count - 1) * np.var(slopes)) ** 0.5)


def _slope(sizes: np.ndarray, mean: np.ndarray) -> float:
    positive = mean > 0
    if positive.sum() < 2:
        return float("nan")
    return float(np.polyfit(np.log(sizes[positive]), np.log(mean[positive]), 1)[0])
