"""Pictures that are SVG by themselves.

A model's diagram: boxes, some with a small picture of their matrix, and arrows. The curves of a run
in training, as lines of a few letters' height without axes.
"""

import base64
import math
import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from itertools import pairwise

import numpy as np

from icl_core.contract.diagram import Arrow, Box, Diagram
from icl_core.contract.figure import Figure
from icl_core.figures.style import COLOURS, TO_DARK

RADIUS = 17  # of the circle of a sum
TIP = 9  # the length of an arrow's head
PICTURE = 38  # the longer side of a picture
WIDTH = 120  # pixels of a curve
HEIGHT = 26
FIRST_CURVES = ("loss", "accuracy")  # curves that are shown before the others
_STEPS = "step"  # a curve that holds the steps at which the others were measured
_FREE_EDGE = 2.0  # pixels free above and below
_MOST_POINTS = 60


def model_svg_text(diagram: Diagram, titles: Mapping[str, str], pictures: Mapping[str, str]) -> str:
    """Return the SVG of a diagram.

    A box whose name is in `titles` is a button with that title. `pictures` are data URIs by the
    name of their box.
    """
    boxes = {box.name: box for box in diagram.boxes}
    arrows = "".join(_arrow(arrow, boxes) for arrow in diagram.arrows)
    shapes = "".join(
        _box(box, titles.get(box.name, ""), pictures.get(box.name, "")) for box in diagram.boxes
    )
    size = f'viewBox="0 0 {diagram.width:g} {diagram.height:g}"'
    return f'<svg {size} role="group" aria-label="{escape(diagram.say)}">{arrows}{shapes}</svg>'


def picture(figure: Figure, part: int, rows: tuple[int, int] | None = None) -> str:
    """Return the heatmap number `part` of a figure, from 0, as a PNG in a data URI with a pixel for
    each cell; empty if there is none. `rows` are the first row and the row after the last; None for
    all."""
    maps = [trace for trace in figure.data if trace.get("type") == "heatmap"]
    if part >= len(maps):
        return ""
    trace = maps[part]
    scale = figure.layout.get(trace.get("coloraxis", ""), trace)
    z = np.asarray(trace["z"], dtype=float)[
        slice(*rows) if rows else slice(None)
    ]  # [rows, columns]
    low, high = (scale.get(f"c{end}", scale.get(f"z{end}")) for end in ("min", "max"))
    stops, colours = zip(*scale["colorscale"], strict=True)
    rgb = np.array([list(bytes.fromhex(colour[1:])) for colour in colours], dtype=float)
    share = np.clip((np.nan_to_num(z, nan=low) - low) / (high - low), 0, 1)
    pixels = np.stack([np.interp(share, stops, channel) for channel in rgb.T], -1)
    alpha = np.where(np.isfinite(z), 255, 0)[..., None]  # [rows, columns, 1]
    rgba = np.concatenate([pixels.round(), alpha], -1)  # [rows, columns, 4]
    return _png(rgba.astype(np.uint8))


def _png(pixels: np.ndarray) -> str:
    """Return pixels [rows, columns, 4] as a PNG in a data URI."""
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)  # each without a filter
    # 8 bits a channel, RGBA, and the only methods of compression, filtering and interlacing used
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n"
    for kind, data in ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")):
        checksum = struct.pack(">I", zlib.crc32(kind + data))
        png += struct.pack(">I", len(data)) + kind + data + checksum
    return "data:image/png;base64," + base64.b64encode(png).decode()


def _box(box: Box, title: str, image: str) -> str:
    """Return a box with its name for screen readers; a button if it has a title."""
    says = f"{box.label}: {box.says}" if box.says else box.label
    role = f' role="button" tabindex="0" data-box="{escape(box.name)}"' if title else ""
    name = f"{says}. Opens: {title}" if title else says
    about = f' aria-label="{escape(name)}"><title>{escape(name)}</title>' if title else ">"
    classes = f"box {box.kind} opens" if title else f"box {box.kind}"
    return f'<g class="{classes}"{role}{about}{_shape(box)}{_inside(box, image)}</g>'


def _shape(box: Box) -> str:
    if box.kind == "sum":
        return f'<circle cx="{box.x:g}" cy="{box.y:g}" r="{RADIUS}"/>'
    corner = f'x="{box.x - box.width / 2:g}" y="{box.y - box.height / 2:g}"'
    return f'<rect {corner} width="{box.width:g}" height="{box.height:g}" rx="7"/>'


