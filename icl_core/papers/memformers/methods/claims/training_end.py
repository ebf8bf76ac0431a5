"""What is claimed of models trained to the end on fresh prompts, whose labels may have noise, and
how it is measured."""

from typing import Any

import numpy as np

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.contract.statistics import still_falling
from icl_core.papers.memformers.methods.authors_settings import FRESH, TASK
from icl_core.papers.memformers.shared import load_run
from icl_core.papers.memformers.shared.load_run import log_from_least
from icl_core.papers.memformers.shared.task import eigenvalues_of
from icl_core.papers.memformers.shared.variants import VARIANTS

BEST_SHARED = (0.143, -0.127, -0.594, -0.895)  # log-losses

REACHES_FLOOR = Claim(
    id="reaches-floor",
    panel="training",
    label="log-loss above the floor",
    kind="ours",
    text="Trained on fresh prompts the Memformer reaches the floor, the best polynomial of its "
    "degree, up to four layers.",
    source="not in the paper; follows from Lemma 2.1 and Theorem 3.2",
    at={**FRESH, "preconditioner": "full"},
    near=0.0,
    tolerance=0.03,
)
SCALAR_REACHES_FLOOR = Claim(
    id="scalar-reaches-floor",
    panel="training",
    label="log-loss above the floor, A = aI",
    kind="ours",
    text="With Aₗ = aₗ I a trained model reaches the best polynomial of its degree in S, up to "
    "four layers.",
    source="not in the paper; Figure 1's floor",
    at={**FRESH, "preconditioner": "scalar"},
    near=0.0,
    tolerance=0.02,
)
KNOWN_LINES = Claim(
    id="known-lines",
    label="construction on the test set, gap to its exact loss",
    kind="theory",
    text="The construction with the best steps loses on the test set what the moments E tr Sᵏ of "
    "the Wishart distribution give it exactly, with one and with two layers.",
    source="exact moments of S; log-losses .1431 and −1.0182 for d = 5, n = 20",
    at={**TASK, "layers": range(4, 11)},
    near=0.0,
    tolerance=0.015,
)
EQUAL_POWER = Claim(
    id="equal-power",
    panel="by_depth",
    label="spread of variants in log-loss",
    kind="ours",
    text="Trained to the end, the linear transformer, the CGD-like and the LFOM Memformer are "
    "equal: the gaps in Figures 1 to 3 show who trains faster, not who can do more.",
    source="against Figures 1 to 3",
    at={**FRESH, "beside": "all"},
    near=0.0,
    tolerance=0.05,
)
SHARED = Claim(
    id="shared-is-worse",
    panel="overfit",
    label="log-loss lost by sharing Γ",
    kind="ours",
    text="One Γ_j for all layers, as in the paper's experiments, is heavy ball with β = 1, and "
    "far worse than a free Γ_j^l.",
    source="against Section 3.3",
    at={**FRESH, "variant": "shared", "beside": "free"},
    at_least=1.5,
)
SHARED_VALUES = Claim(
    id="shared-values",
    panel="overfit",
    label="gap to the best shared Γ",
    kind="ours",
    text="With one Γ_j for all layers, one to four layers reach log-losses of .143, −.127, −.594 "
    "and −.895.",
    source="the best values, computed; Figure 11's curve for a batch of 1000 lies beside them",
    at={**FRESH, "variant": "shared"},
    near=0.0,
    tolerance=0.03,
)
BEATS_CGD = Claim(
    id="beats-cgd",
    panel="overfit",
    label="trained minus CGD, up to four layers",
    kind="ours",
    text="Trained to the end on fresh prompts, fixed steps of one to four layers have a lower "
    "log-loss than conjugate gradient, which computes its own for each prompt.",
    source="Figures 2 and 3 show as much, up to three layers, of models that are not at their end",
    at={**FRESH, "preconditioner": "full"},
    at_most=0.0,
)
KNOWING = Claim(
    id="knowing-the-covariance",
    panel="overfit",
    label="CGD with Σ⁻¹ minus trained, up to four layers",
    kind="ours",
    text="Conjugate gradient that is given Σ⁻¹ wins with one to four layers. To know Σ⁻¹, and how "
    "S varies from prompt to prompt, is what lets fixed steps beat plain conjugate gradient.",
    source="against Figures 2 and 3",
    at={**FRESH, "preconditioner": "full"},
    at_most=0.0,
)
FRESH_KEEPS_UP = Claim(
    id="fresh-keeps-up",
    panel="overfit",
    label="d = 10, trained on fresh prompts: minus CGD",
    kind="ours",
    text="Trained on fresh prompts, a Memformer of six and of seven layers is ahead of conjugate "
    "gradient for d = 10 on prompts that it has not seen.",
    source="not in the paper, whose Figure 16 says as much of its batch",
    at={
        "batches": "fresh",
        "variant": "lfom",
        "preconditioner": "full",
        **TASK,
        "d": 10,
        "layers": 7,
    },
    at_most=0.0,
)
NOISE = Claim(
    id="heavy-tails",
    panel="depth",
    label="noise of a mean over 1000 prompts",
    kind="ours",
    text="With four layers a mean over 1000 prompts and their queries is off by 0.3 or more in "
    "log-loss; two curves on the same prompts can still be told apart.",
    source="against Figures 2 and 3",
    at={**TASK, "layers": range(4, 11)},
    at_least=0.3,
)
MOVING = Claim(
    id="moving-covariates-win",
    panel="products",
    label="GD++ minus CGD with Σ⁻¹, by layers",
    kind="ours",
    text="Layer for layer GD++ with memory, trained on fresh prompts, is ahead even of conjugate "
    "gradient that is given Σ⁻¹. Product for product it is not: four of its layers are a "
    "polynomial of degree 40.",
    source="not in the paper",
    at={**FRESH, "variant": "gd++", "preconditioner": "full"},
    at_most=0.0,
)


