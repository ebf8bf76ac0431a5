"""What the construction achieves, against the claims."""

import math

import numpy as np

from icl_core.contract.experiment import Metric, Run
from icl_core.papers.birth.constructed import claims


def measure(run: Run) -> list[Metric]:
    """Return the claims that this setting can bear out, measured: means over embeddings, with their
    standard errors."""
    widest = run["sweep/accuracy_kept"][:, -1]
    alone = float(run["sweep/error_kept"][0, -1])
    if not run.config.feed_forward:
        return [Metric.over_seeds(claims.WORKS, widest, alone), *_beside(run)]
    over = at_d(run, "global_loss_kept") - math.log(run.config.N)
    return [
        _bigrams(run),
        Metric.over_seeds(claims.FIT_TOGETHER, widest, alone, reason=_what_W_F_reads(run)),
        Metric.over_seeds(claims.WORSE_THAN_GUESSING, over),
    ]


def _bigrams(run: Run) -> Metric:
    """Return how far W_F alone is from the bigrams at the greatest width; where too far, how that
    depends on the width."""
    alone = run["sweep/kl_W_F_kept"]
    width = run["sweep/width"]
    nats = alone.mean(axis=0)
    reason = ""
    if run.config.embeddings == "random" and len(nats) > 1 and nats[-1] < nats[-2]:
        half, whole = width[-2:]
        reason = (
            "Random embeddings are not orthogonal. The divergence falls as d grows: "
            f"{nats[-2]:.2f} nats at {half}, {nats[-1]:.2f} at {whole}."
        )
    return Metric.over_seeds(claims.BIGRAMS_ENCODED, alone[:, -1], reason=reason)


def at_d(run: Run, measure: str) -> np.ndarray:
    """Return what the sweep has measured at the setting's own width, [seeds]."""
    return run[f"sweep/{measure}"][:, run["sweep/width"] == run.config.d][:, 0]


def shares_closed(run: Run) -> dict[str, np.ndarray]:
    """Return how much of the gap to the trained model is closed, [seeds]: by cleaning the whole
    construction, "stream", and by cleaning each of its matrices alone. Empty where some embedding
    has no gap."""
    kept = at_d(run, "accuracy_kept")
    gap = run["beside/accuracy"] - kept
    if gap.min() <= 0.02:
        return {}
    cleaned = {"stream": at_d(run, "accuracy_stream")}
    cleaned |= {name: run[f"alone/accuracy_{name}"] for name in run.names("memories")}
    return {name: (accuracy - kept) / gap for name, accuracy in cleaned.items()}


def _what_W_F_reads(run: Run) -> str:
    """Return why the accuracy is lost, where leaving out one part of what W_F reads gives most of
    it back."""
    whole, without = (
        float(run[f"reads/accuracy_{name}"].mean()) for name in ("stream", "before_output")
    )
    if without - whole < 0.3:
        return ""
    d = run.config.d
    return (
        f"W_F also acts on what W_O² writes. At d = {d} accuracy is {whole:.0%}; if W_F did not, "
        f"{without:.0%}."
    )


def _beside(run: Run) -> list[Metric]:
    """Return the gap to the models trained at width d, and the share of it that is closed without
    cross-talk."""
    if "beside/accuracy" not in run.tensors:
        return []
    gap = run["beside/accuracy"] - at_d(run, "accuracy_kept")
    shares = shares_closed(run)
    alone = math.hypot(float(run["beside/error"][0]), float(at_d(run, "error_kept")[0]))
    found = [Metric.over_seeds(claims.GAP, gap, alone)]
    if not shares:  # no gap, nothing to close
        return [
            *found,
            *(Metric(claim, float("nan")) for claim in (claims.CLOSED, claims.NOT_THE_FIRST)),
        ]
    for claim, name in ((claims.CLOSED, "stream"), (claims.NOT_THE_FIRST, "W_K1")):
        found.append(Metric.over_seeds(claim, shares[name], alone / float(gap.mean())))
    return found
