"""A number for each claim, read off a run."""

import numpy as np

from icl_core.contract.experiment import Metric, Run
from icl_core.papers.learners.trained import claims
from icl_core.papers.learners.trained.load_run import (
    is_learning,
    place,
    reference_place,
    share_of,
)

STRAIGHT = ("linear-steps", "memformer")  # answer by ⟨ŵ, x⟩
LAYERS = 4
ROUNDING = 1e-12  # with as many pairs as features and no noise Bayes leaves no more than this


def measure(run: Run) -> list[Metric]:
    """Return all that this setting can bear out."""
    bend = run["snapshot/bend"][:, [place(run, id) for id in STRAIGHT]]
    share = run["evaluated/share"]
    best = int(share.argmin())
    bayes = share_of(run, "Bayes")
    one_step = reference_place(run, "GD 1")
    metrics = [
        Metric(claims.STRAIGHT, float(bend.max())),
        Metric(
            claims.ONE_STEP,
            float(run["snapshot/reference"][-1, place(run, "gd-ssm-1"), one_step]),
            float(run["final/error"][place(run, "gd-ssm-1"), one_step]),
            unfinished=_unfinished(run, "gd-ssm-1"),
        ),
        Metric(
            claims.STEPS,
            *_ratio(run, "linear-steps", share_of(run, f"GD {LAYERS}"), 0.0),
            unfinished=_unfinished(run, "linear-steps"),
        ),
        Metric(
            claims.MEMORY,
            *_ratio(run, "memformer", *_left(run, "linear-steps")),
            unfinished=_unfinished(run, "memformer"),
        ),
    ]
    if bayes > ROUNDING:
        error = float(run["evaluated/error"][best]) / bayes
        metrics.append(Metric(claims.BAYES, float(share[best]) / bayes, error))
    return metrics


def _left(run: Run, id: str) -> tuple[float, float]:
    """Return what a learner leaves, and its standard error over prompts."""
    index = place(run, id)
    return float(run["evaluated/share"][index]), float(run["evaluated/error"][index])


def _ratio(run: Run, id: str, under: float, under_error: float) -> tuple[float, float]:
    """Return what a learner leaves over `under`, with a standard error that takes both errors for
    independent; they are of the same prompts, and it is too large."""
    over, over_error = _left(run, id)
    ratio = over / under
    return ratio, ratio * float(np.hypot(over_error / over, under_error / under))


def _unfinished(run: Run, id: str) -> str:
    """Return why a training does not decide a claim; empty if it had ended."""
    return "its error was still falling when its training ended" if is_learning(run, id) else ""
