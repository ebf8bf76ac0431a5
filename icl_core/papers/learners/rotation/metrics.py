"""A number for each claim, read off a run."""

import numpy as np

from icl_core.contract.experiment import Metric, Run
from icl_core.papers.learners.rotation import claims

LAYERS = 4


def measure(run: Run) -> list[Metric]:
    """Return all that this setting can bear out."""
    config = run.config
    metrics: list[Metric] = []
    if config.covariance == "isotropic":
        both = [run[f"share/floor/{case}"][-1, 0] for case in ("rotated", "fixed")]
        metrics.append(Metric(claims.NOTHING_TO_KNOW, float(both[0] / both[1])))
    if config.layers >= config.d:
        left = max(float(run[f"share/conjugate/{case}"][-1, 0]) for case in ("rotated", "fixed"))
        metrics.append(Metric(claims.SOLVED, left))
    if config.layers >= LAYERS:
        for claim, first, second in (
            (claims.LEAD, "floor/fixed", "conjugate/rotated"),
            (claims.LOST, "floor/rotated", "conjugate/rotated"),
            (claims.WORTH, "floor/rotated", "floor/fixed"),
        ):
            metrics.append(Metric(claim, *ratio(run, first, second, LAYERS)))
    return metrics


def share(run: Run, name: str, layer: int) -> float:
    """Return the share that a method leaves in a case after a layer."""
    return float(run[f"share/{name}"][layer, 0])


def ratio(run: Run, first: str, second: str, layer: int) -> tuple[float, float]:
    """Return what one method leaves over what another leaves, with a standard error that takes
    both errors for independent."""
    over, over_error = run[f"share/{first}"][layer]
    under, under_error = run[f"share/{second}"][layer]
    value = float(over / under)
    return value, value * float(np.hypot(over_error / over, under_error / under))
