"""The front page's picture: a learned method beside gradient descent. Needs no torch."""

import numpy as np

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve, colour
from icl_core.figures.style import TICKS
from icl_core.papers.memformers.words import WORDS

NAMES = ("gradient<br>descent", "trained")


def draw(run: Run) -> Panel:
    """Log-loss against layers, from a shipped run. Who is ahead of conjugate gradient is left to
    the tour."""
    layers = run["depth/layers"]
    series = [
        Curve("gradient descent", layers, np.log(run["baseline/gd"]), "gradient descent"),
        Curve("trained", layers, np.log(run["evaluated/loss"]), "trained", markers=True),
    ]
    figure = figures.curves(series, "layers", "log-loss", height=260).update_xaxes(tickvals=layers)
    for trace in figure.data:
        trace.update(cliponaxis=False)  # a half of the last dot would be cut off
    for curve, text in zip(series, NAMES, strict=True):
        at = {
            "x": 1,
            "xref": "paper",
            "xanchor": "left",
            "y": float(curve.mean()[-1]),
            "align": "left",
            "xshift": 6,
        }
        figure.add_annotation(
            text=text, showarrow=False, font={"size": TICKS, "color": colour(curve.kind)}, **at
        )
    figure.update_layout(showlegend=False, margin={"t": 12, "r": 84})
    return WORDS.panel("picture", figure=figure, layers=layers[-1])
