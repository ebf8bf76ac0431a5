"""What is known of trained learners, and what is found; each written once."""

from functools import partial

from icl_core.contract.experiment import Claim

theory = partial(Claim, kind="theory")
ours = partial(Claim, kind="ours")
TWO = {"d": 2, "n": 10, "noise": 0.2, "covariance": "narrow", "condition": 4.0, "batch": 128}
LONG = {**TWO, "steps": range(2000, 20_001)}

STRAIGHT = theory(
    id="linear-steps-do-not-bend",
    label="bend of a linear transformer",
    text="What a linear transformer of steps and a Memformer answer is ⟨ŵ, x⟩ for every query x of "
    "a prompt.",
    source="the query enters by one product",
    near=0.0,
    tolerance=1e-5,
)
BAYES = theory(
    id="nothing-below-bayes",
    label="the best learner, over Bayes",
    text="No trained learner leaves less than Bayes, who knows the distribution.",
    source="the posterior mean has the least mean squared error",
    at_least=1.0,
    tolerance=0.05,
)
ONE_STEP = ours(
    id="gd-ssm-acts-like-one-step",
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
