"""Measure how far every size is from gradient descent."""

import numpy as np

from icl_core.contract.experiment import Metric, Run
from icl_core.papers.gdssm.shared.load_run import unfinished
from icl_core.papers.gdssm.sizes.claims import EVERY_SIZE, EVERY_SIZE_1D


def measure(run: Run) -> list[Metric]:
    """Measure the worst size and seed; whether the training had come to its end is known of the
    first size."""
    claim = EVERY_SIZE_1D if run.config.model == "1-D" else EVERY_SIZE
    return [Metric(claim, worst(run), unfinished=unfinished(run))]


def worst(run: Run) -> float:
    """Return the largest |trained / constructed − 1| of any size and seed."""
    return float(np.abs(run["evaluated/ratio"] - 1).max())
