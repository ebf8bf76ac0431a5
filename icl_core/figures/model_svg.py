"""A model's diagram as SVG: boxes, arrows, and in a box a small picture of its matrix."""

import base64
import math
import struct
import zlib
from collections.abc import Mapping
from html import escape
from itertools import pairwise

import numpy as np

from icl_core.contract.diagram import Arrow, Box, Diagram
from icl_core.contract.figure import Figure

RADIUS, TIP = 17, 9  # of a sum's circle; of an arrow's head
PICTURE = 38  # pixels along a picture's longer side


def model_svg_text(diagram: Diagram, titles: Mapping[str, str], pictures: Mapping[str, str]) -> str:
    """The SVG. A box whose name is in `titles` is a button of that title; `pictures` are images by
    box."""
    boxes = {box.name: box for box in diagram.boxes}
    arrows = "".join(_arrow(each, boxes) for each in diagram.arrows)
    drawn = "".join(
        _box(box, titles.get(box.name, ""), pictures.get(box.name, "")) for box in diagram.boxes
    )
    size = f'viewBox="0 0 {diagram.width:g} {diagram.height:g}"'
    return f'<svg {size} role="group" aria-label="{escape(diagram.say)}">{arrows}{drawn}</svg>'


def picture(figure: Figure, part: int, rows: tuple[int, int] | None = None) -> str:
    """The `part`th heatmap of a figure, or some of its `rows`, as a PNG in a data URI, a pixel a
    cell; empty if there is none."""
    maps = [trace for trace in figure.data if trace.get("type") == "heatmap"]
    if part >= len(maps):
        return ""
    trace = maps[part]
    scale = figure.layout.get(trace.get("coloraxis", ""), trace)
    z = np.asarray(trace["z"], dtype=float)[slice(*rows) if rows else slice(None)]
    low, high = (scale.get(f"c{end}", scale.get(f"z{end}")) for end in ("min", "max"))
    stops, colours = zip(*scale["colorscale"], strict=True)
    rgb = np.array(
        [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in colours], dtype=float
    )
    share = np.clip((np.nan_to_num(z, nan=low) - low) / (high - low), 0, 1)
    pixels = np.stack([np.interp(share, stops, channel) for channel in rgb.T], -1)
    clear = np.where(np.isfinite(z), 255, 0)[..., None]
    return _png(np.concatenate([pixels.round(), clear], -1).astype(np.uint8))


def _png(pixels: np.ndarray) -> str:
    """[rows, columns, 4] as a data URI."""
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    packed = (
        struct.pack(">I", len(data)) + kind + data + _crc(kind + data) for kind, data in chunks
    )
    return (
        "data:image/png;base64,"
        + base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(packed)).decode()
    )


def _crc(data: bytes) -> bytes:
    return struct.pack(">I", zlib.crc32(data))


def _box(box: Box, title: str, image: str) -> str:
    says = f"{box.label}: {box.says}" if box.says else box.label
    role = f' role="button" tabindex="0" data-box="{escape(box.name)}"' if title else ""
    name = f"{says}. Opens: {title}" if title else says
    about = f' aria-label="{escape(name)}"><title>{escape(name)}</title>' if title else ">"
    shape = _shape(box)
    return (
        '<g class="box '
        f'{box.kind}{" opens" if title else ""}"{role}{about}{shape}{_inside(box, image)}</g>'
    )


def _shape(box: Box) -> str:
    if box.kind == "sum":
        return f'<circle cx="{box.x:g}" cy="{box.y:g}" r="{RADIUS}"/>'
    corner = f'x="{box.x - box.width / 2:g}" y="{box.y - box.height / 2:g}"'
    return f'<rect {corner} width="{box.width:g}" height="{box.height:g}" rx="7"/>'


def _inside(box: Box, image: str) -> str:
    """The label, with the picture at its right or what it is under it."""
    if image:
        high = (
            PICTURE / 3 if box.rows and box.rows[1] - box.rows[0] == 1 else PICTURE
        )  # of a single row
        where = f'x="{box.x + box.width / 2 - PICTURE - 8:g}" y="{box.y - high / 2:g}"'
        return (
            f'<image {where} width="{PICTURE}" height="{high:g}" preserveAspectRatio="none" '
            f'href="{image}"/>'
            f"{_text(box.x - PICTURE / 2 - 4, box.y + 6, box.label)}"
        )
    if not box.says or box.kind == "sum":
        return _text(box.x, box.y + 6, box.label)
    return _text(box.x, box.y - 6, box.label) + _text(box.x, box.y + 18, box.says, "says")


def _text(x: float, y: float, text: str, kind: str = "label") -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(text)}</text>'


def _arrow(arrow: Arrow, boxes: Mapping[str, Box]) -> str:
    """A line from edge to edge, with its head."""
    start, end = boxes[arrow.start], boxes[arrow.end]
    points = [(start.x, start.y), *arrow.bends, (end.x, end.y)]
    points[0], points[-1] = _edge(start, points[1]), _edge(end, points[-2])
    (x0, y0), (x1, y1) = list(pairwise(points))[-1]
    turn = math.degrees(math.atan2(y1 - y0, x1 - x0))
    line = " ".join(f"{x:g},{y:g}" for x, y in points)
    head = (
        f'<path d="M0 0 L-{TIP} -4.5 L-{TIP} 4.5 Z" transform="translate({x1:g} {y1:g}) '
        f'rotate({turn:.4g})"/>'
    )
    return f'<g class="arrow"><polyline points="{line}"/>{head}</g>'


def _edge(box: Box, towards: tuple[float, float]) -> tuple[float, float]:
    """Where the line from a box's centre leaves it."""
    dx, dy = towards[0] - box.x, towards[1] - box.y
    if box.kind == "sum":
        share = RADIUS / (math.hypot(dx, dy) or 1)
    else:
        share = min(box.width / 2 / (abs(dx) or 1e-9), box.height / 2 / (abs(dy) or 1e-9))
    return box.x + share * dx, box.y + share * dy
