"""A number for each claim, read off a run."""

from icl_core.contract.experiment import Metric, Run
from icl_core.papers.memformers.theorems import claims, parameters
from icl_core.papers.memformers.theorems.settings import LEMMA
from icl_core.statistics.over_seeds import mean_and_error


def measure(run: Run) -> list[Metric]:
    """Return all that this setting can bear out. With a prompt's coefficients nothing is measured
    once it is solved."""
    metrics = [Metric(claims.IDENTITIES[name], apart(run, name)) for name in run.names("methods")]
    metrics += [
        Metric(claims.LEMMA, apart(run, LEMMA)),
        Metric(claims.OTHER, float(run["others/distance/other"][-1])),
        Metric(claims.FIRST_STEP, float(run["others/first_step"])),
        Metric(claims.ALONG, float(run["gradient/along"])),
        Metric.over_seeds(claims.SLOPE, run["gradient/slopes"]),
        Metric(claims.COUNTS, float(off(run))),
        Metric(claims.FIVE_RUNS, float(run["code/five-runs"][0])),
    ]
    if told_apart(run):
        metrics.append(Metric(claims.STATIONARY, *expected(run)))
    for name in run.names("errata"):
        metrics.append(Metric(claims.ERRATA[name], float(run[f"errata/{name}"][0])))
    return metrics


def apart(run: Run, method: str) -> float:
    """Return the largest difference between tokens and method, over prompts and layers."""
    return float(run[f"identity/{method}"].max())


def slope(run: Run) -> tuple[float, float | None]:
    """Return the power of N with which the gradient at the construction falls, and its standard
    error."""
    return mean_and_error(run["gradient/slopes"])


def expected(run: Run) -> tuple[float, float]:
    """Return ‖E ∇f‖² at the construction over that at the best multiples of I, and its standard
    error."""
    (value, error), (beside, _) = (
        run[f"gradient/expected/{name}"] for name in ("construction", "identity")
    )
    return float(value / beside), float(error / beside)


def told_apart(run: Run) -> bool:
    """Return whether the gradient at the best multiples of I is seen at all: more than three errors
    from zero."""
    value, error = run["gradient/expected/identity"]
    return bool(value > 3 * error)


def off(run: Run) -> int:
    """Return by how much the counted parameters of all variants differ from their formulas."""
    counted = zip(run.names("variants"), run["count/used"], strict=True)
    return sum(
        abs(int(number) - parameters.COUNTS[name].number(run.config)) for name, number in counted
    )
