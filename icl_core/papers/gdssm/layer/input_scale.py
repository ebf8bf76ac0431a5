"""The loss on tasks whose x is larger or smaller than in training."""

from typing import Any

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.papers.gdssm.shared import any_layer as models
from icl_core.papers.gdssm.shared import closed_forms, train
from icl_core.papers.gdssm.shared.load_run import constructed_of, row_of, trained_at

TASKS = (2**12, 2**19)  # at the scale that is looked at: at most, and numbers of x at most


def at_scale(run: Run, view: Any) -> tuple[float, float, float, int]:
    """Return the losses at the scale that the view asks for, trained, constructed and of predicting
    zero, and on how many fresh tasks."""
    config = run.config
    row = row_of(run, view)
    alpha = view.alpha
    tasks = train.held_out(config, TASKS).times(alpha).to("cpu")
    ours, theirs = (
        float(models.losses(model, tasks)[0])
        for model in (trained_at(run, -1, row), constructed_of(run))
    )
    return ours, theirs, closed_forms.zero_loss(config.f, alpha * config.r), len(tasks)


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
