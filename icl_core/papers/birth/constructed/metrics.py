"""What the construction achieves, against the claims."""

import math

from icl_core.experiment import Metric, Run
from icl_core.papers.birth.constructed.claims import CLOSED, GAP, WORKS, WORKS_WITH_BIGRAMS


def metrics(run: Run) -> list[Metric]:
    """The claims that this setting can bear out, measured."""
    claim = WORKS_WITH_BIGRAMS if run.config.feed_forward else WORKS
    widest = Metric(claim, float(run["sweep/accuracy_kept"][-1]), float(run["sweep/error_kept"][-1]))
    return [widest, *_beside(run)] if "beside/accuracy" in run.tensors else [widest]


def at_d(run: Run, measure: str) -> float:
    """What the sweep has measured at the setting's own width."""
    return float(run[f"sweep/{measure}"][run["sweep/width"] == run.config.d][0])


def _beside(run: Run) -> list[Metric]:
    """The gap to the model trained at width d, and the share of it that is closed without cross-talk."""
    kept, kept_error = at_d(run, "accuracy_kept"), at_d(run, "error_kept")
    clean, clean_error = at_d(run, "accuracy_stream"), at_d(run, "error_stream")
    trained, error = float(run["beside/accuracy"][0]), float(run["beside/error"][0])
    gained = trained - kept
    gap = Metric(GAP, gained, math.hypot(error, kept_error))
    if gained <= 0.02:
        return [gap, Metric(CLOSED, float("nan"))]  # no gap, nothing to close
    closed = (clean - kept) / gained
    return [gap, Metric(CLOSED, closed, math.hypot(clean_error, closed * error, (1 - closed) * kept_error) / gained)]
