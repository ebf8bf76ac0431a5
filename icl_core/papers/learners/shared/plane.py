"""A plane of weights, or of a prompt's pairs, which can be dragged."""

from typing import Any

import numpy as np

from icl_core import figures
from icl_core.contract.figure import Figure
from icl_core.figures import number_text
from icl_core.figures.style import FAINT, INK, NEGATIVE_TO_POSITIVE, PAPER, TICKS, axis, colourscale
from icl_core.figures.style import layout as style_layout

LEAST_HALF = 0.2  # half of the width of a plane that holds next to nothing
STAR = {"symbol": "star", "size": 18, "color": INK, "line": {"color": PAPER, "width": 1}}


def two(values: np.ndarray) -> np.ndarray:
    """Return the first two features, [..., 2]; the second is 0 if there is one."""
    if values.shape[-1] == 1:
        return np.concatenate([values, np.zeros_like(values)], -1)
    return values[..., :2]


def plane(x_title: str, y_title: str, height: int = figures.SEAT) -> Figure:
    """Return an empty plane whose axes have one scale."""
    zero = {"zeroline": True, "zerolinecolor": FAINT}
    return Figure(layout=style_layout(height)).update_layout(
        xaxis=axis(x_title, constrain="domain", **zero),
        yaxis=axis(y_title, constrain="domain", scaleanchor="x", scaleratio=1, **zero),
    )


def frame(figure: Figure, points: np.ndarray, room: float) -> None:
    """Set the axes to a square around points [points, 2], `room` times as large as it must be."""
    low = points.min(0)
    high = points.max(0)
    middle = (low + high) / 2
    half = room * max(float((high - low).max()) / 2, LEAST_HALF)
    figure.update_layout(
        xaxis={"range": [float(middle[0] - half), float(middle[0] + half)]},
        yaxis={"range": [float(middle[1] - half), float(middle[1] + half)]},
    )


def add_mark(figure: Figure, point: np.ndarray, name: str, marker: dict[str, Any]) -> None:
    """Add a mark at a point [2], with its place where it is hovered."""
    figure.add_scatter(
        x=[point[0]],
        y=[point[1]],
        mode="markers",
        marker=marker,
        name=name,
        hovertemplate=f"{name}: %{{x:.3f}}, %{{y:.3f}}<extra></extra>",
    )


def add_pairs(
    figure: Figure, x: np.ndarray, y: np.ndarray, w: np.ndarray, marker: dict[str, Any], room: float
) -> None:
    """Add the pairs of a prompt, x [pairs, d] and y [pairs]: x in the plane and y as a colour, or
    with one feature y over x. They can be dragged, and w [d] keeps a dragged pair's noise. Of more
    than two features the first two are drawn and dragged."""
    d = x.shape[1]
    points = x[:, :2] if d > 1 else np.stack([x[:, 0], y], 1)
    line = {"color": INK, "width": 1}
    colours = _colours_of_labels(y) if d > 1 else {"color": INK}
    figure.add_scatter(
        x=points[:, 0],
        y=points[:, 1],
        mode="markers",
        marker={**marker, "line": line, **colours},
        name="pairs",
        showlegend=False,
        hovertemplate="%{x:.2f}, %{y:.2f}<extra></extra>",
    )
    reach = max(0.5, float(np.abs(points).max(initial=0)))
    frame(figure, np.array([[-reach, -reach], [reach, reach]]), room)
    drag: dict[str, Any] = {"trace": 0, "field": "points"}
    if d > 1:  # a pair that is dragged keeps its noise, and w* is what made its label
        drag |= {"labels": y.round(4).tolist(), "slope": w[:2].tolist()}
    if d > 2:  # features that are not drawn stay as they are
        drag |= {"rest": x[:, 2:].round(4).tolist()}
    figure.update_layout(meta={"drag": drag})


def titles_of_pairs(d: int) -> tuple[str, str]:
    """Return the titles of the axes of a plane of pairs."""
    return ("x₁", "x₂") if d > 1 else ("x", "y")


def _colours_of_labels(y: np.ndarray) -> dict[str, Any]:
    """Return the marker's properties that colour points by their labels."""
    limit = float(np.abs(y).max(initial=0)) or 1.0
    return {
        "color": y,
        "cmin": -limit,
        "cmax": limit,
        "colorscale": colourscale(NEGATIVE_TO_POSITIVE),
        "showscale": True,
        "colorbar": {
            "title": {"text": "y", "font": {"size": TICKS}},
            "tickfont": {"size": TICKS},
            "thickness": 10,
            "tickvals": [-limit, 0, limit],
            "ticktext": [number_text(-limit, 2), "0", number_text(limit, 2)],
        },
    }
