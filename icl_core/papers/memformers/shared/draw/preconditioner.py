"""What A_l has learned of Σ⁻¹, and the loss and distance to Σ⁻¹ over the training of the deepest
model (Figures 18 to 21)."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve, mean_of
from icl_core.figures.map_grid import diverging
from icl_core.papers.memformers.shared import load_run, variants
from icl_core.papers.memformers.shared.draw.losses import (
    floor_of,
    reference_curves,
    roomy,
    tabled,
    trained_name,
    window,
    written,
)
from icl_core.papers.memformers.shared.load_run import (
    covariance_of,
    curve,
    depth_of,
    end,
    knows_covariance,
    log_of,
    parameters_at,
    step,
    step_of,
)
from icl_core.papers.memformers.shared.test_set import WATCHED
from icl_core.papers.memformers.shared.variants import VARIANTS, distances
from icl_core.papers.memformers.shared.words import WORDS

applies = knows_covariance
LOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
MOST = 4  # layers drawn at once
LISTED = 5  # numbers that a title has room for
WRITTEN = 6  # dimensions up to which the numbers of three layers are written


def preconditioner_panel(run: Run, view: Any) -> Panel:
    """Draw one learned A_l in the original coordinates, Σ⁻¹ scaled onto it, what remains between
    them, and √Σ A_l √Σ."""
    depth = depth_of(run, view)
    snapshot = run.snapshot_at(view)
    layer = min(view.layer, depth)
    matrices = whitened_of(run, view.seed_shown, depth, snapshot)  # [L, d, d]
    last = whitened_of(run, view.seed_shown, depth, len(run.snapshot_steps) - 1)
    covariance = covariance_of(run, view.seed_shown)
    back = covariance.inverse_root
    inverse = covariance.inverse
    A = back @ matrices[layer - 1] @ back
    final_A = back @ last[layer - 1] @ back
    factor = float((A * inverse).sum() / inverse.square().sum())
    maps = [matrix.numpy() for matrix in (A, factor * inverse, A - factor * inverse)]
    limit = figures.largest_magnitude(*maps, final_A.numpy())
    white = matrices[layer - 1].numpy()
    largest = figures.largest_magnitude(white, last[layer - 1].numpy())
    own = "A" + str(layer).translate(LOW)
    scaled = f"{written(factor)} Σ⁻¹"
    titles = (f"{own}, learned", scaled, "difference", f"whitened, to ± {largest:.2g}")
    figure = figures.maps(titles, [*maps, white], None, None, "entry", limit=limit)
    figure.data[-1].update(coloraxis="coloraxis2")  # a range of its own: its units are others
    entries = pd.DataFrame(np.round(maps[0], 5), columns=[str(i + 1) for i in range(len(A))])
    return WORDS.panel(
        "preconditioner",
        figure=figure.update_layout(coloraxis2=diverging(largest)),
        data=entries,
        layer=layer,
        depth=depth,
        step=step_of(run, depth, snapshot),
        distance=float(distances(matrices)[layer - 1]),
        several_heads=run.config.heads > 1,
        multiples=_multiples_beside_best(run, matrices, depth),
    )


def whitened(run: Run, view: Any) -> Panel:
    """Draw √Σ A_l √Σ of the layers, four at most from the one asked for on, each divided by its
    a_l."""
    depth = depth_of(run, view)
    snapshot = run.snapshot_at(view)
    matrices = whitened_of(run, view.seed_shown, depth, snapshot)  # [L, d, d]
    a = matrices.diagonal(dim1=1, dim2=2).mean(-1).tolist()
    by_layer = distances(matrices).tolist()
    first = max(0, min(view.layer - 1, depth - MOST))
    layers = range(first, min(depth, first + MOST))
    scaled = (matrices / scales(matrices)[:, None, None]).numpy()
    maps = [scaled[layer] for layer in layers]
    titles = [f"layer {layer + 1}, a = {written(a[layer])}" for layer in layers]
    limit = min(figures.largest_magnitude(*maps), 2.0)
    legible = run.config.d <= WRITTEN and len(layers) <= 3
    figure = figures.maps(titles, maps, None, None, "√Σ Aₗ √Σ / aₗ", limit=limit, written=legible)
    return WORDS.panel(
        "whitened",
        figure=figure,
        data=pd.DataFrame({"layer": range(1, depth + 1), "a": a, "distance": by_layer}).round(5),
        step=step_of(run, depth, snapshot),
        distances=listed(by_layer),
        multiples=_multiples_beside_best(run, matrices, depth),
    )


def listed(numbers: Sequence[float]) -> str:
    """Return numbers with three places, one by one; of many the least and the largest."""
    if len(numbers) > LISTED:
        return f"{written(min(numbers), 3)} to {written(max(numbers), 3)}"
    return ", ".join(written(number, 3) for number in numbers)


def multiples(run: Run) -> np.ndarray:
    """Return a_l = tr(√Σ A_l √Σ) / d of the deepest model after training, [seeds, L]."""
    return _every_seed(run, None).diagonal(dim1=2, dim2=3).mean(-1).numpy()


def distances_at(run: Run, snapshot: int) -> np.ndarray:
    """Return Dist(√Σ A_l √Σ, I) of the deepest model at a snapshot, [seeds, L]."""
    return distances(_every_seed(run, snapshot)).numpy()


def _every_seed(run: Run, snapshot: int | None) -> Tensor:
    """Return `whitened_of` the deepest model of every seed, [seeds, L, d, d]."""
    config = run.config
    return torch.stack(
        [whitened_of(run, seed + 1, config.layers, snapshot) for seed in range(config.seeds)]
    )


def whitened_of(run: Run, seed: int, depth: int, snapshot: int | None) -> Tensor:
    """Return √Σ A_l √Σ of every layer, the heads summed, [L, d, d] float64, in whatever coordinates
    it was learned."""
    parameters = parameters_at(run, seed, depth, snapshot)
    return variants.preconditioners(parameters, run.config, load_run.root_of(run, seed))[0].double()


def scales(matrices: Tensor) -> Tensor:
    """Return what matrices [L, d, d] are divided by to be compared with the identity, [L]: a_l, or
    where it is nearly zero, as before training, the size of an entry: noise is then drawn as
    noise."""
    a = matrices.diagonal(dim1=1, dim2=2).mean(-1)
    size = matrices.square().mean((1, 2)).sqrt().clamp(min=1e-12)
    return torch.where(a.abs() > 0.3 * size, a, size)


def _multiples_beside_best(run: Run, matrices: Tensor, depth: int) -> str:
    """Return what is said of the multiples a_l of the matrices [L, d, d], beside the best ones."""
    a = matrices.diagonal(dim1=1, dim2=2).mean(-1).tolist()
    variant = VARIANTS[run.config.variant]
    moving = variant.moves_covariates
    best = [] if moving else run["reference/floor_steps"][depth - 1, :depth].tolist()
    return WORDS.text(
        "multiples",
        learned=" ".join(map(written, sorted(a))),
        moving=moving,
        best=" ".join(map(written, best)),
        memory=variant.memory != "none",
    )


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
    series = [*_floor_curve(run, x), *reversed(series)]  # the model's own dot on top
    zero = float(np.log(run.config.d))
    means = [line.mean() for line in series]
    kept = [mean[mean <= zero + 1.5] for mean in means]  # an early spike leaves the picture
    figure = figures.curves(
        series, "training step", "log-loss", y_range=window([*kept, [zero]]),
        lines=[("predicting zero", zero, "floor")], at=_shown_step(run, view),
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


def distances_panel(run: Run, view: Any) -> Panel:
    """Draw Dist(√Σ A_l √Σ, I) of every layer over training; also of a run in training."""
    x = step(run)
    series: list[Curve] = []
    for i in range(run.config.layers):
        y = curve(run, f"curve/distance_{i}")
        dash = "dash" if i >= COLOURS else None
        series.append(Curve(f"layer {i + 1}", x, y, f"layer {i % COLOURS + 1}", dash))
    figure = figures.curves(
        series,
        "training step",
        "distance to a multiple of I",
        log_y=True,
        at=_shown_step(run, view),
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


def _shown_step(run: Run, view: Any) -> float | None:
    """Return the step shown; None of a run that has no snapshots yet."""
    return run.step(view) if run.snapshot_steps else None


def _floor_curve(run: Run, x: np.ndarray) -> list[Curve]:
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
