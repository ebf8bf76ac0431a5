"""Paths of optimisation methods in a plane, over the contour lines of the loss that
they go down."""

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

# points further from the target than so many times the start's distance do not widen the picture
NEAR = 3
FADED = 0.35  # opacity of what comes after the layer shown
LEVELS = np.logspace(
    -3.4, 0, 9
)  # of the contour lines, as shares of the highest loss in the picture
Corners = tuple[np.ndarray, np.ndarray]  # lower left and upper right, [2] each
HEIGHT, STAR, RING, DOT = 520, 22, 14, 7  # pixels of the figure, the target, the start, an iterate


@dataclass(frozen=True, eq=False)
class Bowl:
    """The loss 1/2 (p - c)^T H (p - c). `curvature` H is [2, 2] and positive semidefinite; `centre`
    c is (x, y)."""

    curvature: Any
    centre: tuple[float, float]

    def __post_init__(self) -> None:
        found = np.asarray(self.curvature, dtype=float)
        if (
            found.shape != (2, 2)
            or not np.isfinite(found).all()
            or not np.isfinite(self.centre).all()
        ):
            raise ValueError(
                f"curvature must be [2, 2] and finite, as its centre, got {found} and {self.centre}"
            )

    def loss(self, points: Any) -> np.ndarray:
        """The loss at points [..., 2], as [...]."""
        away = np.asarray(points, dtype=float) - np.asarray(self.centre)
        with np.errstate(over="ignore", invalid="ignore"):  # a method that explodes
            return 0.5 * ((away @ np.asarray(self.curvature)) * away).sum(-1)

    def ring(self, level: float, reach: float) -> np.ndarray:
        """Where the loss is `level`, as two halves [2, points, 2], no further than `reach` from the
        centre along the flatter direction: in a valley without an end the halves are two parallel
        lines. Empty if H is 0."""
        curvature = np.asarray(self.curvature, dtype=float)
        (flat, steep), directions = np.linalg.eigh((curvature + curvature.T) / 2)
        if steep <= 0 or level <= 0:
            return np.empty((2, 0, 2))
        flat = flat if flat > 1e-12 * steep else 0.0
        end = min(reach, np.sqrt(2 * level / flat)) if flat else reach
        along = end * np.sin(
            np.linspace(-np.pi / 2, np.pi / 2, 49)
        )  # close together where the ellipse turns
        across = np.sqrt(np.maximum(2 * level - flat * along**2, 0) / steep)
        halves = np.stack([np.stack([along, across], -1), np.stack([along, -across], -1)[::-1]])
        return halves @ directions.T + np.asarray(self.centre)


@dataclass(frozen=True, eq=False)
class Track:
    """A method's iterates x and y, [points] each, the first one the start, and their losses,
    [points].

    `kind` names a thing of `COLOURS` or is a colour.
    """

    name: str
    x: Any
    y: Any
    kind: str
    losses: Any

    def points(self) -> np.ndarray:
        """The iterates, [points, 2]; NaN where one is not finite."""
        found = np.stack([np.asarray(self.x, dtype=float), np.asarray(self.y, dtype=float)], -1)
        return np.where(np.isfinite(found).all(-1, keepdims=True), found, np.nan)

    def texts(self) -> list[str]:
        """What the pointer shows at each point."""
        numbers = enumerate(np.asarray(self.losses, dtype=float))
        return [
            f"{self.name}, after {k} layer{'s' * (k != 1)}, loss {loss:.3g}" for k, loss in numbers
        ]


def paths(
    tracks: Sequence[Track],
    bowl: Bowl,
    x_title: str,
    y_title: str,
    at: int,
    corners: Corners | None = None,
) -> Figure:
    """The tracks, which share their start, over contour lines of the loss about the bowl's centre,
    their target. `at`: the layers after which they are shown; what comes later is faint. Both axes
    have one scale, and a track that explodes leaves the picture instead of widening it. `corners`:
    the picture's, where it must not move."""
    goal, start = np.asarray(bowl.centre, dtype=float), tracks[0].points()[0]
    low, high = corners or window([track.points() for track in tracks], start, goal)
    figure = Figure(layout=layout(HEIGHT, {"t": 38, "b": 56}))
    figure.add_trace(_ground(bowl, low, high))
    figure.add_trace(_sign(goal, "w*, the target", "star", STAR))
    for track in tracks:
        figure.add_traces(_drawn(track, staying(track.points(), low, high), at))
    figure.add_trace(_sign(start, "start", "circle", RING))
    away = (start - goal) / (np.linalg.norm(start - goal) or 1.0)
    return figure.update_layout(
        xaxis=axis(x_title, range=[low[0], high[0]], showgrid=False),
        yaxis=axis(y_title, range=[low[1], high[1]], showgrid=False, scaleanchor="x", scaleratio=1),
        annotations=[_label("w*", goal, -away, 8), _label("start", start, away, 0)],
        legend=legend(1 + 4 / (HEIGHT - 94)),
    )


