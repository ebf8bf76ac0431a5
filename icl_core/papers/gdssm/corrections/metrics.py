"""A number for each correction."""

import numpy as np

from icl_core.experiment import Metric, Run
from icl_core.papers.gdssm.corrections.claims import FACTOR, GAIN, MLP, ODD, PENALTY, PRINTED_Q, SIGN, TRANSPOSES
from icl_core.papers.gdssm.corrections.run import best_gain, gain


def metrics(run: Run) -> list[Metric]:
    """Every correction as measured on the tasks of the run."""
    best = best_gain(run, "right")
    contexts = float(np.ptp(run["contexts/gradient"])) if np.ptp(run["contexts/state"]) == 0 else float("nan")
    return [
        Metric(GAIN, best),
        Metric(SIGN, float(run["cosine/sign"])),
        Metric(PRINTED_Q, best_gain(run, "Q") / best),
        Metric(ODD, 1 - best_gain(run, "odd") / best),
        Metric(FACTOR, gain(run, "factor")),
        Metric(PENALTY, float(run["error/penalty"])),
        Metric(TRANSPOSES, float(run["gain/mixed"] - run["gain/right"])),
        Metric(MLP, contexts),
    ]
