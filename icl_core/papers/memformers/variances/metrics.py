"""Measures the claims on a finished run of heads with gates."""

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.memformers.variances import claims
from icl_core.papers.memformers.variances.settings import home_of, met_by, trained_on


def measure(run: Run) -> list[Metric]:
    """How far gated heads are from a head at home, what the gates gain, and which head they use."""
    unseen, H = len(met_by(run.config)), run["own/loss"].shape[1]
    gated, scalar = (np.log(run[f"evaluated/{name}"]) for name in ("gated", "scalar"))  # [seeds, V]
    own = np.log(run["own/loss"])  # [seeds, H]
    found = [
        _worst(claims.ADAPTS, gated[:, :unseen] - own[:, -1:]),
        _told(run, _worst(claims.REACHES, gated[:, unseen:] - own)),
    ]
    share = weighed(run)[:, :unseen].mean(1)[:, -1]  # [seeds]
    if run.config.rotations == "own":
        uneven = run.config.spectrum != "isotropic"
        return [*found, Metric.over_seeds(claims.FINDS, share)] if uneven else found
    found.append(_worst(claims.ONE_SCALAR, (scalar - gated)[:, :unseen]))
    return [*found, Metric.over_seeds(claims.NOT_IDENTIFIED, _by_start(run))] if H > 1 else found


def _worst(claim: Claim, values: np.ndarray) -> Metric:
    """The variance (or head) at which the mean over seeds of [seeds, V] is largest; both were
    evaluated on the same prompts, so that the error is that of a paired difference."""
    return Metric.over_seeds(claim, values[:, values.mean(0).argmax()])


def _told(run: Run, found: Metric) -> Metric:
    """With the reason, where gates do not reach the head at home: what the other heads' gates are
    left at."""
    if (
        run.config.rotations == "common"
        or found.value is None
        or found.claim.slack(found.value) >= 0
    ):
        return found
    shares = np.abs(weighed(run)[:, len(met_by(run.config)) :])  # [seeds, H, H]
    others = shares[:, ~np.eye(shares.shape[-1], dtype=bool)].max()
    reason = (
        f"Heads of another U must be gated off; the largest of their gates is left at {others:.2g} "
        "of a step."
    )
    return Metric(found.claim, found.value, found.error, reason=reason)


def _by_start(run: Run) -> np.ndarray:
    """How far apart the last head's share of a step ends, by where the gates start: [seeds]."""
    ratio = met_by(run.config)[-1] / trained_on(run.config)[-1]
    return np.ptp(run["start/gates"][:, :, -1] * ratio, axis=1)


def weighed(run: Run) -> np.ndarray:
    """g_h σ²/σ_h² of the learned gates, [seeds, V, H]: the share of a whole step that each head
    takes."""
    ratio = run["test_time/variance"][:, None] / np.array(trained_on(run.config))
    return run["gate/value"] * ratio


def at_home(run: Run) -> np.ndarray:
    """The head whose U each variance's prompts have, [V]."""
    return np.array([home_of(run.config, index) for index in range(len(run["test_time/variance"]))])