def _inside(box: Box, image: str) -> str:
    """Return the label, with the picture to its right or else the description under it."""
    if image:
        single_row = box.rows is not None and box.rows[1] - box.rows[0] == 1
        height = PICTURE / 3 if single_row else PICTURE
        where = f'x="{box.x + box.width / 2 - PICTURE - 8:g}" y="{box.y - height / 2:g}"'
        return (
            f'<image {where} width="{PICTURE}" height="{height:g}" preserveAspectRatio="none" '
            f'href="{image}"/>'
            f"{_text(box.x - PICTURE / 2 - 4, box.y + 6, box.label)}"
        )
    if not box.says or box.kind == "sum":
        return _text(box.x, box.y + 6, box.label)
    return _text(box.x, box.y - 6, box.label) + _text(box.x, box.y + 18, box.says, "says")


def _text(x: float, y: float, text: str, kind: str = "label") -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(text)}</text>'


def _arrow(arrow: Arrow, boxes: Mapping[str, Box]) -> str:
    """Return an arrow between the edges of its boxes, with its head."""
    start = boxes[arrow.start]
    end = boxes[arrow.end]
    centres = [(start.x, start.y), *arrow.bends, (end.x, end.y)]
    # a straight line between the edges is on the line between the centres
    points = [_edge(start, centres[1]), *arrow.bends, _edge(end, centres[-2])]
    (x0, y0), (x1, y1) = list(pairwise(points))[-1]
    turn = math.degrees(math.atan2(y1 - y0, x1 - x0))
    line = " ".join(f"{x:g},{y:g}" for x, y in points)
    head = (
        f'<path d="M0 0 L-{TIP} -4.5 L-{TIP} 4.5 Z" transform="translate({x1:g} {y1:g}) '
        f'rotate({turn:.4g})"/>'
    )
    return f'<g class="arrow"><polyline points="{line}"/>{head}</g>'


def _edge(box: Box, towards: tuple[float, float]) -> tuple[float, float]:
    """Return the point where the line from a box's centre in the direction `towards` leaves the
    box."""
    dx = towards[0] - box.x
    dy = towards[1] - box.y
    if box.kind == "sum":
        share = RADIUS / (math.hypot(dx, dy) or 1)
    else:
        share = min(box.width / 2 / (abs(dx) or 1e-9), box.height / 2 / (abs(dy) or 1e-9))
    return box.x + share * dx, box.y + share * dy


@dataclass(frozen=True)
class Sparkline:
    """A curve: its name, its last number, and its picture as SVG."""

    name: str
    last: float
    svg: str


def sparklines(tensors: Mapping[str, np.ndarray], most: int, dark: bool) -> list[Sparkline]:
    """Return the first `most` curves among a run's tensors, those of `FIRST` before the others.

    Of a curve [seeds, …, evaluations] the mean over all but the evaluations is drawn, from its
    least to its largest number; a curve with fewer than two finite numbers is left out.
    """
    curves = {
        name.partition("/")[2]: array
        for name, array in tensors.items()
        if name.startswith("curve/")
    }
    names = [*(name for name in FIRST_CURVES if name in curves), *curves]
    lines: list[Sparkline] = []
    for name in dict.fromkeys(names):
        if name == _STEPS or name.endswith("_error"):
            continue
        means = _finite_means(curves[name])
        if len(means) > 1 and len(lines) < most:
            lines.append(Sparkline(name, float(means[-1]), _sparkline_svg(means, dark)))
    return lines


def _finite_means(curve: np.ndarray) -> np.ndarray:
    """Return the mean of a curve [seeds, …, evaluations] at each evaluation, without those at which
    it is not finite [evaluations]."""
    if curve.ndim == 0:
        return np.zeros(0)
    means = curve.reshape(-1, curve.shape[-1]).astype(np.float64).mean(0)
    return means[np.isfinite(means)]


def _sparkline_svg(means: np.ndarray, dark: bool) -> str:
    """Return the picture of a curve's means [evaluations]."""
    indices = np.linspace(0, len(means) - 1, min(len(means), _MOST_POINTS)).round().astype(int)
    span = float(np.ptp(means)) or 1.0
    heights = (means[indices] - means.min()) / span  # 0 to 1
    across = np.linspace(_FREE_EDGE, WIDTH - _FREE_EDGE, len(indices))
    down = HEIGHT - _FREE_EDGE - heights * (HEIGHT - 2 * _FREE_EDGE)
    colour = COLOURS["trained"]
    if dark:
        colour = TO_DARK[colour]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}">'
        f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{_points(across, down)}"'
        "/></svg>"
    )


def _points(across: Iterable[float], down: Iterable[float]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, down, strict=True))
