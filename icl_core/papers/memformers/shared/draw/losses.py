"""What the panels on losses share: natural logarithms, names, colours, ranges and a legend that has room."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import plotly.graph_objects as go

from icl_core import figures
from icl_core.experiment import Run
from icl_core.papers.memformers.shared.read_run import knows_covariance
from icl_core.papers.memformers.shared.train import companions

# momentum has the fourth layer's colour
BESIDE = ("layer 2", "layer 1", "layer 3", "layer 5")
MAIN = {
    "linear": "linear transformer",
    "cgd": "CGD-like",
    "lfom": "LFOM",
    "coordinate": "LFOM, Γ per coordinate",
    "token": "LFOM, Γ per token",
    "shared": "Γ shared",
    "gd++": "GD++",
    "learned": "learned LFOM",
    "learned shared": "learned LFOM, Λ shared",
}
FULL, SCALAR = "floor, A ∝ Σ⁻¹", "floor, A = a I"
LOWER = 0.8  # how far a curve may lead the range below the others, as a share of what they span
WIDTH, LETTER, SAMPLE, ROW = 310, 7.6, 46, 20  # pixels of a legend on a narrow screen, of its parts


def written(value: float, places: int = 2) -> str:
    """A log-loss as a title shows it."""
    return figures.written(value, places)


def trained_name(run: Run) -> str:
    """The trained model, as a legend names it."""
    return f"trained: {MAIN[run.config.variant]}"


def beside(run: Run, prefix: str, suffix: str = "") -> list[tuple[str, np.ndarray, str]]:
    """Name, values and colour of each model trained beside, where the run has its `<prefix><name><suffix>`."""
    found = [(name, f"{prefix}{name}{suffix}") for name in companions(run.config)]
    kinds = zip(found, BESIDE, strict=False)
    return [(name, run[key], kind) for (name, key), kind in kinds if key in run.tensors]


def floor_of(config: Any) -> tuple[str, str]:
    """The tensor's name and the label of the floor that a config's model has, if its covariates stay."""
    full = knows_covariance(config)
    label = FULL if full else SCALAR
    return ("floor" if full else "floor_scalar"), label + (" (B = 0)" if config.variant == "gd++" else "")


def window(kept: Sequence[Any], falling: Sequence[Any] = ()) -> tuple[float, float]:
    """A range of logarithms that holds all of `kept`, and of `falling` what does not lie far below it."""
    values = np.concatenate([np.ravel(np.asarray(each, dtype=float)) for each in kept])
    values = values[np.isfinite(values)]
    low, high = (values.min(), values.max()) if len(values) else (0.0, 1.0)
    span = (high - low) or 1.0
    deep = np.concatenate([np.ravel(np.asarray(each, dtype=float)) for each in falling] or [np.empty(0)])
    deep = deep[np.isfinite(deep)]
    low = max(low - LOWER * span, min(low, deep.min())) if len(deep) else low
    return float(low - 0.05 * span), float(high + 0.07 * span)


def roomy(figure: go.Figure) -> go.Figure:
    """The figure, taller by the rows that its legend needs on a narrow screen."""
    shown = [trace.name for trace in cast(Any, figure).data if trace.name and trace.showlegend is not False]
    rows, used = 1, 0.0
    for name in shown:
        width = len(name) * LETTER + SAMPLE
        rows, used = (rows + 1, width) if used and used + width > WIDTH else (rows, used + width)
    style = cast(Any, figure).layout
    more = ROW * (rows - 1)
    return figure.update_layout(height=style.height + more, margin={"t": style.margin.t + more})
