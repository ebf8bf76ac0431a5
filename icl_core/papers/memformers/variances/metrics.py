"""Measures the claims on a finished run of heads with gates."""

from dataclasses import replace

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.figures import number_text
from icl_core.papers.memformers.variances import claims
from icl_core.papers.memformers.variances.settings import (
    AUTHORS_RATE,
    home_of,
    met_by,
    trained_on,
)


def measure(run: Run) -> list[Metric]:
    """Return how far gated heads are from a head at home, what the gates gain, and which head they
    use."""
    unseen = len(met_by(run.config))
    H = run["own/loss"].shape[1]
    gated = np.log(run["evaluated/gated"])  # [seeds, V]
    own = np.log(run["own/loss"])  # [seeds, H]
    metrics = [
        _with_share(run, _worst(claims.ADAPTS, gated[:, :unseen] - own[:, -1:])),
        _with_others(run, _worst(claims.REACHES, gated[:, unseen:] - own)),
    ]
    if claims.AS_PRINTED.is_at(run.config):
        metrics += [_off_printed(run), _printed_above()]
    if run.config.rotations == "own":
        if run.config.spectrum != "isotropic":
            share = weighed(run)[:, :unseen, -1].mean(1)  # [seeds]
            metrics.append(Metric.over_seeds(claims.FINDS, share))
        return metrics
    scalar = np.log(run["evaluated/scalar"])
    metrics.append(_worst(claims.ONE_SCALAR, (scalar - gated)[:, :unseen]))
    if H > 1:
        metrics.append(Metric.over_seeds(claims.NOT_IDENTIFIED, _by_start(run)))
    return metrics


def _worst(claim: Claim, values: np.ndarray) -> Metric:
    """Return the variance (or head) at which the mean over seeds of [seeds, V] is largest; both
    were evaluated on the same prompts, so that the error is that of a paired difference."""
    return Metric.over_seeds(claim, values[:, values.mean(0).argmax()])


def _is_missed(metric: Metric) -> bool:
    return metric.value is not None and metric.claim.slack(metric.value) < 0


def _with_share(run: Run, metric: Metric) -> Metric:
    """Return the metric with its reason, where gates of the authors' training do not reach the head
    at home: how far they have come."""
    if run.config.learner != "authors" or not _is_missed(metric):
        return metric
    shares = weighed(run)[:, : len(met_by(run.config)), -1].mean(0)  # [unseen]
    least = int(shares.argmin())
    reason = (
        f"{run.config.gate_steps} steps of {AUTHORS_RATE} do not take the gates to their end: at "
        f"σ² = {met_by(run.config)[least]:g} that of the head that knows U is at "
        f"{shares[least]:.2g} of a step."
    )
    return replace(metric, reason=reason)


def _with_others(run: Run, metric: Metric) -> Metric:
    """Return the metric with its reason, where gates do not reach the head at home: what the other
    heads' gates are left at."""
    if run.config.rotations == "common" or not _is_missed(metric):
        return metric
    shares = np.abs(weighed(run)[:, len(met_by(run.config)) :])  # [seeds, H, H]
    others = shares[:, ~np.eye(shares.shape[-1], dtype=bool)].max()
    reason = (
        f"Heads of another U must be gated off; the largest of their gates is left at {others:.2g} "
        "of a step."
    )
    return replace(metric, reason=reason)


def _off_printed(run: Run) -> Metric:
    """Return how far the printed points of unseen variances are from the mean over seeds on the
    prompts met, in standard deviations over seeds: at the worst."""
    unseen = met_by(run.config)
    logs = np.log(run["gate/curve"][:, : len(unseen), -1])  # [seeds, unseen]
    if len(logs) < 3:
        return Metric(claims.AS_PRINTED, None)
    printed = np.array([printed_of(variance) for variance in unseen])
    gap = np.abs(logs.mean(0) - printed) / logs.std(0, ddof=1)
    worst = int(gap.argmax())
    reason = (
        f"Farthest off is σ² = {unseen[worst]:g}, {number_text(logs.mean(0)[worst], 2)} here and "
        f"{number_text(printed[worst], 2)} printed; why is not known. Their heads learn B too."
    )
    return Metric(claims.AS_PRINTED, float(gap.max()), reason=reason)


def _printed_above() -> Metric:
    """Return how far the printed points of unseen variances are above that of the head at home, at
    least."""
    home = printed_of(3.0)
    return Metric(claims.PRINTED_ABOVE, min(printed_of(each) - home for each in (0.5, 1.5, 3.5)))


def printed_of(variance: float) -> float:
    """Return what the authors' code prints for a variance, less 2 log σ²: there w* grows with σ²
    too."""
    return claims.PRINTED[variance] - 2 * float(np.log(variance))


def _by_start(run: Run) -> np.ndarray:
    """Return how far apart the last head's share of a step ends, by where the gates start:
    [seeds]."""
    ratio = met_by(run.config)[-1] / trained_on(run.config)[-1]
    return np.ptp(run["start/gates"][:, :, -1] * ratio, axis=1)


def weighed(run: Run) -> np.ndarray:
    """Return g_h σ²/σ_h² of the learned gates, [seeds, V, H]: the share of a whole step that each
    head takes."""
    ratio = run["test_time/variance"][:, None] / np.array(trained_on(run.config))
    return run["gate/value"] * ratio


def at_home(run: Run) -> np.ndarray:
    """Return the head whose U each variance's prompts have, [V]."""
    return np.array([home_of(run.config, index) for index in range(len(run["test_time/variance"]))])
