"""What else the paper says of Figures 1 to 4, of the classical methods' settings (Appendix B) and
of many layers (Appendix C), and how it is measured."""

from typing import Any

import numpy as np

from icl_core import in_context_regression as regression
from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.memformers.methods import decode, moving_covariates, rate_grid
from icl_core.papers.memformers.methods.authors_settings import EITHER, FOURTH, FRESH, TASK
from icl_core.papers.memformers.methods.claims.kept_batches import behind_cgd
from icl_core.papers.memformers.methods.claims.training_end import fresh_log_loss
from icl_core.papers.memformers.shared import baselines, load_run, task, test_set
from icl_core.papers.memformers.shared.load_run import log_from_least

FIRST = {**EITHER, "variant": "cgd", "preconditioner": ("scalar", "averaged"), "heads": 1}
SECOND = {
    **EITHER,
    "variant": ("cgd", "token shared"),
    "preconditioner": "full",
    "heads": 1,
}
COMPETITIVE = Claim(
    id="competitive",
    panel="batch",
    label="A = aI: Memformer minus CGD, up to four layers",
    kind="paper",
    text="Without preconditioners the CGD-like Memformer competes with conjugate gradient: it is "
    "at most .1 above it in log-loss, an error 11% larger. The worst of one to four layers counts.",
    source="Section 3.3, Figure 1",
    quote="Despite this approximation, performance remains competitive",
    at=FIRST,
    at_most=0.1,
)
DEFLECTION = Claim(
    id="emulates-deflection",
    panel="path",
    label="share on older gradients, trained minus CGD",
    kind="paper",
    text="The α and γ that all prompts share do what conjugate gradient does: the share of the "
    "step that lies on older gradients is that of conjugate gradient's mean table, within .15; "
    "with four layers.",
    source="Section 3.3, Figure 1",
    quote="emulate CGD’s line search and deflection",
    at=FIRST,
    near=0.0,
    tolerance=0.15,
)
LINE_SEARCH = Claim(
    id="emulates-line-search",
    panel="path",
    label="last step on its own gradient, log of trained over CGD",
    kind="paper",
    text="The length of the fourth layer's step along its own gradient is that of conjugate "
    "gradient's line search, as a mean over prompts; the logarithm of their ratio counts, near 0 "
    "within .5.",
    source="Section 3.3, Figure 1",
    quote="emulate CGD’s line search and deflection",
    at=FIRST,
    near=0.0,
    tolerance=0.5,
)
BEATS_NESTEROV = Claim(
    id="beats-nesterov",
    panel="batch",
    label="trained minus Nesterov, worst depth",
    kind="paper",
    text="With preconditioners the Memformer has a lower log-loss than Nesterov's method with the "
    "authors' settings, with every number of layers up to four.",
    source="Section 3.3, Figures 2 and 3",
    quote="often outperforming CGD, Nesterov AGM and momentum GD",
    at=SECOND,
    at_most=0.0,
)
BEATS_MOMENTUM = Claim(
    id="beats-momentum",
    panel="batch",
    label="trained minus momentum, worst depth",
    kind="paper",
    text="With preconditioners the Memformer has a lower log-loss than momentum with the authors' "
    "settings, with every number of layers up to four.",
    source="Section 3.3, Figures 2 and 3",
    quote="often outperforming CGD, Nesterov AGM and momentum GD",
    at=SECOND,
    at_most=0.0,
)
BEATS_TUNED = Claim(
    id="beats-tuned",
    panel="batch",
    label="trained minus the better tuned method, worst depth",
    kind="ours",
    text="With preconditioners the Memformer also beats Nesterov's method and momentum with the "
    "best rate and β for each depth.",
    source="not in the paper, which has one pair of settings for each method",
    at=SECOND,
    at_most=0.0,
)
NESTEROV_BEST = Claim(
    id="nesterov-pair-best",
    label="Nesterov: printed pair minus the best pair",
    kind="paper",
    text="No pair of learning rate and β on a grid of .1 by .05 has a log-loss lower by more than "
    ".05 than the printed .03 and .9, as a mean over one to four steps.",
    source="Appendix B.1",
    quote="These values provided the best performance",
    at=EITHER,
    at_most=0.05,
)
MOMENTUM_BEST = Claim(
    id="momentum-pair-best",
    label="momentum: printed pair minus the best pair",
    kind="paper",
    text="No pair of learning rate and β on a grid of .1 by .05 has a log-loss lower by more than "
    ".05 than the printed .005 and .9, as a mean over one to four steps.",
    source="Appendix B.2",
    quote="provided the best results on the given distribution",
    at=EITHER,
    at_most=0.05,
)
INVERTS = Claim(
    id="b-conditions-the-hessian",
    panel="path",
    label="log condition number of S, last layer minus first",
    kind="paper",
    text="The B of GD++ bring the eigenvalues of S = X Xᵀ / n together, as steps towards its "
    "inverse do: the condition number that the last layer meets is lower than that of the first, "
    "on prompts that the model was not trained on.",
    source="Section 3.3, Figure 4",
    quote="approximate the Hessian inverse (quasi-Newton)",
    at=FOURTH,
    at_most=0.0,
)
FRESH_INVERTS = Claim(
    id="b-conditions-fresh",
    panel="path",
    label="GD++ on fresh prompts: log condition number, last layer minus first",
    kind="ours",
    text="Trained on fresh prompts, B does bring the eigenvalues of S together, layer by layer: "
    "the condition number that the last layer meets is lower than that of the first.",
    source="not in the paper, whose Figure 4 keeps one batch",
    at={**FRESH, "variant": "gd++", "preconditioner": "full"},
    at_most=0.0,
)
EXACT = Claim(
    id="cgd-exact-at-d",
    label="CGD's log-loss after d = 5 steps",
    kind="paper",
    text="Conjugate gradient is exact after d = 5 steps: in double precision its log-loss is that "
    "of rounding, −25 or lower.",
    source="Appendix C, Figure 15",
    quote="steps due to the dimensionality constraint",
    at={**TASK, "layers": range(5, 11), "noise": 0.0},
    at_most=-25.0,
)
LATE = Claim(
    id="cgd-beyond-seven",
    panel="batch",
    label="CGD's log-loss after 7 steps, d = 10",
    kind="paper",
    text="For d = 10 conjugate gradient has not converged after seven steps: its log-loss is "
    "above −3, an error of 5%.",
    source="Appendix C, Figure 16",
    quote="CGD does not converge until beyond 7 steps",
    at={**TASK, "d": 10, "layers": range(7, 11), "noise": 0.0},
    at_least=-3.0,
)
IMPRACTICAL = Claim(
    id="beyond-seven-layers",
    panel="overfit",
    label="d = 10, beyond 7 layers: log-loss above the floor",
    kind="paper",
    text="More than seven layers need many more iterations: after 1000 steps, which are enough "
    "for seven, a model of eight to ten layers is .5 or more above the exact floor.",
    source="Appendix C",
    quote="becomes impractical due to extensive iteration requirements",
    at={
        **TASK,
        "d": 10,
        "layers": range(8, 11),
        "steps": 1000,
        "batches": "fresh",
        "variant": "lfom",
        "preconditioner": "full",
    },
    at_least=0.5,
)
ALL = (
    COMPETITIVE,
    DEFLECTION,
    LINE_SEARCH,
    BEATS_NESTEROV,
    BEATS_MOMENTUM,
    BEATS_TUNED,
    NESTEROV_BEST,
    MOMENTUM_BEST,
    INVERTS,
    FRESH_INVERTS,
    EXACT,
    LATE,
    IMPRACTICAL,
)
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
    if not COMPETITIVE.is_at(run.config):
        return []
    behind = behind_cgd(run, COMPETITIVE, slice(0, FIGURES))
    gaps = (fresh_log_loss(run) - log_from_least(run["baseline/cg"])).mean(0)[:FIGURES]
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
        Metric.over_seeds(DEFLECTION, shares),
        Metric.over_seeds(LINE_SEARCH, steps, reason=grows),
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
    if not BEATS_NESTEROV.is_at(run.config):
        return []
    tuned = np.minimum(run["baseline/nesterov_tuned"], run["baseline/momentum_tuned"])
    competitors = (
        (BEATS_NESTEROV, run["baseline/nesterov"]),
        (BEATS_MOMENTUM, run["baseline/momentum"]),
        (BEATS_TUNED, tuned),
    )
    return [_worst(run, claim, losses) for claim, losses in competitors]


