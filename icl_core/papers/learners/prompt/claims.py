"""What is known of these learners, and what is found; each written once."""

from functools import partial

from icl_core.contract.experiment import Claim

theory = partial(Claim, kind="theory")
ours = partial(Claim, kind="ours")
CLEAN = {"noise": 0.0}
EQUAL = {**CLEAN, "covariance": "isotropic", "rotated": False, "n": range(2, 65)}

ONE_STEP = theory(
    id="one-step-share",
    label="one step, over its closed form",
    text="The best step of gradient descent from zero leaves 1 − n / (n + d + 1) of the error of "
    "predicting zero.",
    source="E tr S² = d (n + d + 1) / n of a Wishart matrix",
    at=EQUAL,
    near=1.0,
    tolerance=0.02,
)
NOTHING = theory(
    id="squares-leave-nothing",
    label="least squares, from n = d on",
    text="Without noise least squares leaves nothing once there are as many pairs as features, and "
    "recursive least squares neither as its λ goes to zero.",
    source="S is invertible with probability 1",
    at=CLEAN,
    at_most=0.0,
    tolerance=1e-12,
)
RECURSIVE = theory(
    id="recursive-is-ridge",
    label="recursive least squares, away from ridge",
    text="With the same λ and no decay the two matrices of recursive least squares give ridge's "
    "weights after every pair.",
    source="G (H + λ I)⁻¹ = b (S + λ/n I)⁻¹",
    near=0.0,
    tolerance=1e-8,
)
RIDGE = theory(
    id="bayes-is-ridge",
    label="tuned λ, over τ²/n",
    text="Where w* ~ N(0, I) Bayes is ridge with λ = τ²/n, and tuning finds it.",
    source="the posterior of a Gaussian linear model",
    at={"target": "white", "noise": 0.2, "d": 2, "n": 10},
    near=1.0,
    tolerance=0.05,
)
LEAST = theory(
    id="bayes-is-least",
    label="the least excess over Bayes",
    text="No learner that is linear in the labels leaves less than Bayes on the prompts of home.",
    source="the posterior mean has the least mean squared error",
    at_least=0.0,
    tolerance=1e-9,
)
TWICE = theory(
    id="sum-answers-twice",
    label="one step, with x √2 times as large",
    text="With x √2 times as large and the same labels a sum of y x answers twice as much: it "
    "departs by exactly 1.",
    source="⟨∑ y x, x⟩ is quadratic in x",
    near=1.0,
    tolerance=1e-9,
)
EXACT = theory(
    id="exact-departures",
    label="symmetries, away from their exact values",
    text="Every departure that follows from an equation is what is measured: y → 2 y, the order of "
    "the pairs, the scale and the rotation of x, a pair of zeros.",
    source="the equations; with more steps rounding moves conjugate gradient",
    at={"steps": range(1, 6)},
    near=0.0,
    tolerance=1e-6,
)
KNOWN_COVARIANCE = theory(
    id="nothing-known-of-a-rotation",
    label="Σ⁻¹ where every prompt is rotated, over none",
    text="Where every prompt has eigenvectors of its own, what can be known of Σ is a multiple of "
    "I, and steps along Σ⁻¹ leave what plain steps leave.",
    source="E over rotations of R D Rᵀ is tr D / d times I",
    at={"rotated": True},
    near=1.0,
    tolerance=0.001,
)
WORTH = ours(
    id="worth-of-covariance",
    label="steps along Σ⁻¹, over plain steps",
    text="On the Memformers' prompts L = 4 steps of gradient descent along Σ⁻¹ leave at most a "
    "third of what plain steps leave.",
    source="found here",
    at={"covariance": "uneven", "rotated": False, "target": "inverse", "d": 5, "n": 20},
    at_most=1 / 3,
)
CORRECTING = ours(
    id="correcting-beats-adding",
    label="delta rule, over one step",
    text="A state of the same size that corrects what it holds leaves at most three quarters of "
    "what a sum leaves.",
    source="found here",
    at={"covariance": "isotropic", "noise": 0.0, "d": 5, "n": 20},
    at_most=0.75,
)
NORMALISED = ours(
    id="normalised-rate",
    label="unit keys, over one rate",
    text="Without noise the delta rule whose rate is divided by |x|² leaves at most half of what "
    "it leaves with one rate for all.",
    source="found here",
    at={"covariance": "isotropic", "noise": 0.0, "d": 5, "n": 20},
    at_most=0.5,
)
# The first one that a home has measured is its headline among the runs: a ratio that differs from
# home to home, not one of the identities.
ALL = (
    ONE_STEP,
    CORRECTING,
    NORMALISED,
    WORTH,
    KNOWN_COVARIANCE,
    NOTHING,
    RECURSIVE,
    RIDGE,
    LEAST,
    TWICE,
    EXACT,
)
