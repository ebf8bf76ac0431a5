"""What is on stage: every layer's distance from Σ⁻¹, its matrix becoming the identity, and the size
of its step."""

import numpy as np

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Curve
from icl_core.figures.style import INK, axis, colour, layout
from icl_core.papers.memformers.convergence.settings import Config, View
from icl_core.papers.memformers.shared.draw import preconditioner
from icl_core.papers.memformers.shared.draw.losses import written
from icl_core.papers.memformers.shared.draw.stage import HEIGHT, fitted
from icl_core.papers.memformers.shared.draw.training import TICKS
from icl_core.papers.memformers.shared.variants import distances as away_from_identity

LIMIT = 1.2  # of the maps' colours: the identity's diagonal is 1
CLOSE = 0.1  # to a multiple of the identity: nearly one


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
        series, "training step", "distance", log_y=True, at=run.step(view), height=HEIGHT
    )
    figure.update_yaxes(tickvals=TICKS, ticktext=[f"{tick:g}" for tick in TICKS])
    now = preconditioner.distances_at(run, run.snapshot_at(view))
    return Panel(
        f"Layers are within {written(float(now.max()), 2)} of a multiple of Σ⁻¹",
        "How far √Σ A √Σ of each layer is from a multiple of the identity, as a share of its "
        "size: the mean over seeds and their spread. The title names the farthest layer of any "
        "seed. At 0 the layer's A is a multiple of Σ⁻¹. Without learning it stays near "
        f"{_random(run):.2f}.",
        fitted(figure),
    )


def _random(run: Run) -> float:
    return (1 - 1 / run.config.d**2) ** 0.5  # of a Gaussian matrix


def identities(run: Run, view: View) -> Panel:
    """Draw √Σ Aₗ √Σ of every layer, divided by aₗ."""
    whitened = preconditioner.whitened_of(
        run, view.seed_shown, run.config.layers, run.snapshot_at(view)
    )
    maps = (whitened / preconditioner.scales(whitened)[:, None, None]).numpy()
    away = away_from_identity(whitened).tolist()
    close = sum(each < CLOSE for each in away)
    names = [f"layer {i + 1}: {written(each, 2)} away" for i, each in enumerate(away)]
    return Panel(
        f"√Σ A √Σ is nearly the identity in {close} of {len(away)} layers",
        "One map for each layer, of the seed shown, divided by the mean of its diagonal. Where A "
        "is a multiple of Σ⁻¹, √Σ A √Σ is one of the identity: ones on the diagonal, grey "
        "elsewhere. A layer that has learned nothing looks like noise.",
        figures.small_maps(
            dict(zip(names, maps, strict=True)), (None, None), ("row", "column"), "entry", LIMIT
        ),
    )


def steps(run: Run, view: View) -> Panel:
    """Draw aₗ of every layer beside the steps 1 / rₗ of the best polynomial."""
    best = run["reference/floor_steps"][-1]
    last = len(run.snapshot_steps) - 1
    now, end = (_multiples(run, view, each) for each in (run.snapshot_at(view), last))
    figure = _steps(now, best, figures.largest_magnitude(best, end))
    return Panel(
        f"The layers take steps {', '.join(written(each) for each in now)}"
        if len(now) <= 3
        else "The layers' steps a",
        "Each dot is a layer's step a, its multiple of Σ⁻¹. Each line is a step 1/r that theory "
        f"gives, r a root of the best polynomial of degree {len(now)}. After training every line "
        "has one dot, in any order. Without learning the dots stay near zero.",
        figure,
    )


def _multiples(run: Run, view: View, snapshot: int) -> np.ndarray:
    whitened = preconditioner.whitened_of(run, view.seed_shown, run.config.layers, snapshot)
    return whitened.diagonal(dim1=1, dim2=2).mean(-1).numpy()


def _steps(now: np.ndarray, best: np.ndarray, top: float) -> Figure:
    layers = np.arange(1, len(now) + 1)
    figure = Figure(layout=layout(HEIGHT, showlegend=False))
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
