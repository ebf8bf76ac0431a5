"""A number for each claim, read off a run."""

import numpy as np

from icl_core.contract.experiment import Metric, Run
from icl_core.in_context_regression import changes, tuning
from icl_core.in_context_regression.home import one_step_share, sample
from icl_core.in_context_regression.learner_table import BY_ID
from icl_core.in_context_regression.untrained import weights
from icl_core.papers.learners.prompt import claims
from icl_core.papers.learners.prompt.load_run import learners_of, place, settings_of, share_left
from icl_core.papers.learners.shared import references
from icl_core.statistics.over_seeds import mean_and_error

PROMPTS, STREAM, RIDGE = 64, 4, 0.3  # of the comparison of two forms of ridge
MANY = 2**16  # prompts of the closed form's check


def measure(run: Run) -> list[Metric]:
    """Return all that this setting can bear out."""
    config = run.config
    metrics = [
        Metric(claims.RECURSIVE, _apart_from_ridge(run)),
        Metric(claims.LEAST, _excess_over_bayes(run)),
        Metric(claims.TWICE, _departure(run, "sum", "covariates")),
        Metric(claims.EXACT, _away_from_exact(run)),
        Metric(claims.CORRECTING, *_ratio(run, "delta", "sum")),
        Metric(claims.NORMALISED, *_ratio(run, "unit", "delta")),
        Metric(claims.WORTH, *_ratio(run, "gd-sigma", "gd")),
    ]
    if config.rotated:
        metrics.append(Metric(claims.KNOWN_COVARIANCE, _ratio(run, "gd-sigma", "gd")[0]))
    if config.noise and config.target == "white":
        tuned = settings_of(run, "ridge")["ridge"]
        metrics.append(Metric(claims.RIDGE, tuned * config.n / config.noise**2))
    if not config.noise and config.n >= config.d:
        left = run["lengths/share"][place(run, "squares"), config.d :]
        metrics.append(Metric(claims.NOTHING, float(left.max())))
    if not config.noise and config.covariance == "isotropic":
        metrics.append(Metric(claims.ONE_STEP, *_over_closed_form(run)))
    return metrics


def _over_closed_form(run: Run) -> tuple[float, float]:
    """Return what one step leaves over its closed form, with its standard error: over more prompts
    than the run has, at the rate that was tuned."""
    home = run.config.home
    prompts = sample(home, MANY, references.stream(STREAM, 1))
    shares = tuning.exact_errors(
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
    others = [each.id for each in learners_of(run) if each.linear and each.id != "bayes"]
    return min(share_left(run, id) for id in others) - bayes


def _apart_from_ridge(run: Run) -> float:
    """Return the largest difference between the weights of recursive least squares and of ridge, of
    the same λ, over fresh prompts and all lengths from one pair on."""
    home = run.config.home
    steps = run.config.steps
    prompts = sample(home, PROMPTS, references.stream(STREAM, 0))
    ridge = weights(BY_ID["ridge"], prompts, {"ridge": RIDGE}, home, steps)
    recursive = {"ridge": RIDGE * home.n, "decay": 1.0}
    states = weights(BY_ID["recursive"], prompts, recursive, home, steps)
    return float((ridge - states).abs().max())
