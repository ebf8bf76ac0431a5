"""Measures what is claimed of trainings at the authors' protocol, on batches that are kept."""

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.memformers.methods import claims
from icl_core.papers.memformers.shared.load_run import log_from_least
from icl_core.papers.memformers.shared.variants import VARIANTS

UNSTATED = "the paper does not say on which prompts it tests, nor n, nor Σ"


def figures(run: Run) -> list[Metric]:
    """Measure the authors' own training, on a batch of 1000 prompts, against conjugate gradient."""
    config = run.config
    own = log_from_least(run["evaluated/train"])
    if VARIANTS[config.variant].moves_covariates:
        ahead = (own - log_from_least(run["baseline/cg_train"]))[:, 1:]
        worse = (_fresh(run) - own)[:, -1]
        return [
            Metric.over_seeds(claims.QUASI_NEWTON, ahead[:, ahead.mean(0).argmax()]),
            Metric.over_seeds(claims.LEARNS_ITS_BATCH, worse),
        ]
    measured: list[Metric] = []
    if claims.KEEPS_UP_LONGER.is_at(config):
        behind = (own - log_from_least(run["baseline/cg_train"]))[:, 5:7]
        worst = behind[:, behind.mean(0).argmax()]
        measured.append(Metric.over_seeds(claims.KEEPS_UP_LONGER, worst, unfinished=UNSTATED))
        measured.append(behind_cgd(run, claims.DEEP_OVERFITS, slice(5, 7)))
    if claims.BEATS_CGD_AT_FOUR.is_at(config):
        at_four = (_fresh(run) - log_from_least(run["baseline/cg"]))[:, 3]  # [seeds]
        reason = _by_batch(at_four)
        measured.append(Metric.over_seeds(claims.BEATS_CGD_AT_FOUR, at_four, reason=reason))
    depths = {claims.BEATS_CGD_TO_THREE: slice(0, 3), claims.KEEPS_UP: slice(0, 4)}
    measured += [
        behind_cgd(run, claim, steps) for claim, steps in depths.items() if claim.is_at(config)
    ]
    return measured


def behind_cgd(run: Run, claim: Claim, steps: slice) -> Metric:
    """Measure the trained model's log-loss less conjugate gradient's at the worst of the depths
    `steps`, the mean over seeds; the error is that of two means over heavy-tailed prompts."""
    behind = (_fresh(run) - log_from_least(run["baseline/cg"])).mean(0)
    depth = int(np.arange(len(behind))[steps][behind[steps].argmax()])
    error = np.hypot(run["evaluated/error"][:, depth].mean(), run["baseline/cg_error"][depth])
    ahead = [layers for layers, gap in enumerate(behind[: steps.stop], 1) if gap < 0]
    open_ended = ahead and 0 < behind[depth] < 2 * error
    reason = (
        f"It is ahead with {', '.join(map(str, ahead))} layers; at {depth + 1}, rare prompts "
        "decide the mean."
    )
    return Metric(claim, float(behind[depth]), float(error), reason=reason if open_ended else "")


def few_prompts(run: Run) -> list[Metric]:
    """Measure the deepest model of a batch of few prompts against conjugate gradient, on that batch
    and on fresh prompts."""
    own = (log_from_least(run["evaluated/train"]) - log_from_least(run["baseline/cg_train"]))[:, -1]
    fresh = (_fresh(run) - log_from_least(run["baseline/cg"]))[:, -1]
    return [
        Metric.over_seeds(claims.FITS_BATCH, own, reason=_by_batch(own)),
        Metric.over_seeds(claims.OVERFITS, fresh),
    ]


def heads(run: Run) -> list[Metric]:
    """Measure several heads against one on the prompts that both were trained on, and on fresh
    ones, as means over three and four layers; the error is that over batches."""
    metrics: list[Metric] = []
    rows = (
        (claims.HEADS_FASTER, "train"),
        (claims.HEADS_TEST, "loss"),
        (claims.HEADS_LOWER, "train"),
    )
    for claim, tested_on in rows:
        if _as_long(claim, run):
            many, one = (
                log_from_least(run[f"{folder}/{tested_on}"])[:, 2:4].mean(1)
                for folder in ("evaluated", "beside/one-head")
            )
            metrics.append(Metric.over_seeds(claim, many - one, reason=_by_batch(many - one)))
    return metrics


def _as_long(claim: Claim, run: Run) -> bool:
    return claim.at is not None and run.config.steps == claim.at["steps"]


def _by_batch(differences: np.ndarray) -> str:
    """Return on how many batches the difference is negative, in words; nothing where all agree."""
    lower = int((differences < 0).sum())
    if lower in (0, len(differences)):
        return ""
    return f"Which prompts they are decides: lower on {lower} of {len(differences)} batches."


def against_linear(run: Run) -> Metric:
    """Measure the trained model's log-loss less that of the linear transformer beside it, the mean
    over two to four layers; the error is that over batches of 1000 fresh prompts, on which both
    were tested."""
    gaps = _paired(run, "beside/linear")[1:4].mean(0)  # [batches]
    reason = _no_gap(run, float(gaps.mean()))
    return Metric.over_seeds(claims.BEATS_LINEAR, gaps, reason=reason)


def _paired(run: Run, other: str) -> np.ndarray:
    """Return the trained model's log-loss less another's on the same batches of 1000 fresh prompts,
    the mean over seeds: [K, batches]."""
    own = log_from_least(run["evaluated/batches"])  # [seeds, K, batches]
    return (own - log_from_least(run[f"{other}/batches"])).mean(0)


def _no_gap(run: Run, gap: float) -> str:
    """Return why memory gains nothing, in words, as far as it is measured: both are at the floor,
    or the gain lies in the batch alone. Nothing where it gains."""
    if claims.BEATS_LINEAR.slack(gap) >= 0:
        return ""
    own, other = (
        log_from_least(run[f"{folder}/train"])[:, 1:4].mean()
        for folder in ("evaluated", "beside/linear")
    )
    if run.config.preconditioner != "full":
        above = (_fresh(run) - log_from_least(run["baseline/floor_scalar"]))[:, 1:4].mean()
        left = "There is nothing left to gain: w" if above < 0.02 else "W"
        return f"{left}ith memory the loss ends {above:.2f} above the floor of A = aI."
    if own < other:
        gain = f"{other - own:.2f}"
        return (
            f"On the batch that both learn from, the Memformer is {gain} lower: the gain is in "
            "that batch."
        )
    return ""


def _fresh(run: Run) -> np.ndarray:
    """Return the log-loss on fresh prompts, [seeds, K]."""
    return log_from_least(run["evaluated/loss"])
