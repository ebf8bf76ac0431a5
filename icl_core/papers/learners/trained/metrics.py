"""A number for each claim, read off a run."""

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
            float(share[place(run, "linear-steps")]) / share_of(run, f"GD {LAYERS}"),
            unfinished=_unfinished(run, "linear-steps"),
        ),
        Metric(
            claims.MEMORY,
            float(share[place(run, "memformer")] / share[place(run, "linear-steps")]),
            unfinished=_unfinished(run, "memformer"),
        ),
    ]
    if bayes > 0:
        error = float(run["evaluated/error"][best]) / bayes
        metrics.append(Metric(claims.BAYES, float(share[best]) / bayes, error))
    return metrics


def _unfinished(run: Run, id: str) -> str:
    """Return why a training does not decide a claim; empty if it had ended."""
    return "its error was still falling when its training ended" if is_learning(run, id) else ""
