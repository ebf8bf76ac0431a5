"""Measures how close the preconditioners of a finished run are to multiples of Σ⁻¹, and which
multiples they are."""

import numpy as np

from icl_core.contract.experiment import Metric, Run
from icl_core.papers.memformers.convergence import claims
from icl_core.papers.memformers.shared.draw.preconditioner import multiples
from icl_core.statistics.trend import still_falling, tail


def measure(run: Run) -> list[Metric]:
    """The largest distance of any layer, the mean over seeds; how far the multiples are from the
    constructed ones."""
    found = [_distance(run)]
    if run.config.variant == "linear":
        learned = np.sort(multiples(run), 1)  # [seeds, L]
        constructed = np.sort(run["reference/floor_steps"][-1])
        found.append(Metric(claims.STEPS, float(np.abs(learned / constructed - 1).max())))
    return found


def _distance(run: Run) -> Metric:
    curves = np.stack(
        [run[f"curve/distance_{layer}"] for layer in range(run.config.layers)], 1
    )  # [seeds, L, points]
    last = curves[..., -1].mean(0)  # [L]
    farthest = curves[:, last.argmax(), -1]  # [seeds]
    if claims.CLOSE.slack(float(farthest.mean())) >= 0:
        return Metric.over_seeds(claims.CLOSE, farthest)
    steps, layers = run["curve/step"], range(run.config.layers)
    falling = next(
        filter(None, (still_falling(curves[:, layer], steps=steps) for layer in layers)), ""
    )
    moved = float(np.ptp(curves[..., -tail(steps, 2) :], axis=-1).max())
    reason = (
        "Over the last tenth of the training a layer's distance still moves up and down by up to "
        f"{moved:.2g}."
    )
    return Metric.over_seeds(claims.CLOSE, farthest, unfinished=falling, reason=reason)
