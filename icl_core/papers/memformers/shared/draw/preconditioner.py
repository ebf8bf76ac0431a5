"""What A_l has learned of Σ⁻¹ (Figures 18 to 21)."""

from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures.map_grid import diverging
from icl_core.papers.memformers.shared import load_run, variants
from icl_core.papers.memformers.shared.draw.losses import written
from icl_core.papers.memformers.shared.load_run import (
    covariance_of,
    depth_of,
    knows_covariance,
    parameters_at,
    step_of,
)
from icl_core.papers.memformers.shared.variants import VARIANTS, distances

applies = knows_covariance
LOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
MOST = 4  # layers drawn at once
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
    distance = float(distances(matrices)[layer - 1])
    return Panel(
        f"Layer {layer} of {depth}, step {step_of(run, depth, snapshot)}: √Σ A √Σ is "
        f"{written(distance, 3)} from a multiple of I",
        "The learned matrix Aₗ beside Σ⁻¹, which is scaled by one factor, fitted by least "
        "squares. If Aₗ has learned Σ⁻¹, their difference is grey, and the last map, √Σ Aₗ √Σ on "
        "a scale of its own, is a multiple of the identity. Before training both look like noise."
        + (" Heads are summed." if run.config.heads > 1 else ""),
        figure.update_layout(coloraxis2=diverging(largest)),
        data=pd.DataFrame(np.round(maps[0], 5), columns=[str(i + 1) for i in range(len(A))]),
        note=_note(run, matrices, depth),
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
    numbers = ", ".join(written(distance, 3) for distance in by_layer)
    if depth > 5:
        numbers = f"{written(min(by_layer), 3)} to {written(max(by_layer), 3)}"
    return Panel(
        f"Step {step_of(run, depth, snapshot)}: distance from a multiple of I {numbers}",
        "√Σ Aₗ √Σ of each layer, divided by aₗ, its trace over d. A layer that has learned Σ⁻¹ "
        "shows the identity: ones on the diagonal, grey elsewhere. One that has not looks like "
        "noise.",
        figure,
        data=pd.DataFrame({"layer": range(1, depth + 1), "a": a, "distance": by_layer}).round(5),
        note=_note(run, matrices, depth),
    )


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


def _note(run: Run, matrices: Tensor, depth: int) -> str:
    """Return the multiples a_l of the matrices [L, d, d], beside the best ones."""
    a = matrices.diagonal(dim1=1, dim2=2).mean(-1).tolist()
    learned = f"aₗ, sorted: {' '.join(written(multiple) for multiple in sorted(a))}."
    if VARIANTS[run.config.variant].moves_covariates:
        return (
            f"{learned} The covariates move here: from layer 2 on Aₗ meets others than those of Σ."
        )
    best = run["reference/floor_steps"][depth - 1, :depth]
    text = (
        f"{learned} The best linear transformer has "
        f"{' '.join(written(float(step)) for step in best)}"
    )
    if VARIANTS[run.config.variant].memory == "none":
        return f"{text}, in any order."
    return (
        f"{text}. Here Γ scales every Aₗ as well, so that only the decoded method can be compared."
    )
