"""What the construction achieves, measured against the claims."""

import math

import numpy as np

from icl_core.contract.experiment import Metric, Run
from icl_core.papers.birth.constructed import claims


def measure(run: Run) -> list[Metric]:
    """Return the measured claims that this setting can bear out: means over embeddings, with their
    standard errors."""
    accuracy = run["sweep/accuracy_kept"][:, -1]  # (seeds,), at the greatest width
    error = float(run["sweep/error_kept"][0, -1])
    if not run.config.feed_forward:
        return [Metric.over_seeds(claims.WORKS, accuracy, error), *_beside(run)]
    excess = at_d(run, "global_loss_kept") - math.log(run.config.N)  # (seeds,), nats
    return [
        _bigrams(run),
        Metric.over_seeds(claims.FIT_TOGETHER, accuracy, error, reason=_what_W_F_reads(run)),
        Metric.over_seeds(claims.WORSE_THAN_GUESSING, excess),
    ]


def _bigrams(run: Run) -> Metric:
    """Return how far W_F alone is from the bigrams at the greatest width; as the reason, if
    embeddings are random, how that depends on the width."""
    divergences = run["sweep/kl_W_F_kept"]  # (seeds, widths)
    nats = divergences.mean(axis=0)  # (widths,)
    reason = ""
    if run.config.embeddings == "random" and len(nats) > 1 and nats[-1] < nats[-2]:
        half, whole = run["sweep/width"][-2:]
        reason = (
            "Random embeddings are not orthogonal. The divergence falls as d grows: "
            f"{nats[-2]:.2f} nats at {half}, {nats[-1]:.2f} at {whole}."
        )
    return Metric.over_seeds(claims.BIGRAMS_ENCODED, divergences[:, -1], reason=reason)


def at_d(run: Run, measure: str) -> np.ndarray:
    """Return a measure of the sweep at the setting's own width, [seeds]."""
    return run[f"sweep/{measure}"][:, run["sweep/width"] == run.config.d][:, 0]


def shares_closed(run: Run) -> dict[str, np.ndarray]:
    """Return the share of the gap to the trained model that is closed, [seeds], by what is cleaned:
    the whole construction, "stream", or one of its matrices alone, by its name. Empty where some
    embedding has no gap."""
    constructed = at_d(run, "accuracy_kept")
    gap = run["beside/accuracy"] - constructed
    if gap.min() <= 0.02:
        return {}
    cleaned = {"stream": at_d(run, "accuracy_stream")}
    for name in run.names("memories"):
        cleaned[name] = run[f"alone/accuracy_{name}"]
    return {name: (accuracy - constructed) / gap for name, accuracy in cleaned.items()}


def _what_W_F_reads(run: Run) -> str:
    """Return why the accuracy is lost, where leaving out one part of what W_F reads gives most of
    it back."""
    whole = float(run["reads/accuracy_stream"].mean())
    without = float(run["reads/accuracy_before_output"].mean())
    if without - whole < 0.3:
        return ""
    d = run.config.d
    return (
        f"W_F also acts on what W_O² writes. At d = {d} accuracy is {whole:.0%}; if W_F did not, "
        f"{without:.0%}."
    )


def _beside(run: Run) -> list[Metric]:
    """Return the gap to the models trained at width d, and the share of it that is closed without
    cross-talk; nothing where no model was trained."""
    if "beside/accuracy" not in run.tensors:
        return []
    gap = run["beside/accuracy"] - at_d(run, "accuracy_kept")  # (seeds,)
    error = math.hypot(float(run["beside/error"][0]), float(at_d(run, "error_kept")[0]))
    metrics = [Metric.over_seeds(claims.GAP, gap, error)]
    shares = shares_closed(run)
    for claim, name in ((claims.CLOSED, "stream"), (claims.NOT_THE_FIRST, "W_K1")):
        if shares:
            metrics.append(Metric.over_seeds(claim, shares[name], error / float(gap.mean())))
        else:  # no gap, nothing to close
            metrics.append(Metric(claim, float("nan")))
    return metrics
