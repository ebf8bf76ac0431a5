"""What is known of these learners, and what is found, each written once; and its number, read off a
run."""

from functools import partial

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.contract.statistics import mean_and_error
from icl_core.in_context_regression import changes, learner_table
from icl_core.in_context_regression.home import one_step_share, sample
from icl_core.in_context_regression.learner_table import BY_ID
from icl_core.in_context_regression.recent_learners import RECENT as RECENT_RULES
from icl_core.in_context_regression.untrained import weights
from icl_core.papers.learners.prompt.load_run import learners_of, place, settings_of, share_left
from icl_core.papers.learners.shared import references

theory = partial(Claim, kind="theory")
ours = partial(Claim, kind="ours", source="found here")
PROMPTS, STREAM, PENALTY = 64, 4, 0.3  # of the comparison of two forms of ridge
MANY = 2**16  # prompts of the closed form's check
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
    panel="average",
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
    panel="symmetries",
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
    at={"covariance": "uneven", "rotated": False, "target": "inverse", "d": 5, "n": 20},
    at_most=1 / 3,
)
CORRECTING = ours(
    id="correcting-beats-adding",
    panel="average",
    label="delta rule, over one step",
    text="A state of the same size that corrects what it holds leaves at most three quarters of "
    "what a sum leaves.",
    at={"covariance": "isotropic", "noise": 0.0, "d": 5, "n": 20},
    at_most=0.75,
)
NORMALISED = ours(
    id="normalised-rate",
    label="unit keys, over one rate",
    text="Without noise the delta rule whose rate is divided by |x|² leaves at most half of what "
    "it leaves with one rate for all.",
    at={"covariance": "isotropic", "noise": 0.0, "d": 5, "n": 20},
    at_most=0.5,
)
RECENT = {"recent": True}
FEATURES_5 = {**RECENT, "covariance": "isotropic", "noise": 0.2, "d": 5, "steps": 4, "reach": 4}
TWICE_AS_MANY = {**FEATURES_5, "n": 10}
UNEVEN = {**RECENT, "covariance": "uneven", "rotated": False, "target": "inverse", "d": 5, "n": 20}
MESA_IS_BAYES = theory(
    id="mesa-in-d-steps-is-bayes",
    panel="solver",
    label="Mesa after k = d steps, over Bayes",
    text="With λ = τ² Mesa is Bayes after as many steps of conjugate gradient as x has features.",
    source="conjugate gradient solves in d steps; the posterior of a Gaussian linear model",
    at={**RECENT, "target": "white", "d": range(2, 9)},
    near=1.0,
    tolerance=0.01,
)
OVER_BAYES = ours(
    id="without-squares-over-bayes",
    panel="held",
    label="the best recent rule without ∑ x xᵀ, over Bayes",
    text="With as many pairs as features, and with twice as many, no recent rule without ∑ x xᵀ "
    "comes within twice what Bayes leaves.",
    at={**FEATURES_5, "n": range(5, 11, 5)},
    at_least=2.0,
)
THREE_STEPS = ours(
    id="steps-until-mesa-leads",
    panel="solver",
    label="Mesa after three steps, over the best rule without ∑ x xᵀ",
    text="With twice as many pairs as features three steps of conjugate gradient leave less than "
    "every recent rule without ∑ x xᵀ.",
    at=TWICE_AS_MANY,
    at_most=1.0,
)
ORDER = ours(
    id="recent-rules-without-order",
    panel="symmetries",
    label="recent rules that do not depend on the order",
    text="Of seven recent rules Mesa alone does not care for the order of the pairs.",
    at={**RECENT, "n": range(5, 65), "reach": range(2, 5)},
    near=1.0,
    tolerance=0.0,
)
CHANNEL_RATES = ours(
    id="channel-rates-precondition",
    panel="held",
    label="RWKV-7 over unit keys, on unequal directions",
    text="Where directions are unequal, rates of the channels leave at most a quarter of what one "
    "rate leaves: they precondition.",
    at=UNEVEN,
    at_most=0.25,
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
    MESA_IS_BAYES,
    OVER_BAYES,
    THREE_STEPS,
    ORDER,
    CHANNEL_RATES,
)
WITHOUT_SQUARES = ("kda", "rwkv7", "product", "titans", "ttt", "omega")  # recent, no ∑ x xᵀ


