"""The trainings of Section 5, which most claims are about: their settings, and a claim measured on
one of them."""

from dataclasses import replace
from functools import partial

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.contract.statistics import still_falling

# Section 5 and Appendix E: batches of 512 sequences of 256 tokens, d = 128, SGD with momentum, a
# rate for each figure.
SEVERAL = range(3, 6)  # seeds: one decides nothing
LONG = range(300, 2001)  # Figure 3 thaws at 300; fewer steps decide nothing
SECTION_5 = {
    "outputs": "uniform",
    "N": 65,
    "T": 256,
    "no_repeat": False,
    "d": 128,
    "optimiser": "sgd",
    "batch": 512,
    "steps": LONG,
    "seeds": SEVERAL,
}
FIGURE_3 = {
    **SECTION_5,
    "positions": "in_context",
    "feed_forward": False,
    "triggers": "random",
    "K": 5,
    "learning_rate": 0.2,
}
ALL_LEARN = {**FIGURE_3, "freeze_until": 0}  # the same with nothing frozen
FIGURE_4 = {
    **SECTION_5,
    "positions": "all",
    "feed_forward": True,
    "triggers": "random",
    "K": 3,
    "learning_rate": 1.0,
}

alone = partial(Claim, kind="paper", source="Section 5, Figure 3", at=FIGURE_3)
recalled = partial(Claim, kind="ours", source="not in the paper", at=FIGURE_3)


def metric(
    run: Run,
    claim: Claim,
    value: float,
    error: float | None = None,
    *,
    more: bool = True,
    reason: str = "",
) -> Metric:
    """Return the claim measured by `value`. Where it fails, `reason` says why, if this run has
    measured that; and where `more` training could change it, the metric says if the loss was still
    falling."""
    if claim.slack(float(value)) >= 0:
        return Metric(claim, float(value), error)
    unfinished = still_falling(run["batch/in_context_loss"]) if more else ""
    return Metric(claim, float(value), error, unfinished, reason)


def over_seeds(
    run: Run, claim: Claim, values: np.ndarray, *, more: bool = True, alone: float | None = None
) -> Metric:
    """Return the claim measured by the mean of `values` [seeds]; see `metric`."""
    measured = Metric.over_seeds(claim, values, alone)
    may_change = more and claim.slack(float(values.mean())) < 0
    unfinished = still_falling(run["batch/in_context_loss"]) if may_change else ""
    return replace(measured, unfinished=unfinished)
