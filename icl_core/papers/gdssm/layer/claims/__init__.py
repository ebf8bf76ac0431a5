"""What is claimed of trained layers, and how each claim is measured, at the worst seed."""

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.figures import number_text
from icl_core.papers.gdssm.layer.claims.one_layer import (
    COSINE,
    COSINE_1D,
    DECAYS,
    PADDED,
    POPULATION,
    REACHES,
    REACHES_1D,
    ROOT_TWO,
    SCALES,
    WEIGHTS,
    WEIGHTS_1D,
)
from icl_core.papers.gdssm.layer.claims.several_layers import (
    BEATS_SHARED,
    FLOOR,
    FROM_CONSTRUCTION,
    LOOPS_COST,
    THREE_LOOPS,
    TWO_LOOPS,
    TWO_RATES,
    TWO_RATES_1D,
    UNDOES,
    WEIGHTS_TWO,
)
from icl_core.papers.gdssm.layer.exact import population_distance
from icl_core.papers.gdssm.layer.losses import off_closed_form, worse_than_zero
from icl_core.papers.gdssm.layer.symmetries import compared, decays, farthest
from icl_core.papers.gdssm.shared.load_run import unfinished

ALL = (
    REACHES,
    REACHES_1D,
    TWO_RATES,
    TWO_RATES_1D,
    BEATS_SHARED,
    FLOOR,
    UNDOES,
    WEIGHTS,
    WEIGHTS_1D,
    WEIGHTS_TWO,
    DECAYS,
    COSINE,
    COSINE_1D,
    SCALES,
    ROOT_TWO,
    POPULATION,
    FROM_CONSTRUCTION,
    TWO_LOOPS,
    THREE_LOOPS,
    LOOPS_COST,
    PADDED,
)


def measure(run: Run) -> list[Metric]:
    """Measure the claims that this setting can bear out."""
    config = run.config
    values = _several(run) if config.layers > 1 else []
    if config.layers <= 2 and (config.layers == 1 or config.penalty == 0):
        values += _beside_construction(run)
    if config.layers == 1:
        values.append((ROOT_TWO, worse_than_zero(run)))
    ended = unfinished(run)
    trained = [
        Metric(claim, value, unfinished=ended, reason=_reason(run, claim, value))
        for claim, value in values
    ]
    if "population/Q" in run.tensors:
        trained.append(Metric(POPULATION, population_distance(run)))
    return trained


def worst_ratio(run: Run) -> float:
    """Return trained over constructed minus 1, of the seed where that is farthest from 0."""
    away = run["evaluated/ratio"] - 1
    return float(away[np.abs(away).argmax()])


def _beside_construction(run: Run) -> list[tuple[Claim, float]]:
    """Return what is measured of one layer, and of two without a penalty, by claim."""
    scalar = run.config.model == "1-D"
    if run.config.layers == 1:
        usual = REACHES_1D if scalar else REACHES
    else:
        usual = TWO_RATES_1D if scalar else TWO_RATES
    values = [
        (_reached(run, usual), worst_ratio(run)),
        (_weights(run), max(map(farthest, compared(run)))),
        (DECAYS, max(float(np.abs(head).max()) for head in decays(run))),
    ]
    if run.config.f > 1:  # of single numbers the cosine is a sign
        cosine = float(run["curve/sensitivity_cosine"][:, -1].min())
        values.append((COSINE_1D if scalar else COSINE, cosine))
    return [*values, (SCALES, off_closed_form(run))]


def _reached(run: Run, usual: Claim) -> Claim:
    """Return what is claimed of the loss at the end; `usual` where nothing is special in the
    setting."""
    config = run.config
    if config.start == "construction" and config.layers == 2:
        return FROM_CONSTRUCTION
    if config.tied:
        return TWO_LOOPS
    return PADDED if config.n_o not in (0, config.f) else usual


def _weights(run: Run) -> Claim:
    """Return what is claimed of the weights of this model."""
    if run.config.several:
        return WEIGHTS_TWO
    return WEIGHTS_1D if run.config.model == "1-D" else WEIGHTS


def _several(run: Run) -> list[tuple[Claim, float]]:
    """Return what is measured for any number of layers: beside the construction with one rate for
    all, and beside the floor."""
    shared = run["baseline/shared"][0]
    floor = run["baseline/floor"][0]
    above = float((run["evaluated/loss"] / floor - 1).max())
    beside_shared = float((run["evaluated/loss"] / shared - 1).max())
    if run.config.tied and run.config.layers > 2:
        least = float((run["evaluated/loss"] / floor - 1).min())
        return [(THREE_LOOPS, beside_shared), (LOOPS_COST, least)]
    values = [(BEATS_SHARED, beside_shared)]
    if run.config.penalty > 0:
        values.append((UNDOES, above))
    elif run.config.layers > 2:
        values.append((FLOOR, above))
    return values


def _reason(run: Run, claim: Claim, value: float) -> str:
    """Say which part it is where a part is too far from the construction."""
    if claim.slack(value) >= 0 or claim not in (
        WEIGHTS,
        WEIGHTS_1D,
        WEIGHTS_TWO,
    ):
        return ""
    parts = [f"{part.name} {number_text(farthest(part))}" for part in compared(run)]
    return f"The farthest entry of each part: {', '.join(parts)}."
