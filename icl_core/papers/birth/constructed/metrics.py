"""What the construction achieves, against the claims."""

import math

import numpy as np

from icl_core.experiment import Metric, Run
from icl_core.papers.birth.constructed import claims


def metrics(run: Run) -> list[Metric]:
    """The claims that this setting can bear out, measured: means over embeddings, with their standard errors."""
    widest, error = float(run["sweep/accuracy_kept"][:, -1].mean()), _error(run, "accuracy_kept", -1)
    if not run.config.feed_forward:
        return [Metric(claims.WORKS, widest, error), *_beside(run)]
    over = at_d(run, "global_loss_kept") - claims.UNIFORM_GUESS
    return [
        _bigrams(run),
        Metric(claims.FIT_TOGETHER, widest, error, reason=_what_W_F_reads(run)),
        Metric(claims.BETTER_THAN_GUESSING, float(over.mean()), seeds_error(over)),
    ]


def _bigrams(run: Run) -> Metric:
    """How far W_F alone is from the bigrams at the greatest width; where too far, how that depends on the width."""
    alone, width = run["sweep/kl_W_F_kept"], run["sweep/width"]
    nats, reason = alone.mean(axis=0), ""
    if claims.BIGRAMS_ENCODED.slack(float(nats[-1])) < 0 and len(nats) > 1:
        half, whole = width[-2:]
        reason = (
            f"Random embeddings are not orthogonal. The divergence falls with d: {nats[-2]:.2f} nats at {half}, "
            f"{nats[-1]:.2f} at {whole}."
        )
    return Metric(claims.BIGRAMS_ENCODED, float(nats[-1]), seeds_error(alone[:, -1]), reason=reason)


def at_d(run: Run, measure: str) -> np.ndarray:
    """What the sweep has measured at the setting's own width, [seeds]."""
    return run[f"sweep/{measure}"][:, run["sweep/width"] == run.config.d][:, 0]


def seeds_error(values: np.ndarray) -> float | None:
    """The standard error of the mean of a value a seed; None for a single seed."""
    return float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else None


def shares_closed(run: Run) -> dict[str, np.ndarray]:
    """How much of the gap to the trained model is closed, [seeds]: by cleaning the whole construction, "stream", and by
    cleaning each of its matrices alone. Empty where there is no gap."""
    kept = at_d(run, "accuracy_kept")
    gap = run["beside/accuracy"] - kept
    if gap.mean() <= 0.02:
        return {}
    cleaned = {"stream": at_d(run, "accuracy_stream")}
    cleaned |= {name: run[f"alone/accuracy_{name}"] for name in run.names("memories")}
    return {name: (accuracy - kept) / gap for name, accuracy in cleaned.items()}


def _error(run: Run, measure: str, column: int) -> float:
    """The standard error over embeddings, or that of evaluating a single one."""
    over_seeds = seeds_error(run[f"sweep/{measure}"][:, column])
    return float(run["sweep/error_kept"][0, column]) if over_seeds is None else over_seeds


def _what_W_F_reads(run: Run) -> str:
    """Why the accuracy is lost, where leaving out one part of what W_F reads gives most of it back."""
    whole, without = (float(run[f"reads/accuracy_{name}"].mean()) for name in ("stream", "before_output"))
    if without - whole < 0.3:
        return ""
    d = run.config.d
    return f"W_F acts on what W_O² writes: at d = {d}, if it does not, accuracy is {without:.2f}, not {whole:.2f}."


def _beside(run: Run) -> list[Metric]:
    """The gap to the models trained at width d, and the share of it that is closed without cross-talk."""
    if "beside/accuracy" not in run.tensors:
        return []
    gap, shares = run["beside/accuracy"] - at_d(run, "accuracy_kept"), shares_closed(run)
    alone = math.hypot(float(run["beside/error"][0]), float(at_d(run, "error_kept")[0]))
    found = [Metric(claims.GAP, float(gap.mean()), seeds_error(gap) or alone)]
    if not shares:  # no gap, nothing to close
        return [*found, *(Metric(claim, float("nan")) for claim in (claims.CLOSED, claims.NOT_THE_FIRST))]
    for claim, name in ((claims.CLOSED, "stream"), (claims.NOT_THE_FIRST, "W_K1")):
        error = seeds_error(shares[name]) or alone / float(gap.mean())
        found.append(Metric(claim, float(shares[name].mean()), error))
    return found
