"""The decoded optimiser: what every method makes of each past gradient, as triangles on
one scale."""

from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.papers.memformers.methods import decode as decoded
from icl_core.papers.memformers.methods.settings import View
from icl_core.papers.memformers.shared import known_methods
from icl_core.papers.memformers.shared.draw.losses import written
from icl_core.papers.memformers.shared.load_run import (
    constructed,
    depth_of,
    parameters_at,
    root_of,
    step_of,
    tuned,
)
from icl_core.papers.memformers.shared.variants import VARIANTS

WRITTEN = 6  # layers up to which the numbers are written
HELD = 0.9  # a table that holds less of the matrices than this share says little of where they end
TRAINED = "trained"
BUILT = "constructed"
CGD = "CGD"
PRE = "CGD with Σ⁻¹"
Tables = dict[str, np.ndarray]


def applies(config: Any) -> bool:
    """Return whether the model is a table of numbers on past gradients: not with a Γ per token, nor
    where covariates move."""
    return VARIANTS[config.variant].has_one_w


def optimiser_panel(run: Run, view: View) -> Panel:
    """Draw Λ of the trained model beside those of gradient descent, momentum, Nesterov, CGD and the
    construction."""
    depth = depth_of(run, view)
    snapshot = run.snapshot_at(view)
    trained, share = learned(run, view.seed_shown, depth, snapshot)
    last, _ = learned(run, view.seed_shown, depth, len(run.snapshot_steps) - 1)
    tables = {TRAINED: trained, **references(run, depth)}
    triangles = {name: _triangle(table, view) for name, table in tables.items()}
    after, past = ([str(layer + first) for layer in range(depth)] for first in (1, 0))
    figure = figures.maps(
        list(triangles),
        list(triangles.values()),
        after,
        past,
        "Λ, as a share of Σ⁻¹ ∇R",
        row_title="after layer",
        column_title="past gradient",
        limit=figures.largest_magnitude(*triangles.values(), _triangle(last, view)),
        written=depth <= WRITTEN,
    )
    return Panel(
        _title(run, tables, depth, step_of(run, depth, snapshot)),
        _caption(view, share),
        figure,
        data=_table(triangles),
        note=_note(run, tables, depth) if share > HELD else "",
    )


def references(run: Run, depth: int) -> Tables:
    """Return the tables [depth, depth] of the methods that need no training, in shares of Σ⁻¹ ∇R,
    with the best settings for this depth."""
    # A step η in the original coordinates is η Σ in whitened ones.
    unit = float(run["frozen/eigenvalues"].mean())
    return {
        BUILT: np.diag(_built(run, depth)),
        PRE: run["reference/pcg"][:depth, :depth].astype(float),
        CGD: unit * run["reference/cg"][:depth, :depth],
        "gradient descent": unit * known_methods.gradient_descent(depth, *tuned(run, "gd", depth)),
        "momentum, tuned": unit * known_methods.momentum(depth, *tuned(run, "momentum", depth)),
        "Nesterov, tuned": unit * known_methods.nesterov(depth, *tuned(run, "nesterov", depth)),
    }


def _built(run: Run, depth: int) -> np.ndarray:
    """Return the constructed transformer's steps in shares of Σ⁻¹ ∇R, [depth]."""
    steps, is_white = constructed(run, depth)
    return steps if is_white else steps * float(run["frozen/eigenvalues"].mean())


def learned(run: Run, seed: int, depth: int, snapshot: int) -> tuple[np.ndarray, float]:
    """Return the trained model's table, [depth, depth], and the share of its matrices that the
    table holds."""
    parameters = parameters_at(run, seed, depth, snapshot)
    return decoded.learned(parameters, run.config, root_of(run, seed))


def _triangle(table: np.ndarray, view: View) -> np.ndarray:
    """Return the lower triangle of a table, per step or summed up; blank above it."""
    values = np.cumsum(table, axis=0) if view.unit == "sum" else table
    return np.where(np.tri(len(table), dtype=bool), values, np.nan)


def _title(run: Run, tables: Tables, depth: int, step: int) -> str:
    start = f"{VARIANTS[run.config.variant].name}, {depth} layer{'s' * (depth > 1)}, step {step}"
    if depth == 1:
        return (
            f"{start}: one step of {written(float(tables[TRAINED][0, 0]))}, CGD's is "
            f"{written(tables[CGD][0, 0])}"
        )
    own, cg, pre = (decoded.memory(tables[name]) for name in (TRAINED, CGD, PRE))
    return (
        f"{start}: {own:.0%} of its weight is on older gradients; CGD {cg:.0%}, CGD with Σ⁻¹ "
        f"{pre:.0%}"
    )


def _caption(view: View, share: float) -> str:
    what = (
        "wₗ₊₁ − wₗ = − Σⱼ Λⱼˡ ∇R(wⱼ): a row is a layer's step, a column the gradient at an "
        "earlier guess. Look left of the diagonal: that is memory. Gradient descent and a "
        "transformer without memory have nothing there."
        if view.unit == "step"
        else "wₗ₊₁ = w₀ − Σᵢ Λᵢˡ ∇R(wᵢ) (eq. 1.1): rows are summed up from the start. Look for "
        "columns that change on the way down: that is memory. A method without memory has columns "
        "of one colour."
    )
    held = (
        ""
        if share > 0.995
        else f" Each number is a mean over eigenvectors and holds {share:.0%} of its matrix."
    )
    return (
        f"{what}{held} Nesterov takes its gradients ahead of its guesses; R is quadratic, so that "
        "they can be written here with those at the guesses. CGD has a table for every prompt: "
        "this is their mean. The construction has no memory and reaches the floor."
    )


def _note(run: Run, tables: Tables, depth: int) -> str:
    own = decoded.equivalent(tables[TRAINED])
    best = _built(run, depth)
    if not np.isfinite(own).all():
        return ""
    if np.iscomplexobj(own):
        return (
            "No linear transformer without memory does the same: the polynomial has complex roots."
        )
    steps = " ".join(written(step) for step in own)
    if not np.isfinite(best).all():
        return (
            "After its last layer it has done what a linear transformer does with the steps "
            f"{steps}."
        )
    return (
        "After its last layer it has done what a linear transformer without memory does with the "
        f"steps {steps}. The best steps are {' '.join(written(float(step)) for step in best)}."
    )


def _table(triangles: Tables) -> pd.DataFrame:
    rows = []
    for name, table in triangles.items():
        for layer, j in zip(*np.tril_indices(len(table)), strict=True):
            coefficient = round(float(table[layer, j]), 5)
            row = {"method": name, "after layer": layer + 1, "gradient": j}
            rows.append(row | {"coefficient": coefficient})
    return pd.DataFrame(rows)
