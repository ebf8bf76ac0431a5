"""Losses at the worst seed, or at the best one where too much is claimed of it, and what the MLP has learned."""

from icl_core import trend
from icl_core.experiment import Metric, Run
from icl_core.papers.gdssm.nonlinear.claims import BEATS, FEATURES, GATE, LINE, REACHES, SMALL, STAYS
from icl_core.papers.gdssm.nonlinear.read_run import learned, model_at


def metrics(run: Run) -> list[Metric]:
    """All claims, each undecided where a model that it is about was not yet trained to its end."""
    gated, plain, linear, state = (run[f"evaluated/{name}"] for name in ("mlp gate", "mlp", "linear gate", "state"))
    of_gated, of_plain, of_linear = (unfinished(run, name) for name in ("mlp gate", "mlp", "linear gate"))
    paired = float((gated - plain).std(ddof=1) / len(gated) ** 0.5 / plain.mean()) if len(gated) > 1 else None
    r2 = [learned(model_at(run, "mlp", -1, row)).r2.min() for row in range(run.config.seeds)]  # of the worse wave
    return [
        Metric(REACHES, float(gated.max() / run["baseline/ideal"][0] - 1), unfinished=of_gated),
        Metric(SMALL, float(gated.max()), unfinished=of_gated),
        Metric(STAYS, float(linear.min()), unfinished=of_linear),
        Metric(BEATS, float(gated.max() / linear.min()), unfinished=of_gated or of_linear),
        Metric(GATE, float(gated.mean() / plain.mean() - 1), paired, of_gated or of_plain),
        Metric(LINE, float(state.min() / run["baseline/line"][0])),
        Metric(FEATURES, float(min(r2)), unfinished=of_plain),
    ]


def unfinished(run: Run, name: str) -> str:
    """Why a model's training does not decide what is claimed of its end: the loss was falling by more than a
    twentieth of the loss of gradient descent. Empty if it does decide it."""
    matters = 0.05 * float(run["baseline/ideal"][0])
    return trend.still_falling(run[f"curve/{name}"], matters, run["curve/step"])
