"""Measures `further_claims` on a finished run."""

from typing import Any

import numpy as np

from icl_core import in_context_regression as regression
from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.memformers.methods import (
    covariate_spectra,
    decode,
    further_claims,
    protocol,
    rate_grid,
)
from icl_core.papers.memformers.shared import baselines, load_run, task, test_set
from icl_core.papers.memformers.shared.load_run import log_from_least

FIGURES = 4  # layers of Figures 1 to 4


def measure(run: Run) -> list[Metric]:
    """Return the metrics of the claims that this setting is about."""
    config = run.config
    return [
        *_without_preconditioners(run),
        *_against_classical(run),
        *_pairs(config),
        *_covariates(run),
        *_conjugate(run),
        *_deep(run),
    ]


def _without_preconditioners(run: Run) -> list[Metric]:
    """Measure Figure 1's model against conjugate gradient: its loss and its table."""
    if not further_claims.COMPETITIVE.is_at(run.config):
        return []
    behind = protocol.behind_cgd(run, further_claims.COMPETITIVE, slice(0, FIGURES))
    gaps = (_fresh(run) - log_from_least(run["baseline/cg"])).mean(0)[:FIGURES]
    distances = " ".join(f"{gap:+.2f}".replace("-", "−") for gap in gaps)
    reason = f"With one to four layers it is {distances} from conjugate gradient."
    shares, steps, cgd = tables(run)
    own = float(np.exp(steps.mean())) * cgd[-1, -1]
    grows = (
        f"Conjugate gradient's mean step grows from {cgd[0, 0]:.2f} to {cgd[-1, -1]:.2f} of Σ⁻¹ "
        f"∇R, the Memformer's fourth is {own:.2f}: one length for all prompts cannot follow the "
        "long steps that only some of them allow."
    )
    return [
        Metric(behind.claim, behind.value, behind.error, reason=reason),
        Metric.over_seeds(further_claims.DEFLECTION, shares),
        Metric.over_seeds(further_claims.LINE_SEARCH, steps, reason=grows),
    ]


def tables(run: Run) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return of the deepest model the share of its step on older gradients less that of conjugate
    gradient's mean table, [seeds]; the log of its last step along its own gradient over that of
    conjugate gradient, [seeds]; and that table [L, L], in shares of Σ⁻¹ ∇R."""
    config = run.config
    unit = float(run["frozen/eigenvalues"].mean())
    cgd = unit * run["reference/cg"][: config.layers, : config.layers].astype(float)
    shares: list[float] = []
    steps: list[float] = []
    for seed in range(1, config.seeds + 1):
        parameters = load_run.parameters_at(run, seed, config.layers)
        table, _ = decode.learned(parameters, config, load_run.root_of(run, seed))
        shares.append(decode.memory(table) - decode.memory(cgd))
        steps.append(float(np.log(abs(table[-1, -1]) / cgd[-1, -1])))
    return np.array(shares), np.array(steps), cgd


def _against_classical(run: Run) -> list[Metric]:
    """Measure the models of Figures 2 and 3 against methods with constant settings, at the worst
    depth."""
    if not further_claims.BEATS_NESTEROV.is_at(run.config):
        return []
    tuned = np.minimum(run["baseline/nesterov_tuned"], run["baseline/momentum_tuned"])
    competitors = (
        (further_claims.BEATS_NESTEROV, run["baseline/nesterov"]),
        (further_claims.BEATS_MOMENTUM, run["baseline/momentum"]),
        (further_claims.BEATS_TUNED, tuned),
    )
    return [_worst(run, claim, losses) for claim, losses in competitors]


def _worst(run: Run, claim: Claim, losses: np.ndarray) -> Metric:
    """Measure the trained model's log-loss less that of a method with these losses [K], at the
    worst depth up to four."""
    gaps = (_fresh(run) - log_from_least(losses))[:, :FIGURES]  # [seeds, depths]
    return Metric.over_seeds(claim, gaps[:, gaps.mean(0).argmax()])


def _pairs(config: Any) -> list[Metric]:
    """Measure the printed settings of Nesterov's method and of momentum against a grid."""
    claims = {
        "Nesterov": further_claims.NESTEROV_BEST,
        "momentum": further_claims.MOMENTUM_BEST,
    }
    metrics: list[Metric] = []
    for method, claim in claims.items():
        if claim.is_at(config):
            grid = rate_grid.grid(method, config)
            rate, beta = grid.best
            best = f"The best pair is {rate / rate_grid.EXAMPLES:g} and {beta:g}."
            reason = "" if claim.slack(grid.gap) >= 0 else best
            metrics.append(Metric(claim, grid.gap, reason=reason))
    return metrics


def _covariates(run: Run) -> list[Metric]:
    """Measure what B makes of the covariates' condition number."""
    claims = (further_claims.INVERTS, further_claims.FRESH_INVERTS)
    claim = next((claim for claim in claims if claim.is_at(run.config)), None)
    if claim is None:
        return []
    conditions = covariate_spectra.conditions_of_seeds(run)  # [seeds, layers]
    falls = np.log(conditions[:, -1] / conditions[:, 0])
    means = np.exp(np.log(conditions).mean(0))
    lowest = int(means.argmin())
    last = ", ".join(f"{value:.0f}" for value in conditions[:, -1])
    reason = (
        f"From layer 1 to layer {lowest + 1} it falls from {means[0]:.0f} to {means[lowest]:.1f}; "
        f"the last layer meets {last}, seed by seed."
    )
    return [Metric.over_seeds(claim, falls, reason=reason)]


def _conjugate(run: Run) -> list[Metric]:
    """Measure whether conjugate gradient is exact after d steps, and how far it is after seven."""
    metrics: list[Metric] = []
    if further_claims.EXACT.is_at(run.config):
        metrics.append(Metric(further_claims.EXACT, exact_after_d(run.config)))
    if further_claims.LATE.is_at(run.config):
        value = float(log_from_least(run["baseline/cg"])[6])
        metrics.append(Metric(further_claims.LATE, value))
    return metrics


def exact_after_d(config: Any) -> float:
    """Return the log of conjugate gradient's mean loss after d steps in double precision, on the
    first prompts of the test set; a loss that is zero to rounding counts as 1e-12."""
    D = task.eigenvalues_of(config)
    prompts = next(iter(test_set.held_out(config.d, config.n, test_set.BLOCK)))[1]
    S = regression.coloured(prompts.double().cpu(), D)
    losses, _ = baselines.conjugate(S, D, config.d)
    return float(log_from_least(float(losses[-1].double().mean())))


def _deep(run: Run) -> list[Metric]:
    """Measure how far a model of more than seven layers is above its exact floor."""
    claim = further_claims.IMPRACTICAL
    if not claim.is_at(run.config):
        return []
    floor = np.log(baselines.exact_floors(run.config)[-1].loss)
    gaps = log_from_least(run["evaluated/loss"])[:, -1] - floor
    alone = float(run["evaluated/error"][:, -1].mean())
    return [Metric.over_seeds(claim, gaps, alone)]


def _fresh(run: Run) -> np.ndarray:
    """Return the log-loss on fresh prompts, [seeds, K]."""
    return log_from_least(run["evaluated/loss"])
