"""A number for each statement."""

from icl_core.contract.experiment import Metric, Run
from icl_core.papers.gdssm.corrections.claims import GAIN, ODD, PRINTED_Q, TRANSPOSES
from icl_core.papers.gdssm.corrections.run import best_gain


def measure(run: Run) -> list[Metric]:
    """Measure every formula on the tasks of the run."""
    best = best_gain(run, "right")
    return [
        Metric(GAIN, best),
        Metric(PRINTED_Q, best_gain(run, "Q") / best),
        Metric(ODD, 1 - best_gain(run, "odd") / best),
        Metric(TRANSPOSES, float(run["gain/mixed"] - run["gain/right"])),
    ]
