"""Measures the claims on a finished run of heads on a Gaussian mixture."""

import numpy as np

from icl_core.experiment import Metric, Run
from icl_core.papers.memformers.mixture import claims
from icl_core.papers.memformers.shared.read_run import mean_and_error


def metrics(run: Run) -> list[Metric]:
    """Both kinds of head with gates, with Γ learned, and with one scalar: on the same prompts."""
    linear, gated, adapted = (_last(run, each) for each in ("linear/gated", "lfom/gated", "lfom/adapted"))  # [seeds]
    heads = _last(run, "lfom/head_scalar") - _last(run, "linear/head_scalar")  # [seeds, H]
    return [
        Metric(claims.LINEAR_WINS, *mean_and_error(gated - linear)),
        Metric(claims.OVERCOME, *mean_and_error(adapted - linear)),
        Metric(claims.SAME_HEADS, float(np.abs(heads.mean(0)).max())),
    ]


def _last(run: Run, method: str) -> np.ndarray:
    """The log-loss of the deepest models."""
    return np.log(run[f"evaluated/{method}"][:, -1])
