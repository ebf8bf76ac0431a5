"""Loss and distance to Σ⁻¹ over the training of the deepest model (Figures 18 to 21)."""

from itertools import product
from typing import Any

import numpy as np

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve, mean_of
from icl_core.papers.memformers.shared.draw.losses import (
    floor_of,
    reference_curves,
    roomy,
    tabled,
    trained_name,
    window,
)
from icl_core.papers.memformers.shared.draw.preconditioner import LISTED, listed
from icl_core.papers.memformers.shared.load_run import curve, end, log_of, step
from icl_core.papers.memformers.shared.test_set import WATCHED
from icl_core.papers.memformers.shared.variants import VARIANTS
from icl_core.papers.memformers.shared.words import WORDS

NEAR = 0.1  # of the last log-loss: arrived
TICKS = [digit * 10.0**power for power, digit in product(range(-4, 1), (1, 2, 5))]
COLOURS = 8  # that layers have; from there on they repeat, dashed


def training_panel(run: Run, view: Any) -> Panel:
    """Draw the natural log of the loss on fresh prompts against the training step; also of a run in
    training."""
    x = step(run)
    logs = log_of(curve(run, "curve/loss"))
    others = [
        Curve(name, x, y, kind, "dash")
        for name, y, kind in reference_curves(run, "curve/beside/{}")
    ]
    series = [Curve(trained_name(run), x, logs), *others]
    if getattr(view, "single_seeds", False):
        series += [Curve(f"seed {i + 1}", x, row, "seed") for i, row in enumerate(logs)]
    series = [*_floor(run, x), *reversed(series)]  # the model's own dot on top
    zero = float(np.log(run.config.d))
    means = [line.mean() for line in series]
    kept = [mean[mean <= zero + 1.5] for mean in means]  # an early spike leaves the picture
    figure = figures.curves(
        series, "training step", "log-loss", y_range=window([*kept, [zero]]),
        lines=[("predicting zero", zero, "floor")], at=_at(run, view),
    )  # fmt: skip
    return WORDS.panel(
        "training",
        figure=roomy(figure),
        data=tabled("step", x, [Curve("trained", x, logs), *others]),
        finished=run.finished,
        settled=_arrival(x, logs),
        others="".join(f", {other.name} by {_arrival(x, other.y)}" for other in others),
        layers=run.config.layers,
        prompts=WATCHED,
        beside=bool(others),
        near=NEAR,
        several_seeds=len(logs) > 1,
    )


def distances(run: Run, view: Any) -> Panel:
    """Draw Dist(√Σ A_l √Σ, I) of every layer over training; also of a run in training."""
    x = step(run)
    series: list[Curve] = []
    for i in range(run.config.layers):
        y = curve(run, f"curve/distance_{i}")
        dash = "dash" if i >= COLOURS else None
        series.append(Curve(f"layer {i + 1}", x, y, f"layer {i % COLOURS + 1}", dash))
    figure = figures.curves(
        series, "training step", "distance to a multiple of I", log_y=True, at=_at(run, view)
    )
    figure.update_yaxes(tickvals=TICKS, ticktext=[f"{tick:g}" for tick in TICKS])
    ends = [float(layer.mean()[-1]) for layer in series]
    return WORDS.panel(
        "distances",
        figure=roomy(figure),
        data=tabled("step", x, series, 5),
        finished=run.finished,
        ends=listed(ends),
        deep=len(ends) > LISTED,
        layers=len(ends),
        random=random_distance(run.config.d),
        several_seeds=run.config.seeds > 1,
        moving=VARIANTS[run.config.variant].moves_covariates,
    )


def random_distance(d: int) -> float:
    """Return how far a random d × d matrix, a Gaussian one, is from a multiple of I."""
    return (1 - 1 / d**2) ** 0.5


def _at(run: Run, view: Any) -> float | None:
    """Return the step shown; None of a run that has no snapshots yet."""
    return run.step(view) if run.snapshot_steps else None


def _floor(run: Run, x: np.ndarray) -> list[Curve]:
    key, label = floor_of(run.config)
    value = end(run, f"baseline/{key}") if f"baseline/{key}" in run.tensors else np.nan
    if not np.isfinite(value):
        return []
    return [Curve(label, x[[0, -1]], np.array([value, value]), "floor")]


def _arrival(x: np.ndarray, logs: np.ndarray) -> str:
    """Return the step from which the mean stays within `NEAR` of its last value, in words."""
    mean = mean_of(logs)
    if not np.isfinite(mean[-1]):
        return "–"
    outside = np.flatnonzero(~(np.abs(mean - mean[-1]) <= NEAR))
    return str(x[outside[-1] + 1 if len(outside) else 0])