def measure(run: Run) -> list[Metric]:
    """Return all that this setting can bear out."""
    config = run.config
    metrics = [
        Metric(RECURSIVE, _apart_from_ridge(run)),
        Metric(LEAST, _excess_over_bayes(run)),
        Metric(TWICE, _departure(run, "sum", "covariates")),
        Metric(EXACT, _away_from_exact(run)),
        Metric(CORRECTING, *_ratio(run, "delta", "sum")),
        Metric(NORMALISED, *_ratio(run, "unit", "delta")),
        Metric(WORTH, *_ratio(run, "gd-sigma", "gd")),
    ]
    if config.rotated:
        metrics.append(Metric(KNOWN_COVARIANCE, _ratio(run, "gd-sigma", "gd")[0]))
    if config.noise and config.target == "white":
        tuned = settings_of(run, "ridge")["ridge"]
        metrics.append(Metric(RIDGE, tuned * config.n / config.noise**2))
    if not config.noise and config.n >= config.d:
        left = run["lengths/share"][place(run, "squares"), config.d :]
        metrics.append(Metric(NOTHING, float(left.max())))
    if not config.noise and config.covariance == "isotropic":
        metrics.append(Metric(ONE_STEP, *_over_closed_form(run)))
    return [*metrics, *(_of_recent(run) if config.recent else ())]


def _of_recent(run: Run) -> list[Metric]:
    """Return what is measured of recent rules."""
    config = run.config
    metrics = [
        Metric(ORDER, sum(_departure(run, id, "order") < 1e-6 for id in RECENT_RULES)),
        Metric(CHANNEL_RATES, *_ratio(run, "rwkv7", "unit")),
    ]
    solver = run["solver/share"]
    best = min(WITHOUT_SQUARES, key=lambda id: share_left(run, id))
    if config.noise:
        metrics.append(Metric(OVER_BAYES, *_ratio(run, best, "bayes")))
    if config.noise and config.target == "white" and len(solver) == config.d:
        metrics.append(Metric(MESA_IS_BAYES, float(solver[-1] / run["solver/bayes"][0])))
    if len(solver) > 2:
        metrics.append(Metric(THREE_STEPS, float(solver[2]) / share_left(run, best)))
    return metrics


def _over_closed_form(run: Run) -> tuple[float, float]:
    """Return what one step leaves over its closed form, with its standard error: over more prompts
    than the run has, at the rate that was tuned."""
    home = run.config.home
    prompts = sample(home, MANY, references.stream(STREAM, 1))
    shares = learner_table.exact_errors(
        BY_ID["sum"], prompts, settings_of(run, "sum"), home, run.config.steps, every=False
    )
    mean, error = mean_and_error((shares[0] / home.label_variance()).numpy())
    expected = one_step_share(home.d, home.n)
    return mean / expected, (error or 0.0) / expected


def _ratio(run: Run, first: str, second: str) -> tuple[float, float]:
    """Return what one learner leaves over what another leaves, with a standard error that takes
    their errors for independent, which they are not: it is too large."""
    over = share_left(run, first)
    under = share_left(run, second)
    errors = run["lengths/error"][[place(run, first), place(run, second)], -1]
    ratio = over / under
    return ratio, ratio * float(np.hypot(errors[0] / over, errors[1] / under))


def _departure(run: Run, id: str, change: str) -> float:
    column = run.names("changes").index(change)
    return float(run["changes/departure"][place(run, id), column])


def _away_from_exact(run: Run) -> float:
    """Return how far the farthest departure is from the value that it must have."""
    away = [0.0]
    for learner in learners_of(run):
        for id in run.names("changes"):
            known = changes.exact(learner, settings_of(run, learner.id), id)
            if known is not None:
                away.append(abs(_departure(run, learner.id, id) - known))
    return max(away)


def _excess_over_bayes(run: Run) -> float:
    """Return the least difference to Bayes of all others that are linear in the labels."""
    bayes = share_left(run, "bayes")
    others = [
        each.id
        for each in learners_of(run)
        if each.linear and not each.by_query and each.id != "bayes"
    ]
    return min(share_left(run, id) for id in others) - bayes


def _apart_from_ridge(run: Run) -> float:
    """Return the largest difference between the weights of recursive least squares and of ridge, of
    the same λ, over fresh prompts and all lengths from one pair on."""
    home = run.config.home
    steps = run.config.steps
    prompts = sample(home, PROMPTS, references.stream(STREAM, 0))
    ridge = weights(BY_ID["ridge"], prompts, {"ridge": PENALTY}, home, steps)
    recursive = {"ridge": PENALTY * home.n, "decay": 1.0}
    states = weights(BY_ID["recursive"], prompts, recursive, home, steps)
    return float((ridge - states).abs().max())
