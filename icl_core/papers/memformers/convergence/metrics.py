"""Measures how close the preconditioners of a finished run are to multiples of Σ⁻¹, and which
multiples they are."""

import numpy as np

from icl_core.contract.experiment import Metric, Run
from icl_core.papers.memformers.convergence import claims
from icl_core.papers.memformers.shared.draw.preconditioner import multiples
from icl_core.papers.memformers.shared.draw.two_forms import largest_gap
from icl_core.statistics.trend import still_falling, tail

PROMPTS = 4  # on which both forms of a layer are compared


def measure(run: Run) -> list[Metric]:
    """Return the largest distance of any layer, the mean over seeds; how far the multiples are from
    the constructed ones; and how far both forms of a trained layer are apart."""
    metrics = [_distance(run)]
    if run.config.variant == "linear":
        learned = np.sort(multiples(run), 1)  # [seeds, L]
        constructed = np.sort(run["reference/floor_steps"][-1])
        metrics.append(Metric(claims.STEPS, float(np.abs(learned / constructed - 1).max())))
    return [*metrics, Metric(claims.LEMMA, largest_gap(run, PROMPTS))]


def _distance(run: Run) -> Metric:
    """Return the distance of the layer that is farthest from a multiple of Σ⁻¹ in the mean over
    seeds, with the reason where it is too far."""
    layers = range(run.config.layers)
    curves = np.stack([run[f"curve/distance_{layer}"] for layer in layers], 1)
    last = curves[..., -1].mean(0)  # [L], of [seeds, L, points]
    farthest = curves[:, last.argmax(), -1]  # [seeds]
    if claims.CLOSE.slack(float(farthest.mean())) >= 0:
        return Metric.over_seeds(claims.CLOSE, farthest)
    steps = run["curve/step"]
    by_layer = (still_falling(curves[:, layer], steps=steps) for layer in layers)
    falling = next(filter(None, by_layer), "")
    moved = float(np.ptp(curves[..., -tail(steps, 2) :], axis=-1).max())
    reason = (
        "Over the last tenth of the training a layer's distance still moves up and down by up to "
        f"{moved:.2g}."
    )
    return Metric.over_seeds(claims.CLOSE, farthest, unfinished=falling, reason=reason)
