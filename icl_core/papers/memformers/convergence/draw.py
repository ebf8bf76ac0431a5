"""What is drawn of convergence: every layer's distance from Σ⁻¹, its matrix becoming the identity
and how each number is made, and the size of its step. All else is drawn of trained methods too."""

import numpy as np

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.explanation import Explanation, Map, Term, largest
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Curve
from icl_core.figures.style import INK, axis, colour, layout
from icl_core.papers.memformers.convergence.settings import Config, View
from icl_core.papers.memformers.convergence.words import CLOSE, WORDS
from icl_core.papers.memformers.shared.draw import preconditioner
from icl_core.papers.memformers.shared.draw.losses import SEAT, fitted, written
from icl_core.papers.memformers.shared.draw.preconditioner import TICKS
from icl_core.papers.memformers.shared.load_run import covariance_of
from icl_core.papers.memformers.shared.variants import distances as away_from_identity

LIMIT = 1.2  # of the maps' colours: the identity's diagonal is 1


def takes_steps(config: Config) -> bool:
    """Return whether aₗ alone are the model's steps, which theory knows."""
    return config.variant == "linear"


def distances(run: Run, view: View) -> Panel:
    """Draw Dist(√Σ Aₗ √Σ, I) of every layer over training."""
    x = run["curve/step"]
    layers = range(run.config.layers)
    series = [
        Curve(f"layer {i + 1}", x, run[f"curve/distance_{i}"], f"layer {i + 1}") for i in layers
    ]
    figure = figures.curves(
        series, "training step", "distance", log_y=True, at=run.step(view), height=SEAT
    )
    figure.update_yaxes(tickvals=TICKS, ticktext=[f"{tick:g}" for tick in TICKS])
    return WORDS.panel("distances", run, view, fitted(figure))


def identities(run: Run, view: View) -> Panel:
    """Draw √Σ Aₗ √Σ of every layer, divided by aₗ."""
    whitened = preconditioner.whitened_of(
        run, view.seed_shown, run.config.layers, run.snapshot_at(view)
    )
    maps = (whitened / preconditioner.scales(whitened)[:, None, None]).numpy()
    away = away_from_identity(whitened).tolist()
    nearly = sum(distance < CLOSE for distance in away)
    names = [f"layer {i + 1}: {written(distance, 2)} away" for i, distance in enumerate(away)]
    figure = figures.small_maps(
        dict(zip(names, maps, strict=True)), (None, None), ("row", "column"), "entry", LIMIT
    )
    return WORDS.panel("identities", run, view, figure, nearly=nearly)


def explained(run: Run, view: View) -> list[Map]:
    """Return every layer's Σ^½ A_l Σ^½, divided by a_l: an entry as a product of a row and a
    column."""
    whitened = preconditioner.whitened_of(
        run, view.seed_shown, run.config.layers, run.snapshot_at(view)
    )
    by = preconditioner.scales(whitened).tolist()
    covariance = covariance_of(run, view.seed_shown)
    left = covariance.root.numpy()
    right = (covariance.inverse_root @ whitened).numpy()  # A_l Σ^½ of each layer
    return [_map(layer, left, right[layer] / by[layer], by[layer]) for layer in range(len(by))]


def _map(layer: int, left: np.ndarray, right: np.ndarray, by: float) -> Map:
    numbers = [str(i + 1) for i in range(len(left))]
    matrix = left @ right

    def explain(row: int, column: int) -> Explanation:
        i = numbers[row]
        j = numbers[column]
        terms = [
            Term(
                f"√Σ({i}, {k + 1}) · A √Σ({k + 1}, {j}) / a", float(left[row, k] * right[k, column])
            )
            for k in range(len(left))
        ]
        says = (
            f"Row {i} of √Σ times column {j} of A √Σ, divided by the layer's multiple a = "
            f"{written(by)}. In a layer that has learned Σ⁻¹ the terms make 1 on the diagonal and "
            "cancel beside it."
        )
        identity = Term("the identity", float(row == column), "what A = a Σ⁻¹ would give")
        return Explanation(
            f"Layer {layer + 1}, row {i}, column {j}",
            says,
            float(matrix[row, column]),
            largest(terms, "smaller ones"),
            beside=(identity,),
        )

    return Map(
        f"Layer {layer + 1}",
        matrix.astype(np.float32),
        ("row", "column"),
        numbers,
        numbers,
        explain,
    )


def steps(run: Run, view: View) -> Panel:
    """Draw aₗ of every layer beside the steps 1 / rₗ of the best polynomial."""
    best = run["reference/floor_steps"][-1]
    last = len(run.snapshot_steps) - 1
    now, end = (_multiples(run, view, snapshot) for snapshot in (run.snapshot_at(view), last))
    figure = _steps(now, best, figures.largest_magnitude(best, end))
    return WORDS.panel(
        "steps",
        run,
        view,
        figure,
        few=len(now) <= 3,
        every=", ".join(written(step) for step in now),
    )


def _multiples(run: Run, view: View, snapshot: int) -> np.ndarray:
    whitened = preconditioner.whitened_of(run, view.seed_shown, run.config.layers, snapshot)
    return whitened.diagonal(dim1=1, dim2=2).mean(-1).numpy()


def _steps(now: np.ndarray, best: np.ndarray, top: float) -> Figure:
    layers = np.arange(1, len(now) + 1)
    figure = Figure(layout=layout(SEAT, showlegend=False))
    for step in best[np.isfinite(best)]:
        where = {"x0": 0, "x1": 1, "xref": "paper", "y0": float(step), "y1": float(step)}
        figure.add_shape(
            type="line", **where, line={"color": colour("construction"), "width": 2}, layer="below"
        )
        text = {
            "text": f"1/r = {written(float(step))}",
            "font": {"size": 13, "color": INK},
            "showarrow": False,
        }
        figure.add_annotation(
            **text, x=1, xref="paper", xanchor="right", y=float(step), yanchor="bottom"
        )
    colours = [colour(f"layer {layer}") for layer in layers]
    marker = {"size": 16, "color": colours, "line": {"color": INK, "width": 1}}
    hover = "layer %{x}: a = %{y:.3f}<extra></extra>"
    figure.add_trace(
        Trace(x=layers, y=now, mode="markers", marker=marker, hovertemplate=hover, name="a")
    )
    ticks = {"tickvals": layers, "range": [0.5, len(now) + 1.0], "showgrid": False}
    figure.update_layout(
        xaxis=axis("layer", **ticks), yaxis=axis("step a", range=[-0.12 * top, 1.2 * top])
    )
    return fitted(figure)
