"""What is put into the tokens: Γ_j^l of a method; and what one prompt's coefficients do
to others."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures import Curve
from icl_core.papers.memformers.shared.draw.losses import roomy
from icl_core.papers.memformers.theorems.draw.number_text import power
from icl_core.papers.memformers.theorems.metrics import apart
from icl_core.papers.memformers.theorems.settings import METHODS, View

MAPS = 3  # prompts or coordinates beside each other
DIFFER = {
    "cgd": "prompt",
    "cgd-gamma": "prompt",
    "diagonal": "coordinate",
}  # of what each has a table of its own
WRITTEN = 6  # layers up to which the numbers are written
# Of a loss or distance, where it is drawn.
LEAST = 1e-6
MOST = 1e3
LOSSES = {
    "own": ("its own α, γ: CGD", "conjugate gradient"),
    "other": ("another prompt's", "layer 2"),
    "mean": ("the mean over prompts", "layer 3"),
}
SAID = {
    "cgd": "Γⱼˡ = αₗ γⱼ₊₁ … γₗ of three prompts. Each has its own, so that no fixed Γ is CGD for "
    "all.",
    "cgd-gamma": "Γⱼˡ = αₗ γⱼ₊₁ … γₗ of three prompts. Each has its own, so that no fixed Γ is "
    "CGD for all.",
    "momentum": "Γⱼˡ = η βˡ⁻ʲ: an older gradient counts less, by a factor β for each layer.",
    "nesterov": "v becomes β v − η ∇R(w + β v), and R is quadratic: that gradient is (1 + β) "
    "∇R(wₗ) − β ∇R(wₗ₋₁). So row l is β times the row above, plus η (1 + β) on the diagonal, less "
    "η β left of it; the first row is η.",
    "any": "Random numbers Λ of eq. 1.1, as the differences that a layer needs: Γⱼˡ = Λⱼˡ⁻¹ − Λⱼˡ.",
    "diagonal": "One map for each coordinate of w, of random diagonal matrices Λ. One register "
    "has a factor for each token, and cannot hold them; d registers can.",
}


def table(run: Run, view: View) -> Panel:
    """Draw Γ_j^l of the chosen method: of three prompts or coordinates where these differ, else
    beside its sums."""
    tables = _maps(run, view)
    L = run.config.layers
    after, past = ([str(layer + first) for layer in range(L)] for first in (1, 0))
    figure = figures.maps(
        list(tables),
        list(tables.values()),
        after,
        past,
        "coefficient",
        row_title="after layer",
        column_title="past gradient",
        written=L <= WRITTEN,
        columns=MAPS,
    )
    return Panel(
        f"{METHODS[view.method]}: with these Γ the tokens are {power(apart(run, view.method))} "
        "from the method",
        "wₗ₊₁ = wₗ − Σⱼ Γⱼˡ ∇R(wⱼ): a row is a layer, a column a past gradient. "
        f"{SAID[view.method]} With another number the tokens would leave the method's path from "
        "that layer on.",
        figure,
        data=_tabled(tables),
    )


def _maps(run: Run, view: View) -> dict[str, np.ndarray]:
    every = run[f"table/{view.method}"]  # [L, L, prompts or d]
    triangle = np.tri(run.config.layers, dtype=bool)
    if view.method not in DIFFER:
        step = every[..., 0]
        tables = {"Γ of eq. 3.4, a layer's own": step, "−Γ of eq. 1.1, from w₀ on": step.cumsum(0)}
    else:
        count = every.shape[-1]
        first = 0 if view.method == "diagonal" else view.prompt
        chosen = [(first + i) % count for i in range(min(MAPS, count))]
        tables = {f"{DIFFER[view.method]} {i}": every[..., i] for i in chosen}
    return {name: np.where(triangle, each, np.nan) for name, each in tables.items()}


def _tabled(tables: dict[str, np.ndarray]) -> pd.DataFrame:
    rows = []
    for name, table in tables.items():
        for layer in range(len(table)):
            rows += [(name, layer + 1, j, table[layer, j]) for j in range(layer + 1)]
    return pd.DataFrame(rows, columns=["of", "after layer", "gradient", "coefficient"]).round(6)


def losses(run: Run, view: View) -> Panel:
    """Draw the median loss of conjugate gradient, with its own coefficients and with others."""
    x = np.arange(run.config.layers + 1)
    rows = {name: run[f"others/loss/{name}"] for name in LOSSES}
    low = max(float(rows["own"].min()), LEAST)
    series = [
        Curve(LOSSES[name][0], x, row.clip(low, MOST), LOSSES[name][1], markers=True)
        for name, row in rows.items()
    ]
    own, other, mean = (f"{rows[name][-1]:.2g}" for name in LOSSES)
    after = f"{x[-1]} layer{'s' * (len(x) > 2)}"
    return Panel(
        f"Median error after {after}: {own} with its own α and γ, {other} with another prompt's, "
        f"{mean} with their mean",
        "By Theorem 3.1 the Memformer can be conjugate gradient on one prompt, with numbers "
        "computed from that prompt. On other prompts they are steps of wrong sizes. If fixed "
        "numbers could be CGD for all prompts, the lines would be one. What a trained Memformer "
        "learns is another method, with one set of numbers for all. Medians over "
        f"{run.config.prompts} prompts.",
        _over(series, "median loss"),
        data=pd.DataFrame({"layers": x} | rows).round(6),
    )


def distances(run: Run, view: View) -> Panel:
    """Draw how far predictions with others' coefficients are from conjugate gradient's."""
    x = np.arange(1, run.config.layers + 1)
    rows = {name: run[f"others/distance/{name}"] for name in ("other", "mean")}
    series = [
        Curve(LOSSES[name][0], x, row.clip(LEAST, MOST), LOSSES[name][1], markers=True)
        for name, row in rows.items()
    ]
    step = f"{float(run['others/first_step']):.0%}"
    return Panel(
        f"No first step serves all prompts: the best is off by {step}",
        "How far predictions are from conjugate gradient's, as a share of their size: the median "
        "over prompts. With a prompt's own numbers it would be 0. The title speaks of the first "
        "step size, α₀: it is the root mean square difference between the best single α₀ and each "
        "prompt's own, as a share of these. No fixed number comes closer.",
        _over(series, "distance from CGD"),
        data=pd.DataFrame({"layers": x} | rows).round(6),
    )


def _over(series: list[Curve], y_title: str) -> Figure:
    x = series[0].x
    figure = figures.curves(
        series, "layers", y_title, log_y=True, x_range=(x[0] - 0.15, x[-1] + 0.15)
    )
    return roomy(figure.update_xaxes(tickvals=x, ticktext=[str(each) for each in x]))