def _worst(run: Run, claim: Claim, losses: np.ndarray) -> Metric:
    """Measure the trained model's log-loss less that of a method with these losses [K], at the
    worst depth up to four."""
    gaps = (fresh_log_loss(run) - log_from_least(losses))[:, :FIGURES]  # [seeds, depths]
    return Metric.over_seeds(claim, gaps[:, gaps.mean(0).argmax()])


def _pairs(config: Any) -> list[Metric]:
    """Measure the printed settings of Nesterov's method and of momentum against a grid."""
    claims = {
        "Nesterov": NESTEROV_BEST,
        "momentum": MOMENTUM_BEST,
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
    claims = (INVERTS, FRESH_INVERTS)
    claim = next((claim for claim in claims if claim.is_at(run.config)), None)
    if claim is None:
        return []
    conditions = moving_covariates.conditions_of_seeds(run)  # [seeds, layers]
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
    if EXACT.is_at(run.config):
        metrics.append(Metric(EXACT, exact_after_d(run.config)))
    if LATE.is_at(run.config):
        value = float(log_from_least(run["baseline/cg"])[6])
        metrics.append(Metric(LATE, value))
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
    claim = IMPRACTICAL
    if not claim.is_at(run.config):
        return []
    floor = np.log(baselines.exact_floors(run.config)[-1].loss)
    gaps = log_from_least(run["evaluated/loss"])[:, -1] - floor
    alone = float(run["evaluated/error"][:, -1].mean())
    return [Metric.over_seeds(claim, gaps, alone)]