def measure(run: Run) -> list[Metric]:
    """Return the metrics of a run on fresh prompts."""
    config = run.config
    metrics = _floors(run) + _against_cgd(run)
    if _known_task(config) and config.variant == "lfom":
        noise = Metric(NOISE, float(run["reference/noise"][3]))
        return [_sampled_floor(run), noise, *metrics]
    return metrics


def _known_task(config: Any) -> bool:
    return (config.d, config.n, config.spectrum) == (5, 20, "paper") and config.layers >= 4


def _uneven(config: Any) -> bool:
    """Return whether there is something to know in Σ⁻¹: its eigenvalues are not all alike."""
    values = eigenvalues_of(config)
    return float(values.max() / values.min()) > 1.5


def _sampled_floor(run: Run) -> Metric:
    """Measure how far the construction's mean on the test set is from its exact expectation, at the
    worse of one and two layers; the error is that of this mean."""
    exact, sampled = (
        log_from_least(run[name][:2]) for name in ("baseline/floor", "reference/floor_sampled")
    )
    gaps = np.abs(sampled - exact)
    worst = int(gaps.argmax())
    error = float(run["reference/floor_sampled_error"][worst])
    return Metric(KNOWN_LINES, float(gaps[worst]), error)


def _trained(run: Run, claim: Claim, value: float) -> Metric:
    """Measure a claim on what a training comes to in the end: one that is not borne out is not
    decided while the loss falls."""
    falling = ""
    if not claim.slack(float(value)) >= 0:
        falling = still_falling(log_from_least(run["curve/loss"]), steps=run["curve/step"])
    return Metric(claim, float(value), unfinished=falling)


def _floors(run: Run) -> list[Metric]:
    """Measure how far a model that is trained to the end is from its floor, at the worst depth up
    to four and seed."""
    config = run.config
    variant = VARIANTS[config.variant]
    scalar = config.preconditioner != "full"
    if variant.id == "shared" and _known_task(config):
        gap = np.abs(fresh_log_loss(run)[:, :4] - BEST_SHARED).max()
        return [_trained(run, SHARED_VALUES, gap)]
    if (
        variant.shared
        or not variant.preconditioned
        or variant.moves_covariates
        or config.n < 2 * config.d
    ):
        return []
    if scalar and variant.per != "layer":
        return []  # these are no polynomials in S, and may go below
    if variant.memory == "none" and not scalar:
        return []  # the claim on its speed of training speaks of it
    floor = log_from_least(run["baseline/floor_scalar" if scalar else "baseline/floor"])
    claim = SCALAR_REACHES_FLOOR if scalar else REACHES_FLOOR
    return [_trained(run, claim, (fresh_log_loss(run) - floor)[:, :4].max())]


