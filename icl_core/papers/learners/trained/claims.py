"""What is known of trained learners, and what is found, each written once; and its number, read off
a run."""

from functools import partial

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.learners.trained.load_run import (
    is_learning,
    place,
    reference_place,
    share_of,
)

theory = partial(Claim, kind="theory")
ours = partial(Claim, kind="ours")
LINEAR = ("linear-steps", "memformer")  # answer by ⟨ŵ, x⟩
LAYERS = 4
ROUNDING = 1e-12  # with as many pairs as features and no noise Bayes leaves no more than this
TWO = {"d": 2, "n": 10, "noise": 0.2, "covariance": "narrow", "condition": 4.0, "batch": 128}
LONG = {**TWO, "steps": range(2000, 20_001)}

STRAIGHT = theory(
    id="linear-steps-do-not-bend",
    panel="bend",
    label="bend of a linear transformer",
    text="What a linear transformer of steps and a Memformer answer is ⟨ŵ, x⟩ for every query x of "
    "a prompt.",
    source="the query enters by one product",
    near=0.0,
    tolerance=1e-5,
)
BAYES = theory(
    id="nothing-below-bayes",
    panel="errors",
    label="the best learner, over Bayes",
    text="No trained learner leaves less than Bayes, who knows the distribution.",
    source="the posterior mean has the least mean squared error",
    at_least=1.0,
    tolerance=0.05,
)
ONE_STEP = ours(
    id="gd-ssm-acts-like-one-step",
    panel="acts like",
    label="GD-SSM away from one step",
    text="The trained GD-SSM of one layer answers what one step of gradient descent answers, to a "
    "hundredth of the error of predicting zero. (Labels are [y, 0] here: with x yᵀ in its state it "
    "can give the first feature a rate of its own.)",
    source="found here",
    at=LONG,
    at_most=0.01,
)
STEPS = ours(
    id="layers-do-more-than-steps",
    label="linear transformer, over as many steps",
    text="Four layers, each with a matrix of its own, leave at most half of what four steps of "
    "gradient descent at one rate leave.",
    source="found here",
    at=LONG,
    at_most=0.5,
)
MEMORY = ours(
    id="memory-helps",
    label="Memformer, over linear transformer",
    text="With a memory of past gradients four layers leave at most nine tenths of what they leave "
    "without.",
    source="found here",
    at=LONG,
    at_most=0.9,
)
ALL = (MEMORY, STEPS, ONE_STEP, STRAIGHT, BAYES)


def measure(run: Run) -> list[Metric]:
    """Return all that this setting can bear out."""
    bend = run["snapshot/bend"][:, [place(run, id) for id in LINEAR]]
    share = run["evaluated/share"]
    best = int(share.argmin())
    bayes = share_of(run, "Bayes")
    one_step = reference_place(run, "GD 1")
    metrics = [
        Metric(STRAIGHT, float(bend.max())),
        Metric(
            ONE_STEP,
            float(run["snapshot/reference"][-1, place(run, "gd-ssm-1"), one_step]),
            float(run["final/error"][place(run, "gd-ssm-1"), one_step]),
            unfinished=_unfinished(run, "gd-ssm-1"),
        ),
        Metric(
            STEPS,
            *_ratio(run, "linear-steps", share_of(run, f"GD {LAYERS}"), 0.0),
            unfinished=_unfinished(run, "linear-steps"),
        ),
        Metric(
            MEMORY,
            *_ratio(run, "memformer", *_left(run, "linear-steps")),
            unfinished=_unfinished(run, "memformer"),
        ),
    ]
    if bayes > ROUNDING:
        error = float(run["evaluated/error"][best]) / bayes
        metrics.append(Metric(BAYES, float(share[best]) / bayes, error))
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
