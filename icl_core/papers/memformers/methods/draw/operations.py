"""Log-loss of GD++ against what it costs: products with S, or the degree of its polynomial, not
layers alone."""

from typing import Any

import numpy as np
import pandas as pd
import torch

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve, mean_of
from icl_core.in_context_regression import coloured
from icl_core.papers.memformers.methods.draw.depth import METHODS
from icl_core.papers.memformers.methods.settings import View
from icl_core.papers.memformers.shared import baselines, test_set
from icl_core.papers.memformers.shared.draw.losses import FULL, roomy, window, written
from icl_core.papers.memformers.shared.load_run import log_from_least, log_of
from icl_core.papers.memformers.shared.task import eigenvalues_of
from icl_core.papers.memformers.shared.variants import VARIANTS

MOST = 40  # steps that conjugate gradient takes
PROMPTS = 2**13  # on which it takes those that the run has not kept


def applies(config: Any) -> bool:
    """Return whether a layer costs more than one product with S."""
    return VARIANTS[config.variant].moves_covariates


def degree(layers: int, moving: bool = True) -> int:
    """Return the degree in S of w_L of GD++, (3^L − 1) / 2, or of a model with B = 0, L, where
    covariates are not `moving`.

    X_l = T_l X_0 with T_{l+1} = T_l − … B T_l S T_lᵀ Aᵀ T_l, and the error e_{l+1} = e_l − … T_lᵀ A
    T_l S e_l.
    """
    of_map = 0
    of_error = 0
    for _ in range(layers):
        of_error += 2 * of_map + 1
        of_map += 2 * of_map + 1 if moving else 0
    return of_error


def products(layers: int, d: int, tokens: int = 0) -> int:
    """Return how many products of a prompt's own d × d matrix with a vector GD++ makes, in the
    cheapest way that we know: a product of two such matrices is d of them, and one with a learned
    matrix, as CGD's with Σ⁻¹, is free.

    T_0 = I, so layer 0 has S e and S Aᵀ. A later one has S e, T (S e), T_lᵀ (A …), and S T_lᵀ, T (S
    T_lᵀ), … (Aᵀ T_l). The last layer's covariates are not needed. Where `tokens` go ways of their
    own there is no T: a layer has X y, Xᵀ g (n / d products each), and X Xᵀ, S Aᵀ, (B S Aᵀ) X, n
    and d and n.
    """
    if tokens:
        return round((2 * layers - 1) * tokens / d) + (layers - 1) * (2 * tokens + d)
    labels = 1 + 3 * (layers - 1)
    covariates = d * (layers > 1) + 3 * d * max(layers - 2, 0)
    return labels + covariates


def by_products(run: Run, view: View) -> Panel:
    """Draw the log-loss on fresh prompts against products with S."""
    d = run.config.d
    depths = [int(layers) for layers in run["depth/layers"]]
    logs = log_of(run["evaluated/loss"])
    zero = float(np.log(d))
    tokens = run.config.n if VARIANTS[run.config.variant].needs_examples else 0
    costs = [products(layers, d, tokens) for layers in depths]
    degrees = [degree(layers) for layers in depths]
    lines = {name: conjugate(run, name) for name in ("cg", "pcg")}
    floor = log_of(run["baseline/floor"])
    low, high = window([mean_of(logs), floor, [zero], *(line[:-1] for line in lines.values())])
    high = min(high, zero + 1.5)
    last = max(costs[-1], MOST)
    series = [
        _conjugate(name, line, last, low + 0.02 * (high - low)) for name, line in lines.items()
    ]
    series += [
        Curve(FULL + " (B = 0)", depths, floor, "floor"),
        Curve("GD++, by its degree", degrees, logs, "trained", "dot", markers=True),
        Curve("GD++, by products", costs, logs, "trained", markers=True),
    ]
    figure = figures.curves(
        series, "products with S, or degree", "log-loss", log_x=True,
        x_range=(0.9, 1.1 * last), y_range=(low, high), lines=[("predicting zero", zero, "floor")],
    )  # fmt: skip
    end = written(float(mean_of(logs)[-1]))
    baseline = _conjugate_gradient(run, lines)
    return Panel(
        f"{depths[-1]} layers of GD++: {end} for {costs[-1]} products, {baseline}",
        _caption(run, costs, degrees),
        roomy(figure),
        data=_table(depths, costs, degrees, mean_of(logs)),
        note="Products with matrices that all prompts share (A, B, Σ⁻¹) are not counted. After d "
        "products conjugate gradient has no direction left and is exact: it ends on the lower "
        "edge of the picture.",
    )


def conjugate(run: Run, name: str) -> np.ndarray:
    """Return the log-loss of "cg" or "pcg" after 1, 2, … products, until it has no direction left:
    of the steps that the run has, and of the others on fewer prompts. What is zero to rounding is
    1e-12."""
    config = run.config
    is_exact = config.d <= min(config.n, MOST)
    steps = min(config.d, config.n, MOST) - is_exact  # an exact last step leaves nothing
    losses = run[f"baseline/{name}"][:steps]
    if len(losses) < steps:
        S = torch.cat([block for _, block in test_set.held_out(config.d, config.n, PROMPTS)], -1)
        D = eigenvalues_of(config) if name == "cg" else None
        sampled, _ = baselines.conjugate(S if D is None else coloured(S, D), D, steps)
        later = sampled[len(losses) :].double().mean(-1)
        losses = np.append(losses, later.cpu().numpy())
    return log_from_least(np.append(losses, 0.0) if is_exact else losses)


def _conjugate(name: str, line: np.ndarray, last: int, edge: float) -> Curve:
    """Return the curve of a line, level from its end on; not below the `edge` of the picture."""
    label, kind, dash, _ = METHODS[name]
    x = np.append(np.arange(1, len(line) + 1), last)
    y = np.maximum(np.append(line, line[-1]), edge)
    return Curve(label, x, y, kind, dash, markers=True)


def _conjugate_gradient(run: Run, lines: dict[str, np.ndarray]) -> str:
    """Return how many products conjugate gradient takes, and its log-loss unless it is exact."""
    d = run.config.d
    if run.config.n >= d <= MOST:
        return f"CGD is exact after {d}"
    return f"CGD {written(float(lines['cg'][-1]))} for {len(lines['cg'])}"


def _caption(run: Run, costs: list[int], degrees: list[int]) -> str:
    L = run.config.layers
    return (
        "A layer of CGD, or of a model that does not move the covariates (B = 0), makes one "
        f"product with S. GD++ moves them, with products of d × d matrices: {L} layers are "
        f"{costs[-1]} products and a polynomial of degree {degrees[-1]}. Layer for layer it may "
        "be ahead of conjugate gradient. At equal cost it is behind wherever the blue line lies "
        "above the black ones. A line may go on beyond the axis."
    )


def _table(
    depths: list[int], costs: list[int], degrees: list[int], logs: np.ndarray
) -> pd.DataFrame:
    return pd.DataFrame(
        {"layers": depths, "products with S": costs, "degree": degrees, "GD++": logs.round(4)}
    )
