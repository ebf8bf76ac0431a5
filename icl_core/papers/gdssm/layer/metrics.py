"""Measure what is claimed of the trained layer, at the worst seed."""

import numpy as np
import torch

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.figures import number_text
from icl_core.papers.gdssm.layer import claims
from icl_core.papers.gdssm.layer.symmetries import Comparison, compare, mean_decay
from icl_core.papers.gdssm.shared import closed_forms, construction
from icl_core.papers.gdssm.shared.load_run import constructed_of, folded, model_of, unfinished


def measure(run: Run) -> list[Metric]:
    """Measure the claims that this setting can bear out."""
    config = run.config
    values = _several(run) if config.layers > 1 else []
    if config.layers <= 2 and (config.layers == 1 or config.penalty == 0):
        values += _beside_construction(run)
    if config.layers == 1:
        values.append((claims.ROOT_TWO, worse_than_zero(run)))
    ended = unfinished(run)
    trained = [
        Metric(claim, value, unfinished=ended, reason=_reason(run, claim, value))
        for claim, value in values
    ]
    return [*trained, *_beyond(run)]


def worst_ratio(run: Run) -> float:
    """Return trained over constructed minus 1, of the seed where that is farthest from 0."""
    away = run["evaluated/ratio"] - 1
    return float(away[np.abs(away).argmax()])


def compared(run: Run) -> list[Comparison]:
    """Return every quantity of the trained weights beside the construction's."""
    trained = model_of(run.config, run.tensors, "final/")
    return compare(folded(trained, run.config.f), constructed_of(run), run.config.N)


def farthest(part: Comparison) -> float:
    """Return the largest difference of any seed; of rates that differ within a row of the state, of
    the rows' means."""
    gap = part.trained - part.constructed
    if part.name == "rate":
        gap = gap.mean(-1)  # (seeds, rows, entries) to (seeds, rows)
    return float(gap.abs().max()) / part.unit


def decays(run: Run) -> list[np.ndarray]:
    """Return the mean decays minus 1 of each head, the seeds first. As Figure 3 B shows them, "each
    diagonal entry is the mean of the corresponding diagonal recurrence matrix": a row of the state
    counts as the mean of its entries."""
    names = [name for name in ("final/a", "final/a_tilde") if name in run.tensors]
    heads = [(mean_decay(torch.tensor(run[name]), run.config.N) - 1).numpy() for name in names]
    # [seeds, ..., rows, entries] -> [seeds, ..., rows]; the 1-D state [seeds, f] has no rows
    return [head.mean(-1) if head.ndim > 2 else head for head in heads]


def population_distance(run: Run, prefix: str = "population/") -> float:
    """Return how far weights are from the construction at the best expected rate, at the farthest
    of their parts and seeds."""
    config = run.config
    exact = construction.layer_nd(
        config.f, config.N, config.N * closed_forms.best_beta(config.f, config.N, config.r)
    )
    weights = folded(model_of(config, run.tensors, prefix), config.f)
    decay = float((mean_decay(weights.tensors()["a"], config.N) - 1).abs().max())
    return max(decay, *map(farthest, compare(weights, exact, config.N)))


def off_closed_form(run: Run) -> float:
    """Return the largest relative gap to the closed form at any test scale and seed."""
    return float(np.abs(_scaled(run) / run["sweep/closed"] - 1).max())


def worse_than_zero(run: Run) -> float:
    """Return the test scale from which on the trained model is worse than predicting zero, of the
    seed that is farthest from sqrt 2."""
    losses = _scaled(run) if np.isfinite(run["sweep/closed"]).all() else run["sweep/trained"]
    scales = np.array([crossing(run["sweep/alpha"], row, run["sweep/zero"]) for row in losses])
    return float(scales[np.abs(scales - 2**0.5).argmax()])


