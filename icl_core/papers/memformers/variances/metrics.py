"""Measures the claims on a finished run of heads with gates."""

import numpy as np

from icl_core.experiment import Claim, Metric, Run
from icl_core.papers.memformers.shared.read_run import mean_and_error
from icl_core.papers.memformers.variances import claims
from icl_core.papers.memformers.variances.settings import met_by, trained_on


def metrics(run: Run) -> list[Metric]:
    """How far gated heads are from the floor, what the gates gain, and which head they use."""
    unseen, H = len(met_by(run.config)), run["own/loss"].shape[1]
    gated, scalar = (np.log(run[f"evaluated/{name}"][:, :unseen]) for name in ("gated", "scalar"))  # [seeds, V]
    found = [_worst(claims.ADAPTS, gated - np.log(run["baseline/floor"][-1])), _at_home(run, unseen)]
    share = weighed(run)[:, :unseen].mean(1)  # [seeds, H]
    if run.config.rotations == "own":
        uneven = run.config.spectrum != "isotropic"
        return [*found, Metric(claims.FINDS, *mean_and_error(share[:, 0]))] if uneven else found
    found.append(_worst(claims.ONE_SCALAR, scalar - gated))
    return [*found, Metric(claims.LAST_HEAD, *mean_and_error(share[:, -1]))] if H > 1 else found


def _worst(claim: Claim, values: np.ndarray) -> Metric:
    """The variance (or head) at which the mean over seeds of [seeds, V] is largest."""
    return Metric(claim, *mean_and_error(values[:, values.mean(0).argmax()]))


def _at_home(run: Run, unseen: int) -> Metric:
    """Gates against each head on the variance that it was trained on, and what the other heads' gates are left at."""
    found = _worst(claims.REACHES, np.log(run["evaluated/gated"][:, unseen:] / run["own/loss"]))
    if run.config.rotations == "common" or found.claim.slack(found.value or 0.0) >= 0:
        return found
    shares = np.abs(weighed(run)[:, unseen:])  # [seeds, H, H]
    others = shares[:, ~np.eye(shares.shape[-1], dtype=bool)].max()
    reason = f"Heads of another U must be gated off; the largest of their gates is left at {others:.2g} of a step."
    return Metric(found.claim, found.value, found.error, reason=reason)


def weighed(run: Run) -> np.ndarray:
    """g_h σ²/σ_h² of the learned gates, [seeds, V, H]: the share of a whole step that each head takes."""
    ratio = run["test_time/variance"][:, None] / np.array(trained_on(run.config))
    return run["gate/value"] * ratio
