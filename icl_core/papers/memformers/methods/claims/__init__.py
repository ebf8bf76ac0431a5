"""What the paper says of learned first-order methods, and what is known of its figures, each
written once; and how it is measured on a finished run."""

from icl_core.contract.experiment import Metric, Run
from icl_core.papers.memformers.methods.claims import (
    atlas,
    figures_and_appendices,
    four_protocols,
    kept_batches,
    printed_curves,
    training_end,
)

ALL = (
    training_end.REACHES_FLOOR,
    training_end.SCALAR_REACHES_FLOOR,
    training_end.KNOWN_LINES,
    kept_batches.BEATS_LINEAR,
    training_end.EQUAL_POWER,
    training_end.SHARED,
    training_end.SHARED_VALUES,
    training_end.BEATS_CGD,
    kept_batches.BEATS_CGD_TO_THREE,
    kept_batches.BEATS_CGD_AT_FOUR,
    training_end.KNOWING,
    kept_batches.FITS_BATCH,
    kept_batches.OVERFITS,
    kept_batches.QUASI_NEWTON,
    kept_batches.LEARNS_ITS_BATCH,
    kept_batches.KEEPS_UP,
    kept_batches.KEEPS_UP_LONGER,
    kept_batches.DEEP_OVERFITS,
    training_end.FRESH_KEEPS_UP,
    kept_batches.HEADS,
    kept_batches.HEADS_FASTER,
    kept_batches.HEADS_TEST,
    kept_batches.HEADS_LOWER,
    training_end.NOISE,
    training_end.MOVING,
    *figures_and_appendices.ALL,
    *printed_curves.CLAIMS,
    *four_protocols.CLAIMS,
    *training_end.NOISE_CLAIMS,
    *atlas.CLAIMS,
)


def measure(run: Run) -> list[Metric]:
    """Return the metrics of the claims that a run's setting is about."""
    metrics: list[Metric] = []
    if run.config.batches == "fresh":
        metrics += training_end.measure(run) + training_end.measure_noise(run)
        if training_end.FRESH_KEEPS_UP.is_at(run.config):
            keeps_up = training_end.FRESH_KEEPS_UP
            metrics.append(kept_batches.behind_cgd(run, keeps_up, slice(5, 7)))
    else:
        metrics += kept_batches.measure(run)
    metrics += printed_curves.measure(run) + figures_and_appendices.measure(run)
    metrics += training_end.beside(run) + kept_batches.beside(run)
    return metrics + four_protocols.measure(run)