def crossing(alpha: np.ndarray, losses: np.ndarray, zero: np.ndarray) -> float:
    """Return the scale from which on a loss is above that of predicting zero, by interpolation; the
    first scale if it is above everywhere, NaN if nowhere."""
    above = losses / zero - 1
    if (above > 0).all():
        return float(alpha[0])
    beyond = np.flatnonzero((above[1:] > 0) & (above[:-1] <= 0))
    if not len(beyond):
        return float("nan")
    i = beyond[-1]
    return float(alpha[i] + (alpha[i + 1] - alpha[i]) * -above[i] / (above[i + 1] - above[i]))


def _scaled(run: Run) -> np.ndarray:
    """Return, [seeds, scales], the closed form times trained over constructed on the same tasks,
    which removes most of the tasks' noise."""
    return run["sweep/closed"] * run["sweep/trained"] / run["sweep/constructed"]


def _beside_construction(run: Run) -> list[tuple[Claim, float]]:
    """Return what is measured of one layer, and of two without a penalty, by claim."""
    scalar = run.config.model == "1-D"
    if run.config.layers == 1:
        usual = claims.REACHES_1D if scalar else claims.REACHES
    else:
        usual = claims.TWO_RATES_1D if scalar else claims.TWO_RATES
    values = [
        (_reached(run, usual), worst_ratio(run)),
        (_weights(run), max(map(farthest, compared(run)))),
        (claims.DECAYS, max(float(np.abs(head).max()) for head in decays(run))),
    ]
    if run.config.f > 1:  # of single numbers the cosine is a sign
        cosine = float(run["curve/sensitivity_cosine"][:, -1].min())
        values.append((claims.COSINE_1D if scalar else claims.COSINE, cosine))
    return [*values, (claims.SCALES, off_closed_form(run))]


def _reached(run: Run, usual: Claim) -> Claim:
    """Return what is claimed of the loss at the end; `usual` where nothing is special in the
    setting."""
    config = run.config
    if config.start == "construction" and config.layers == 2:
        return claims.FROM_CONSTRUCTION
    if config.tied:
        return claims.TWO_LOOPS
    return claims.PADDED if config.n_o not in (0, config.f) else usual


def _weights(run: Run) -> Claim:
    """Return what is claimed of the weights of this model."""
    if run.config.several:
        return claims.WEIGHTS_TWO
    return claims.WEIGHTS_1D if run.config.model == "1-D" else claims.WEIGHTS


def _beyond(run: Run) -> list[Metric]:
    """Return what the run has measured beside its own training."""
    if "population/Q" not in run.tensors:
        return []
    return [Metric(claims.POPULATION, population_distance(run))]


def _several(run: Run) -> list[tuple[Claim, float]]:
    """Return what is measured for any number of layers: beside the construction with one rate for
    all, and beside the floor."""
    shared = run["baseline/shared"][0]
    floor = run["baseline/floor"][0]
    above = float((run["evaluated/loss"] / floor - 1).max())
    beside_shared = float((run["evaluated/loss"] / shared - 1).max())
    if run.config.tied and run.config.layers > 2:
        least = float((run["evaluated/loss"] / floor - 1).min())
        return [(claims.THREE_LOOPS, beside_shared), (claims.LOOPS_COST, least)]
    values = [(claims.BEATS_SHARED, beside_shared)]
    if run.config.penalty > 0:
        values.append((claims.UNDOES, above))
    elif run.config.layers > 2:
        values.append((claims.FLOOR, above))
    return values


def _reason(run: Run, claim: Claim, value: float) -> str:
    """Say which part it is where a part is too far from the construction."""
    if claim.slack(value) >= 0 or claim not in (
        claims.WEIGHTS,
        claims.WEIGHTS_1D,
        claims.WEIGHTS_TWO,
    ):
        return ""
    parts = [f"{part.name} {number_text(farthest(part))}" for part in compared(run)]
    return f"The farthest entry of each part: {', '.join(parts)}."
