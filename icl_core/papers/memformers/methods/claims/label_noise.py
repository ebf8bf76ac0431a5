"""What is claimed of models that learn from labels with noise, and how it is measured."""

from typing import Any

from icl_core.contract.experiment import Claim, Metric, Run
from icl_core.papers.memformers.methods.authors_settings import FRESH
from icl_core.papers.memformers.shared.load_run import log_from_least

NOISY: dict[str, Any] = {**FRESH, "variant": "lfom", "preconditioner": "full", "noise": 2.0}
NOISE_TURNS = Claim(
    id="noise-turns",
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
    label="with noise: floor of four layers above ridge",
    kind="theory",
    text="Where the labels have noise, the floor of fixed steps falls to the loss of ridge "
    "regression, which no method passes: with τ = 2 four layers come within .02 of it.",
    source="not in the paper; the best predictor for Gaussian w* and noise",
    at=NOISY,
    near=0.0,
    tolerance=0.02,
)
CLAIMS = (NOISE_TURNS, NOISE_NEEDS_MEMORY, RIDGE)


def measure(run: Run) -> list[Metric]:
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
