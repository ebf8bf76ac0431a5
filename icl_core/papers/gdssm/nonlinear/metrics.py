"""Trained layers beside constructed ones, by the median over pairs of seeds; losses at the
worst seed; and what the MLP has learned."""

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.gdssm.nonlinear.claims import (
    BETTER,
    BETTER_PLAIN,
    FEATURES,
    GATE,
    IDEAL,
    LINE,
    REACHES,
)
from icl_core.papers.gdssm.nonlinear.load_run import learned, model_at
from icl_core.papers.gdssm.shared.load_run import percent
from icl_core.statistics import median, trend

LITTLE = 0.01  # of the loss of a model that is compared with another


def measure(run: Run) -> list[Metric]:
    """Measure all claims, each undecided where a model that it is about was not yet trained to its
    end."""
    pairs = (
        (REACHES, "linear gate trained", "linear gate"),
        (BETTER, "linear gate trained", "linear gate"),
        (BETTER_PLAIN, "linear trained", "linear"),
        (GATE, "linear gate trained", "linear trained"),
    )
    comparisons = [_paired(run, claim, id, other) for claim, id, other in pairs]
    # of the worse wave, seed by seed
    r2 = [learned(model_at(run, "mlp", -1, row)).r2.min() for row in range(run.config.seeds)]
    ideal, line = (float(run[f"baseline/{name}"][0]) for name in ("ideal", "line"))
    return [
        *comparisons,
        Metric(
            IDEAL,
            float(run["evaluated/mlp gate"].max() / ideal - 1),
            unfinished=unfinished(run, "mlp gate"),
        ),
        Metric(LINE, float(run["evaluated/state"].min() / line)),
        Metric(FEATURES, float(min(r2)), unfinished=unfinished(run, "mlp")),
    ]


def _paired(run: Run, claim: Claim, id: str, other: str) -> Metric:
    """Measure a claim on two models by the median over pairs of seeds; where it fails over many of
    them, say for how many it holds."""
    value, error = median_over(run, id, other, claim.bound + claim.tolerance)
    why = unfinished(run, id, LITTLE) or unfinished(run, other, LITTLE)
    fails = claim.slack(value) < 0 and f"many/{id}" in run.tensors
    reason = _holds_for(ratios(run, id, other), claim) if fails else ""
    return Metric(claim, value, error, why, reason)


def _holds_for(above: np.ndarray, claim: Claim) -> str:
    """Say for how many seeds the claim holds, of `above` [seeds], a model's loss over the other's
    less 1."""
    count = int((above <= claim.bound + claim.tolerance).sum())
    best = f", the best of them {percent(-above.min())} below" if above.min() < 0 else ""
    return f"It holds for {count} of {len(above)} seeds{best}."


def losses_of(run: Run, id: str) -> np.ndarray:
    """Return the losses of a model of Figure 4 B at the end of its trainings: of many seeds where
    the run has them, else of its own, [seeds]."""
    many = f"many/{id}"
    return np.asarray(run[many if many in run.tensors else f"evaluated/{id}"], float)


def ratios(run: Run, id: str, other: str) -> np.ndarray:
    """Return a model's loss over another's less 1, seed by seed, [seeds]."""
    return losses_of(run, id) / losses_of(run, other) - 1


def median_over(run: Run, id: str, other: str, limit: float) -> tuple[float, float | None]:
    """Return the median of `ratios`, and the error by which its exact interval decides about
    `limit`."""
    return median.median_and_error(ratios(run, id, other), limit)


def unfinished(run: Run, name: str, share: float | None = None) -> str:
    """Say why a model's training does not decide what is claimed of its end: the loss was falling
    by more than a `share` of itself or, without one, a twentieth of the loss of gradient descent.
    Empty if it does decide it."""
    if share is None:
        matters = 0.05 * float(run["baseline/ideal"][0])
    else:
        matters = share * float(run[f"evaluated/{name}"].mean())
    many = f"many/curve/{name}"
    curve = run[many if many in run.tensors else f"curve/{name}"]
    return trend.still_falling(curve, matters, run["curve/step"])
