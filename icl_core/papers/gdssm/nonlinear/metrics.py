"""Trained layers beside constructed ones, paired by seed; losses at the worst seed; and what the
MLP has learned."""

import numpy as np

from icl_core.contract.experiment import Metric, Run
from icl_core.papers.gdssm.nonlinear.claims import (
    BETTER,
    BETTER_PLAIN,
    FEATURES,
    GATE,
    IDEAL,
    LINE,
    REACHES,
)
from icl_core.papers.gdssm.nonlinear.load_run import learned, model_at
from icl_core.statistics import trend
from icl_core.statistics.over_seeds import standard_error

LITTLE = 0.01  # of the loss of a model that is compared with another


def measure(run: Run) -> list[Metric]:
    """All claims, each undecided where a model that it is about was not yet trained to its end."""
    compared = (
        (REACHES, "linear gate trained", "linear gate"),
        (BETTER, "linear gate trained", "linear gate"),
        (BETTER_PLAIN, "linear trained", "linear"),
        (GATE, "linear gate trained", "linear trained"),
    )
    found = [
        Metric(
            claim,
            *over(run, id, other),
            unfinished(run, id, LITTLE) or unfinished(run, other, LITTLE),
            count=run.config.seeds,
        )
        for claim, id, other in compared
    ]
    r2 = [
        learned(model_at(run, "mlp", -1, row)).r2.min() for row in range(run.config.seeds)
    ]  # of the worse wave
    ideal, line = (float(run[f"baseline/{name}"][0]) for name in ("ideal", "line"))
    return [
        *found,
        Metric(
            IDEAL,
            float(run["evaluated/mlp gate"].max() / ideal - 1),
            unfinished=unfinished(run, "mlp gate"),
        ),
        Metric(LINE, float(run["evaluated/state"].min() / line)),
        Metric(FEATURES, float(min(r2)), unfinished=unfinished(run, "mlp")),
    ]


def over(run: Run, id: str, other: str) -> tuple[float, float | None]:
    """A model's loss over another's less 1, of the means over seeds, and its standard error by
    pairs of seeds."""
    first, second = (np.asarray(run[f"evaluated/{each}"], float) for each in (id, other))
    error = standard_error(first - second)
    relative_error = None if error is None else float(error / second.mean())
    return float(first.mean() / second.mean() - 1), relative_error


def unfinished(run: Run, name: str, share: float | None = None) -> str:
    """Why a model's training does not decide what is claimed of its end: the loss was falling by
    more than a `share` of itself or, without one, a twentieth of the loss of gradient descent.
    Empty if it does decide it."""
    own = share is not None
    matters = (
        share * float(run[f"evaluated/{name}"].mean())
        if own
        else 0.05 * float(run["baseline/ideal"][0])
    )
    return trend.still_falling(run[f"curve/{name}"], matters, run["curve/step"])
