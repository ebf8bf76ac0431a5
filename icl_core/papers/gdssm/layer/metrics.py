"""Measures what is claimed of the trained layer, at the worst seed."""

import numpy as np
import torch

from icl_core.experiment import Claim, Metric, Run
from icl_core.figures import written
from icl_core.papers.gdssm.layer import claims
from icl_core.papers.gdssm.layer.symmetries import Comparison, compare, mean_decay
from icl_core.papers.gdssm.shared.read_run import constructed_of, folded, model_of, unfinished


def metrics(run: Run) -> list[Metric]:
    """The claims that this setting can bear out."""
    config = run.config
    found = _several(run) if config.layers > 1 else []
    if config.layers <= 2 and (config.layers == 1 or config.penalty == 0):
        found += _beside_construction(run)
    if config.layers == 1:
        found.append((claims.ROOT_TWO, worse_than_zero(run)))
    ended = unfinished(run)
    return [Metric(claim, value, unfinished=ended, reason=_reason(run, claim, value)) for claim, value in found]


def worst_ratio(run: Run) -> float:
    """Trained over constructed minus 1, of the seed where that is farthest from 0."""
    away = run["evaluated/ratio"] - 1
    return float(away[np.abs(away).argmax()])


def compared(run: Run) -> list[Comparison]:
    """Every quantity of the trained weights beside the construction's."""
    trained = model_of(run.config, run.tensors, "final/")
    return compare(folded(trained, run.config.f), constructed_of(run), run.config.N)


def decays(run: Run) -> list[np.ndarray]:
    """The mean decays minus 1, the seeds first: of each head."""
    names = [name for name in ("final/a", "final/a_tilde") if name in run.tensors]
    return [(mean_decay(torch.tensor(run[name]), run.config.N) - 1).numpy() for name in names]


def off_closed_form(run: Run) -> float:
    """The largest relative gap to the closed form at any test scale and seed."""
    return float(np.abs(_scaled(run) / run["sweep/closed"] - 1).max())


def worse_than_zero(run: Run) -> float:
    """The test scale from which on the trained model is worse than predicting zero, of the seed that is farthest
    from sqrt 2."""
    losses = _scaled(run) if np.isfinite(run["sweep/closed"]).all() else run["sweep/trained"]
    found = np.array([crossing(run["sweep/alpha"], row, run["sweep/zero"]) for row in losses])
    return float(found[np.abs(found - 2**0.5).argmax()])


def crossing(alpha: np.ndarray, losses: np.ndarray, zero: np.ndarray) -> float:
    """The scale from which on a loss is above that of predicting zero, by interpolation; the first scale if it is
    above everywhere, NaN if nowhere."""
    above = losses / zero - 1
    if (above > 0).all():
        return float(alpha[0])
    beyond = np.flatnonzero((above[1:] > 0) & (above[:-1] <= 0))
    if not len(beyond):
        return float("nan")
    i = beyond[-1]
    return float(alpha[i] + (alpha[i + 1] - alpha[i]) * -above[i] / (above[i + 1] - above[i]))


def _scaled(run: Run) -> np.ndarray:
    """[seeds, scales]: the closed form times trained over constructed on the same tasks, which removes most of the
    tasks' noise."""
    return run["sweep/closed"] * run["sweep/trained"] / run["sweep/constructed"]


def _beside_construction(run: Run) -> list[tuple[Claim, float]]:
    """What holds of one layer, and of two without a penalty."""
    scalar, one = run.config.model == "1-D", run.config.layers == 1
    reached = claims.REACHES_1D if scalar else claims.REACHES if one else claims.TWO_RATES
    found = [
        (reached, worst_ratio(run)),
        (claims.WEIGHTS_1D if scalar else claims.WEIGHTS, max(float(each.farthest.max()) for each in compared(run))),
        (claims.DECAYS, max(float(np.abs(each).max()) for each in decays(run))),
    ]
    if run.config.f > 1:  # of single numbers the cosine is a sign
        cosine = float(run["curve/sensitivity_cosine"][:, -1].min())
        found.append((claims.COSINE_1D if scalar else claims.COSINE, cosine))
    return [*found, (claims.SCALES, off_closed_form(run))]


def _several(run: Run) -> list[tuple[Claim, float]]:
    """What holds for any number of layers: beside the construction with one rate for all, and beside the floor."""
    shared, floor = run["baseline/shared"][0], run["baseline/floor"][0]
    above = float((run["evaluated/loss"] / floor - 1).max())
    found = [(claims.BEATS_SHARED, float((run["evaluated/loss"] / shared - 1).max()))]
    if run.config.penalty > 0:
        found.append((claims.UNDOES, above))
    elif run.config.layers > 2:
        found.append((claims.FLOOR, above))
    return found


def _reason(run: Run, claim: Claim, value: float) -> str:
    """Which part it is, where a part is too far from the construction."""
    if claim.slack(value) >= 0 or claim not in (claims.WEIGHTS, claims.WEIGHTS_1D, claims.DECAYS):
        return ""
    if claim is claims.DECAYS:
        rows = [each.reshape(len(each), -1) for each in decays(run)]
        mean = max(float(np.abs(row.mean(1)).max()) for row in rows)
        many = sum(row.shape[1] for row in rows)
        return f"It is the farthest of {many} decays; their mean is within {written(mean)} of 1."
    parts = [f"{each.name} {written(float(each.farthest.max()))}" for each in compared(run)]
    return f"The farthest entry of each part: {', '.join(parts)}."