def window(tracks: Sequence[np.ndarray], start: np.ndarray, target: np.ndarray) -> Corners:
    """The picture's lower left and upper right corner, [2] each: it holds the start, the target,
    and of the points [points, 2] those that lie near enough."""
    points = np.concatenate([*tracks, [target]])
    far, apart = np.hypot(*(points - target).T), np.hypot(*(start - target))
    near = points[far <= NEAR * apart] if apart > 0 else points[np.isfinite(far)]
    inside = np.concatenate([near, [start, target]])
    low, high = inside.min(0), inside.max(0)
    room = 0.18 * (high - low).max() or 1.0  # for the names of start and target
    return low - room, high + room


def contours(
    bowl: Bowl, levels: Iterable[float], reach: float, scale: tuple[float, float] = (1.0, 1.0)
) -> Trace:
    """Lines on which the loss is one of the `levels`, as far as `reach`, as one trace with gaps; x
    and y by `scale`."""
    x, y = [], []
    for half in (half for level in levels for half in bowl.ring(level, reach)):
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


def _ground(bowl: Bowl, low: np.ndarray, high: np.ndarray) -> Trace:
    """Contour lines over the window and what a wide or tall screen shows beside it."""
    middle, size = (low + high) / 2, high - low
    corners = middle + np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]]) * size
    reach = float(np.hypot(*(middle - np.asarray(bowl.centre))) + 4 * size.max())
    return contours(bowl, bowl.loss(corners).max() * LEVELS, reach)


def staying(points: np.ndarray, low: np.ndarray, high: np.ndarray) -> int:
    """How many of the points [points, 2] are drawn: up to the first after which the track is far
    outside for good. An oscillation that grows would fill the picture with lines through it."""
    inside = np.hypot(*(points - (low + high) / 2).T) <= 3 * (high - low).max()
    return int(np.flatnonzero(inside).max(initial=0)) + 2


def _drawn(track: Track, count: int, at: int) -> list[Trace]:
    """The traces of the first `count` points of a track: from layer `at` on faint, up
    to it full."""
    points, texts = track.points()[:count], track.texts()[:count]
    last = len(points) - 1
    now, sizes = max(0, min(at, last)), np.full(last + 1, DOT)
    sizes[now] = DOT + 5
    found = []
    for part, opacity in ((slice(now, None), FADED), (slice(None, now + 1), 1.0)):
        if opacity == 1 or now < last:
            found += _line(track, points[part], texts[part], sizes[part].tolist(), opacity)
    return found


def _line(
    track: Track, points: np.ndarray, texts: list[str], sizes: list[int], opacity: float
) -> list[Any]:
    """A part of a track: its dots and its line, with an edge if it is pale."""
    width, dash = WIDTHS.get(track.kind, 2.5), DASHES.get(track.kind, "solid")
    pale, own = track.kind == "nesterov", colour(track.kind)
    shared = {"x": points[:, 0], "y": points[:, 1], "legendgroup": track.name, "opacity": opacity}
    edge = Trace(
        mode="lines", line={"color": EDGE, "width": width + 1}, hoverinfo="skip", showlegend=False
    )
    marker = {
        "size": sizes,
        "color": own,
        "opacity": 1,
        "line": {"color": EDGE if pale else PAPER, "width": 1},
    }
    line = Trace(
        mode="lines+markers", marker=marker, line={"color": own, "width": width, "dash": dash}
    )
    line.update(
        name=track.name, text=texts, hovertemplate="%{text}<extra></extra>", showlegend=opacity == 1
    )
    return [each.update(shared) for each in ([edge, line] if pale else [line])]


def _sign(point: np.ndarray, text: str, symbol: str, size: int) -> Trace:
    """The mark of the start or the target."""
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
    """The name of a mark, on that side of it (a direction [2]) where fewer paths are; `more` pixels
    for a large one."""
    where = {
        "x": point[0],
        "y": point[1],
        "xshift": (36 + more) * side[0],
        "yshift": (24 + more) * side[1],
    }
    box = {"bgcolor": PAPER, "borderpad": 0, "showarrow": False}
    return {"text": text, "font": {"size": TEXT, "color": INK}, **where, **box}
