"""The front page's picture: a learned method against its floor and conjugate gradient. Needs no torch."""

import numpy as np

from icl_core import figures
from icl_core.experiment import Panel, Run
from icl_core.figures import Curve, colour
from icl_core.figures.style import TICKS

NAMES = ("gradient<br>descent", "conjugate<br>gradient", "the same,<br>given Σ⁻¹", "trained,<br>on the floor")


def draw(run: Run) -> Panel:
    """Log-loss against layers, from a shipped run."""
    layers = run["depth/layers"]
    series = [
        Curve("gradient descent", layers, np.log(run["baseline/gd"]), "gradient descent"),
        Curve("CGD", layers, np.log(run["baseline/cg"]), "conjugate gradient"),
        Curve("CGD with Σ⁻¹", layers, np.log(run["baseline/pcg"]), "conjugate gradient", "dash"),
        Curve("trained", layers, np.log(run["evaluated/loss"]), "trained", markers=True),
        Curve("floor", layers, np.log(run["baseline/floor"]), "floor"),
    ]
    figure = figures.curves(series, "layers", "log-loss", height=260).update_xaxes(tickvals=layers)
    for curve, text in zip(series, NAMES, strict=False):  # the floor lies under what is trained
        at = {"x": 1, "xref": "paper", "xanchor": "left", "y": float(curve.mean()[-1]), "align": "left"}
        figure.add_annotation(text=text, showarrow=False, font={"size": TICKS, "color": colour(curve.kind)}, **at)
    return Panel(
        f"A Memformer of {layers[-1]} layers is ahead of conjugate gradient, which wins once it is given Σ⁻¹",
        "Lower is better. The Memformer has learned the covariance Σ of the prompts and the best fixed steps for it, "
        "the dotted floor. Conjugate gradient that is given Σ⁻¹ too (dashed) is ahead again.",
        figure.update_layout(showlegend=False, margin={"t": 12, "r": 84}),
    )
