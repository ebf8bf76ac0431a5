"""Paths of optimisation methods in a plane, over contour lines of the loss."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from icl_core.contract.figure import Figure, Trace
from icl_core.figures.series import EDGE
from icl_core.figures.style import (
    DASHES,
    FAINT,
    INK,
    PAPER,
    TEXT,
    WIDTHS,
    axis,
    colour,
    layout,
    legend,
)

# Points whose distance to the target is more than NEAR times the start's do not widen the picture.
NEAR = 3
FADED = 0.35  # opacity of the iterates after the layer shown
LEVELS = np.logspace(-3.4, 0, 9)  # of contour lines, as shares of the largest loss in the picture
Corners = tuple[np.ndarray, np.ndarray]  # lower left and upper right, [2] each
HEIGHT = 520  # pixels of the figure
STAR = 22  # pixels of the target's mark
RING = 14  # pixels of the start's mark
DOT = 7  # pixels of an iterate's mark


@dataclass(frozen=True, eq=False)
class Bowl:
    """The loss 1/2 (p - c)^T H (p - c) at points p.

    curvature  H [2, 2], positive semidefinite
    centre     c, as (x, y)
    """

    curvature: Any
    centre: tuple[float, float]

    def __post_init__(self) -> None:
        H = np.asarray(self.curvature, dtype=float)
        finite = np.isfinite(H).all() and np.isfinite(self.centre).all()
        if H.shape != (2, 2) or not finite:
            raise ValueError(
                f"curvature must be [2, 2] and finite, as its centre, got {H} and {self.centre}"
            )

    def loss(self, points: Any) -> np.ndarray:
        """Return the loss [...] at points [..., 2]."""
        offset = np.asarray(points, dtype=float) - np.asarray(self.centre)
        with np.errstate(over="ignore", invalid="ignore"):  # the points of a method that diverges
            return 0.5 * ((offset @ np.asarray(self.curvature)) * offset).sum(-1)

    def ring(self, level: float, reach: float) -> np.ndarray:
        """Return the contour line on which the loss is `level`, as two halves [2, points, 2].

        It extends at most `reach` from the centre along the direction of smaller curvature; if that
        curvature is 0, the halves are parallel lines. Empty if H is 0.
        """
        curvature = np.asarray(self.curvature, dtype=float)
        (flat, steep), directions = np.linalg.eigh((curvature + curvature.T) / 2)
        if steep <= 0 or level <= 0:
            return np.empty((2, 0, 2))
        flat = flat if flat > 1e-12 * steep else 0.0
        end = min(reach, np.sqrt(2 * level / flat)) if flat else reach
        # closer together near the ends, where the ellipse is most curved
        along = end * np.sin(np.linspace(-np.pi / 2, np.pi / 2, 49))
        across = np.sqrt(np.maximum(2 * level - flat * along**2, 0) / steep)
        halves = np.stack([np.stack([along, across], -1), np.stack([along, -across], -1)[::-1]])
        return halves @ directions.T + np.asarray(self.centre)


@dataclass(frozen=True, eq=False)
class Track:
    """The path of a method.

    name    the method's name
    x, y    its iterates, [points] each, from the start on
    kind    a name in `COLOURS`, or a colour
    losses  the losses at the iterates, [points]
    """

    name: str
    x: Any
    y: Any
    kind: str
    losses: Any

    def points(self) -> np.ndarray:
        """Return the iterates, [points, 2]; NaN for one that is not finite."""
        points = np.stack([np.asarray(self.x, dtype=float), np.asarray(self.y, dtype=float)], -1)
        return np.where(np.isfinite(points).all(-1, keepdims=True), points, np.nan)

    def texts(self) -> list[str]:
        """Return the text that the pointer shows at each iterate."""
        return [
            f"{self.name}, after {k} layer{'s' * (k != 1)}, loss {loss:.3g}"
            for k, loss in enumerate(np.asarray(self.losses, dtype=float))
        ]


def paths(
    tracks: Sequence[Track],
    bowl: Bowl,
    x_title: str,
    y_title: str,
    at: int,
    corners: Corners | None = None,
    target: tuple[float, float] | None = None,
) -> Figure:
    """Return the tracks, which have the same start, over contour lines of the loss.

    The `target` is the bowl's centre unless it is given: labels with noise have their least loss
    elsewhere. Iterates after layer `at` are faint. Both axes have the same
    scale, and a track that diverges leaves the picture instead of widening it. `corners` sets the
    picture's corners, so that they are the same in several figures.
    """
    star = np.asarray(bowl.centre if target is None else target, dtype=float)
    start = tracks[0].points()[0]
    low, high = corners or window([track.points() for track in tracks], start, star)
    figure = Figure(layout=layout(HEIGHT, {"t": 38, "b": 56}))
    figure.add_trace(_contour_lines(bowl, low, high))
    figure.add_trace(_mark(star, "w*, the target", "star", STAR))
    for track in tracks:
        figure.add_traces(_track_traces(track, staying(track.points(), low, high), at))
    figure.add_trace(_mark(start, "start", "circle", RING))
    away = (start - star) / (np.linalg.norm(start - star) or 1.0)
    return figure.update_layout(
        xaxis=axis(x_title, range=[low[0], high[0]], showgrid=False),
        yaxis=axis(y_title, range=[low[1], high[1]], showgrid=False, scaleanchor="x", scaleratio=1),
        annotations=[_label("w*", star, -away, 8), _label("start", start, away, 0)],
        legend=legend(1 + 4 / (HEIGHT - 94)),
    )


def window(tracks: Sequence[np.ndarray], start: np.ndarray, target: np.ndarray) -> Corners:
    """Return the picture's lower left and upper right corner, [2] each.

    The picture contains the start, the target, and those points of the `tracks` [points, 2] that
    are near the target (NEAR).
    """
    points = np.concatenate([*tracks, [target]])
    distances = np.hypot(*(points - target).T)  # [points]
    start_distance = np.hypot(*(start - target))
    if start_distance > 0:
        near = points[distances <= NEAR * start_distance]
    else:
        near = points[np.isfinite(distances)]
    inside = np.concatenate([near, [start, target]])
    low = inside.min(0)
    high = inside.max(0)
    margin = 0.18 * (high - low).max() or 1.0  # for the names of start and target
    return low - margin, high + margin


def contours(
    bowl: Bowl, levels: Iterable[float], reach: float, scale: tuple[float, float] = (1.0, 1.0)
) -> Trace:
    """Return the contour lines of some `levels`, within `reach` (see `Bowl.ring`), as one trace
    with gaps; x and y are multiplied by `scale`."""
    x: list[float | None] = []
    y: list[float | None] = []
    for level in levels:
        for half in bowl.ring(level, reach):
            x += [*(half[:, 0] * scale[0]).tolist(), None]
            y += [*(half[:, 1] * scale[1]).tolist(), None]
    line = {"color": FAINT, "width": 1}
    return Trace(
        x=x,
        y=y,
        mode="lines",
        line=line,
        opacity=FADED,
        hoverinfo="skip",
        showlegend=False,
        name="loss",
    )


def _contour_lines(bowl: Bowl, low: np.ndarray, high: np.ndarray) -> Trace:
    """Return contour lines over the window, and beside it, where a wide or tall screen shows
    more."""
    middle = (low + high) / 2
    size = high - low
    corners = middle + np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]]) * size
    reach = float(np.hypot(*(middle - np.asarray(bowl.centre))) + 4 * size.max())
    return contours(bowl, bowl.loss(corners).max() * LEVELS, reach)


def staying(points: np.ndarray, low: np.ndarray, high: np.ndarray) -> int:
    """Return how many of the points [points, 2] are drawn: up to the first after which all are far
    outside the window. A growing oscillation would otherwise fill the picture with lines."""
    inside = np.hypot(*(points - (low + high) / 2).T) <= 3 * (high - low).max()
    return int(np.flatnonzero(inside).max(initial=0)) + 2


def _track_traces(track: Track, count: int, at: int) -> list[Trace]:
    """Return the traces of the first `count` points of a track, faint after layer `at`."""
    points = track.points()[:count]
    texts = track.texts()[:count]
    last = len(points) - 1
    now = max(0, min(at, last))
    sizes = np.full(last + 1, DOT)
    sizes[now] = DOT + 5
    traces: list[Trace] = []
    if now < last:
        later = slice(now, None)
        traces += _line(track, points[later], texts[later], sizes[later].tolist(), FADED)
    until = slice(None, now + 1)
    return traces + _line(track, points[until], texts[until], sizes[until].tolist(), 1.0)


def _line(
    track: Track, points: np.ndarray, texts: list[str], sizes: list[int], opacity: float
) -> list[Trace]:
    """Return the dots and the line of a part of a track, and its edge if the colour is pale."""
    width = WIDTHS.get(track.kind, 2.5)
    dash = DASHES.get(track.kind, "solid")
    pale = track.kind == "nesterov"
    track_colour = colour(track.kind)
    shared = {"x": points[:, 0], "y": points[:, 1], "legendgroup": track.name, "opacity": opacity}
    edge = Trace(
        mode="lines", line={"color": EDGE, "width": width + 1}, hoverinfo="skip", showlegend=False
    )
    marker = {
        "size": sizes,
        "color": track_colour,
        "opacity": 1,
        "line": {"color": EDGE if pale else PAPER, "width": 1},
    }
    line = Trace(
        mode="lines+markers",
        marker=marker,
        line={"color": track_colour, "width": width, "dash": dash},
    )
    line.update(
        name=track.name, text=texts, hovertemplate="%{text}<extra></extra>", showlegend=opacity == 1
    )
    return [trace.update(shared) for trace in ([edge, line] if pale else [line])]


def _mark(point: np.ndarray, text: str, symbol: str, size: int) -> Trace:
    """Return the mark of the start or of the target."""
    marker = {
        "symbol": symbol,
        "size": size,
        "color": PAPER,
        "opacity": 1,
        "line": {"color": INK, "width": 2},
    }
    shown = {"mode": "markers", "marker": marker, "showlegend": False, "name": text}
    return Trace(x=[point[0]], y=[point[1]], hovertemplate=f"{text}<extra></extra>", **shown)


def _label(text: str, point: np.ndarray, side: np.ndarray, more: int) -> dict[str, Any]:
    """Return the name of a mark as an annotation in the direction `side` [2], away from the paths;
    `more` pixels further for a large mark."""
    where = {
        "x": point[0],
        "y": point[1],
        "xshift": (36 + more) * side[0],
        "yshift": (24 + more) * side[1],
    }
    box = {"bgcolor": PAPER, "borderpad": 0, "showarrow": False}
    return {"text": text, "font": {"size": TEXT, "color": INK}, **where, **box}
