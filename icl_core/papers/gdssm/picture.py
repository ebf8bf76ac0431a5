"""The front page's picture: a layer becomes a step of gradient descent. Needs no torch."""

from typing import Any

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.figures import Curve
from icl_core.papers.gdssm.words import WORDS


def draw(run: Run) -> Panel:
    """Draw the loss over training with its floor, from a shipped run."""
    x = run["curve/step"]
    floor = float(run["baseline/expected"][0])
    zero = float(run["baseline/zero"][0])
    beside = float(run["watched/constructed"][0])
    trained = Curve("trained", x, run["curve/loss"])
    series = [Curve("constructed", x[[0, -1]], [beside, beside], "construction"), trained]
    lines = [("best expected loss", floor, "floor"), ("predicting zero", zero, "floor")]
    figure = figures.curves(
        series, "training step", "loss", y_range=(0.7 * floor, 1.1 * zero), lines=lines, height=260
    )
    figure.add_annotation(**_name("trained", x[-1] / 6, (zero + floor) / 2, "left"))
    figure.add_annotation(**_name("construction", x[-1], beside, "right"))
    figure.update_layout(showlegend=False, margin={"t": 12})
    return WORDS.panel("picture", figure=figure)


def _name(kind: str, x: float, y: float, side: str) -> dict[str, Any]:
    """Return the annotation that names a curve, beside it."""
    where = {"xanchor": side, "yanchor": "bottom", "yshift": 4}
    return {
        "text": kind,
        "x": x,
        "y": y,
        "showarrow": False,
        "font": {"color": figures.colour(kind)},
        **where,
    }