def _against_cgd(run: Run) -> list[Metric]:
    """Measure a model that can know Σ⁻¹ against conjugate gradient, at the worst depth up to four
    and seed."""
    config = run.config
    variant = VARIANTS[config.variant]
    last = min(4, config.d - 1)  # after d steps conjugate gradient is exact
    if (
        not load_run.knows_covariance(config)
        or variant.shared
        or config.n < 2 * config.d
        or not _uneven(config)
    ):
        return []
    trained = fresh_log_loss(run)[:, :last]
    cg, given = (log_from_least(run[f"baseline/{name}"])[:last] for name in ("cg", "pcg"))
    if variant.moves_covariates:
        return [_trained(run, MOVING, (trained[:, -1] - given[-1]).max())]
    return [
        Metric(BEATS_CGD, float((trained - cg).max())),
        _trained(run, KNOWING, (given - trained).max()),
    ]


def beside(run: Run) -> list[Metric]:
    """Measure the claims that compare a model with those trained beside it to the end."""
    config = run.config
    trained = fresh_log_loss(run)[:, :4]
    others = {
        name: log_from_least(run[f"beside/{name}/loss"])[:, :4] for name in run.names("beside")
    }
    metrics: list[Metric] = []
    if config.beside == "all" and VARIANTS[config.variant].equal_power:
        equal = [
            loss for name, loss in others.items() if name in VARIANTS and VARIANTS[name].equal_power
        ]
        spread = np.ptp([trained, *equal], axis=0).max()
        metrics.append(_trained(run, EQUAL_POWER, spread))
    if config.variant == "shared" and "free" in others and config.layers >= 4:
        metrics.append(_trained(run, SHARED, (trained - others["free"])[:, 3].min()))
    return metrics


def fresh_log_loss(run: Run) -> np.ndarray:
    """Return the log-loss on fresh prompts, [seeds, K]."""
    return log_from_least(run["evaluated/loss"])


NOISY: dict[str, Any] = {**FRESH, "variant": "lfom", "preconditioner": "full", "noise": 2.0}
NOISE_TURNS = Claim(
    id="noise-turns",
    panel="by_depth",
    label="with noise: trained minus CGD with Σ⁻¹",
    kind="ours",
    text="Where the labels have noise (τ = 2, the labels' own standard deviation is √5), a "
    "Memformer with two to four layers is ahead even of conjugate gradient that is given Σ⁻¹: "
    "conjugate gradient goes on to fit the noise. The worst of these depths counts.",
    source="not in the paper, whose labels have no noise",
    at=NOISY,
    at_most=0.0,
)
NOISE_NEEDS_MEMORY = Claim(
    id="noise-needs-memory",
    panel="by_depth",
    label="with noise: linear transformer minus Memformer, four layers",
    kind="ours",
    text="Where the labels have noise, the best polynomial of four layers has complex roots. No "
    "linear transformer is that polynomial, for its layers are real steps; a Memformer is. So "
    "memory is worth power, and not only speed; by .02 or more in log-loss at τ = 2.",
    source="not in the paper, whose labels have no noise; without noise all roots are real",
    at={**NOISY, "beside": ("linear", "all")},
    at_least=0.02,
)
RIDGE = Claim(
    id="noise-floor-is-ridge",
    panel="by_depth",
    label="with noise: floor of four layers above ridge",
    kind="theory",
    text="Where the labels have noise, the floor of fixed steps falls to the loss of ridge "
    "regression, which no method passes: with τ = 2 four layers come within .02 of it.",
    source="not in the paper; the best predictor for Gaussian w* and noise",
    at=NOISY,
    near=0.0,
    tolerance=0.02,
)
NOISE_CLAIMS = (NOISE_TURNS, NOISE_NEEDS_MEMORY, RIDGE)


def measure_noise(run: Run) -> list[Metric]:
    """Return the metrics of a run whose labels have noise: the trained model against conjugate
    gradient that is given Σ⁻¹, at the worst of two to four layers; the floor of four layers against
    ridge regression; and the linear transformer of four layers against the model."""
    if not run.config.noise or run.config.layers < 4:
        return []
    trained = log_from_least(run["evaluated/loss"])  # [seeds, K]
    behind = trained[:, 1:4] - log_from_least(run["baseline/pcg"])[1:4]
    floor, ridge = (log_from_least(run[f"baseline/{name}"])[3] for name in ("floor", "ridge"))
    metrics = [
        Metric.over_seeds(NOISE_TURNS, behind[:, behind.mean(0).argmax()]),
        Metric(RIDGE, float(floor - ridge)),
    ]
    if "linear" in run.names("beside"):
        gap = (log_from_least(run["beside/linear/loss"]) - trained)[:, 3]
        metrics.append(Metric.over_seeds(NOISE_NEEDS_MEMORY, gap))
    return metrics
