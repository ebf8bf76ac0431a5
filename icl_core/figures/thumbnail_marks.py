"""What is drawn inside the axes of a thumbnail: lines, points, bars, texts, maps, boxes, notes."""

import math
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from icl_core.contract.figure import Trace
from icl_core.figures.style import FAINT, INK
from icl_core.figures.thumbnail_axes import Area, Plot, clean, text_width, tinted

CELLS = 32  # of a map along a side; larger ones are coarsened
THIN = 0.62  # lines and marks are this much smaller than on a page
DASHES = {"dash": "6 4", "dot": "1.5 3", "dashdot": "6 3 1.5 3", "longdash": "9 4"}
NOTE = 10.5  # size of a note's text
_SHAPES = {  # of points around (0, 0), of a size of about one
    "square": "M-.45-.45h.9v.9h-.9z",
    "diamond": "M0-.6L.6 0 0 .6-.6 0z",
    "triangle-up": "M0-.6L.55.45H-.55z",
    "triangle-right": "M.6 0L-.45.55V-.55z",
    "x": "M-.4-.4L.4.4M-.4.4L.4-.4",
    "cross": "M0-.5V.5M-.5 0H.5",
    "star": "M0-.65L.16-.2.62-.2.26.08.39.53 0 .25-.39.53-.26.08-.62-.2-.16-.2z",
}
_STROKED = ("x", "cross")  # shapes without an inside


def traces(plot: Plot, most_points: int) -> list[str]:
    """Return the traces of a plot; a curve has at most `most_points` points."""
    parts: list[str] = []
    bars = [trace for trace in plot.traces if trace.get("type") == "bar"]
    for trace in plot.traces:
        if trace.get("visible") in (False, "legendonly"):
            continue
        if trace.get("type") == "heatmap":
            parts += _map(trace, plot)
        elif trace.get("type") == "bar":
            parts += _bars(trace, bars, plot)
        else:
            parts += _scatter(trace, plot, most_points)
    return parts


def _scatter(trace: Trace, plot: Plot, most_points: int) -> list[str]:
    x = plot.across(plot.x.place(trace.get("x", ())))
    y = plot.down(plot.y.place(trace.get("y", ())))
    mode = trace.get("mode", "lines")
    opacity = float(trace.get("opacity", 1))
    parts: list[str] = []
    if trace.get("fill") == "toself":
        path = _path(x, y, most_points, plot.area)
        fill = trace.get("fillcolor", INK)
        parts.append(f'<path d="{path}" fill="{fill}" opacity="{opacity:g}"/>')
    elif "lines" in mode and _line_width(trace):
        path = _path(x, y, most_points, plot.area)
        parts.append(f'<path d="{path}" fill="none"{_stroke(trace.get("line", {}), opacity)}/>')
    if "error_y" in trace:
        parts += _errors(trace, plot, x)
    if "markers" in mode:
        parts += _points(trace, x, y, opacity, plot.area)
    if "text" in mode:
        parts += _letters(trace, x, y, plot)
    return parts


def _line_width(trace: Mapping[str, Any]) -> float:
    return float(trace.get("line", {}).get("width", 2))


def _stroke(line: Mapping[str, Any], opacity: float = 1) -> str:
    width = max(0.8, THIN * float(line.get("width", 2)))
    dash = DASHES.get(str(line.get("dash", "")), "")
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    faint = f' opacity="{opacity:g}"' if opacity < 1 else ""
    colour = line.get("color", INK)
    return f' stroke="{colour}" stroke-width="{width:.2g}" stroke-linejoin="round"{dashes}{faint}'


def _path(x: np.ndarray, y: np.ndarray, most_points: int, area: Area) -> str:
    """Return the path through the points that are finite, thinned, inside the area."""
    stride = max(1, math.ceil(len(x) / most_points))
    chosen = sorted({*range(0, len(x), stride), len(x) - 1}) if len(x) else []
    y = np.clip(y, area.top, area.bottom)
    x = np.clip(x, area.left, area.right)
    path, pen, former = "", "M", ""
    for index in chosen:
        if not (math.isfinite(x[index]) and math.isfinite(y[index])):
            pen, former = "M", ""
            continue
        point = f"{x[index]:.1f} {y[index]:.1f}".replace(".0", "")
        if point != former:
            path += pen + point
        pen, former = "L", point
    return path


def _points(trace: Trace, x: np.ndarray, y: np.ndarray, opacity: float, area: Area) -> list[str]:
    marker = trace.get("marker", {})
    line = marker.get("line", {})
    base = trace.get("line", {}).get("color", INK)
    parts: list[str] = []
    for index, (across, down) in enumerate(zip(x, y, strict=True)):
        size = THIN * _of(marker.get("size", 6), index)
        inside = area.left - 1 <= across <= area.right + 1 and area.top - 1 <= down
        if not (math.isfinite(across) and math.isfinite(down)) or size <= 0 or not inside:
            continue
        symbol = str(_of(marker.get("symbol", "circle"), index))
        colour = str(_of(marker.get("color", base), index))
        parts.append(_symbol(symbol, across, min(down, area.bottom), size, colour, line, opacity))
    return parts


def _symbol(
    symbol: str,
    x: float,
    y: float,
    size: float,
    colour: str,
    line: Mapping[str, Any],
    opacity: float = 1,
) -> str:
    """Return one point; an open symbol has an outline alone."""
    name = symbol.removesuffix("-open").removesuffix("-thin")
    is_outline = symbol.endswith(("-open", "-thin")) or name in _STROKED
    faint = f' opacity="{opacity:g}"' if opacity < 1 else ""
    width = max(1.0, THIN * float(line.get("width", 1.5) or 0)) if is_outline else 0.0
    paint = f'fill="none" stroke="{colour}"' if is_outline else f'fill="{colour}"'
    if name not in _SHAPES:
        weight = f' stroke-width="{width:.2g}"' if width else ""
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size / 2:.1f}" {paint}{weight}{faint}/>'
    weight = f' stroke-width="{width / size:.2g}"' if width else ""
    return (
        f'<path d="{_SHAPES[name]}" transform="translate({x:.1f} {y:.1f}) scale({size:.2g})" '
        f"{paint}{weight}{faint}/>"
    )


def _errors(trace: Trace, plot: Plot, x: np.ndarray) -> list[str]:
    bar = trace["error_y"]
    values = np.asarray(trace["y"], dtype=float)
    above = np.asarray(bar.get("array", 0.0), dtype=float)
    below = np.asarray(bar.get("arrayminus", above), dtype=float)
    high = plot.down(plot.y.place(values + above))
    low = plot.down(plot.y.place(values - below))
    colour = bar.get("color", INK)
    return [
        f'<path d="M{across:.1f} {top:.1f}V{bottom:.1f}" stroke="{colour}"/>'
        for across, top, bottom in zip(x, high, low, strict=True)
        if math.isfinite(across + top + bottom)
    ]


def _letters(trace: Trace, x: np.ndarray, y: np.ndarray, plot: Plot) -> list[str]:
    font = trace.get("textfont", {})
    place = str(trace.get("textposition", "middle center"))
    rise = {"top": -6, "bottom": 12}.get(place.split()[0], 3.5)
    anchor = {"left": "end", "right": "start"}.get(place.split()[-1], "middle")
    parts: list[str] = []
    for index, text in enumerate(np.atleast_1d(trace.get("text", ""))):
        shown = clean(str(text)).replace("\n", " ")
        if not shown or not math.isfinite(x[index] + y[index]):
            continue
        colour = _of(font.get("color", INK), index)
        shift = {"end": -5, "start": 5}.get(anchor, 0)
        parts.append(
            f'<text x="{x[index] + shift:.0f}" y="{y[index] + rise:.0f}" text-anchor="{anchor}" '
            f'fill="{colour}">{escape(shown)}</text>'
        )
    return parts


def _bars(trace: Trace, bars: Sequence[Trace], plot: Plot) -> list[str]:
    """Return the bars of a trace; beside, over or on top of those of the others."""
    mode = plot.layout.get("barmode", "group")
    places = plot.x.place(trace["x"])
    values = np.asarray(trace["y"], dtype=float)
    distance = np.diff(np.unique(places)).min() if len(np.unique(places)) > 1 else 1.0
    width = distance * (1 - float(plot.layout.get("bargap", 0.2)))
    base = np.zeros(len(values))
    number = next(index for index, other in enumerate(bars) if other is trace)
    left = places - width / 2
    if mode in ("relative", "stack"):
        for other in bars[:number]:
            former = np.asarray(other["y"], dtype=float)
            base += np.where(np.sign(former) == np.sign(values), former, 0)
    elif mode == "group" and len(bars) > 1:
        width /= len(bars)
        left = left + number * width
    bottom = plot.down(np.nan_to_num(plot.y.place(base), neginf=plot.y.low))
    top = np.clip(plot.down(plot.y.place(base + values)), plot.area.top, plot.area.bottom)
    bottom = np.clip(bottom, plot.area.top, plot.area.bottom)
    opacity = float(trace.get("opacity", 1))
    faint = f' opacity="{opacity:g}"' if opacity < 1 else ""
    parts: list[str] = []
    for index in range(len(values)):
        x0, x1 = plot.across(left[index]), plot.across(left[index] + width)
        height = abs(bottom[index] - top[index])
        if math.isfinite(height) and height >= 0.1:
            colour = _of(trace.get("marker", {}).get("color", INK), index)
            y = min(top[index], bottom[index])
            parts.append(
                f'<path d="M{x0:.1f} {y:.1f}H{x1:.1f}v{height:.1f}H{x0:.1f}z" '
                f'fill="{colour}"{faint}/>'
            )
    return parts


def _map(trace: Trace, plot: Plot) -> list[str]:
    """Return a heat map in the colours of its scale's stops: a line for each run of cells."""
    scale = plot.layout.get(trace.get("coloraxis", ""), trace)
    z = np.asarray(trace["z"], dtype=float)
    low = float(scale.get("cmin", scale.get("zmin", np.nanmin(z))))
    high = float(scale.get("cmax", scale.get("zmax", np.nanmax(z))))
    stops = list(scale["colorscale"])
    block = math.ceil(max(z.shape) / CELLS)
    z = _block_extremes(z, block, (low + high) / 2 if low < 0 < high else low)
    share = np.clip((z - low) / (high - low or 1), 0, 1)
    levels = np.where(np.isfinite(share), np.rint(share * (len(stops) - 1)), -1).astype(int)
    x = plot.across(np.array([-0.5, -0.5 + block]))
    y = plot.down(np.array([-0.5, -0.5 + block]))
    width, height = x[1] - x[0], y[1] - y[0]
    parts: list[str] = []
    for level, (_, colour) in enumerate(stops):
        runs = "".join(_runs(levels == level))
        if runs:
            parts.append(f'<path d="{runs}" stroke="{colour}"/>')
    rows, columns = z.shape
    frame = f'<path d="M0 0H{columns}V{rows}H0z" fill="none" stroke="{FAINT}" stroke-width=".06"/>'
    return [
        f'<g transform="translate({x[0]:.1f} {y[0]:.1f}) scale({width:.3f} {height:.3f})" '
        f'stroke-width="1.04">{"".join(parts)}{frame}</g>'
    ]


def _runs(cells: np.ndarray) -> list[str]:
    """Return a horizontal line through the middles of each run of cells that are true."""
    lines: list[str] = []
    for row, values in enumerate(cells):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], values.astype(int), [0]])))
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            lines.append(f"M{start} {row}.5h{end - start}")
    return lines


def _block_extremes(z: np.ndarray, block: int, middle: float) -> np.ndarray:
    """Return for each block of cells the value farthest from `middle`: a diagonal stays one."""
    if block == 1:
        return z
    rows, columns = (-(-side // block) for side in z.shape)
    padded = np.full((rows * block, columns * block), np.nan)
    padded[: z.shape[0], : z.shape[1]] = z
    blocks = padded.reshape(rows, block, columns, block).swapaxes(1, 2).reshape(rows, columns, -1)
    distance = np.nan_to_num(np.abs(blocks - middle), nan=-1.0)
    return np.take_along_axis(blocks, distance.argmax(-1)[..., None], -1)[..., 0]


def shape(shape: Mapping[str, Any], plot: Plot) -> list[str]:
    """Return a line, a box or a path of a figure's layout."""
    if shape.get("type") == "path":
        stroke = _stroke(shape.get("line", {}), float(shape.get("opacity", 1)))
        return [f'<path d="{_shape_path(shape["path"], plot)}" fill="none"{stroke}/>']
    x0, x1 = (_across(shape.get(end), shape.get("xref", "x"), plot) for end in ("x0", "x1"))
    y0, y1 = (_down(shape.get(end), shape.get("yref", "y"), plot) for end in ("y0", "y1"))
    opacity = float(shape.get("opacity", 1))
    if shape.get("type") == "line":
        path = f"M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}"
        return [f'<path d="{path}"{_stroke(shape.get("line", {}), opacity)}/>']
    if shape.get("type") != "rect":
        return []
    path = f"M{x0:.1f} {y0:.1f}H{x1:.1f}V{y1:.1f}H{x0:.1f}z"
    fill = shape.get("fillcolor", "none")
    has_line = shape.get("line", {}).get("width", 2)
    stroke = _stroke(shape.get("line", {})) if has_line else ""
    return [f'<path d="{path}" fill="{fill}" opacity="{opacity:g}"{stroke}/>']


def _shape_path(path: str, plot: Plot) -> str:
    """Return a path of plotly's, whose commands M, L, H, V and Z are in data units, in pixels."""
    parts: list[str] = []
    for command, values in re.findall(r"([MLHVZ])([^MLHVZ]*)", path):
        numbers = [float(value) for value in re.findall(r"[-+.\de]+", values)]
        if command in "ML":
            x, y = plot.across(numbers[0]), plot.down(numbers[1])
            parts.append(f"{command}{x:.1f} {y:.1f}")
        elif command == "H":
            parts.append(f"H{plot.across(numbers[0]):.1f}")
        elif command == "V":
            parts.append(f"V{plot.down(numbers[0]):.1f}")
        else:
            parts.append(command)
    return "".join(parts)


def annotation(note: Mapping[str, Any], plot: Plot, whole: Area, limits: Area) -> list[str]:
    """Return a note of a figure's layout, moved into `limits` if it reaches beyond."""
    text = str(note.get("text", ""))
    if not clean(text):
        return []
    x = _note_place(note, "x", plot, whole) + THIN * float(note.get("xshift", 0))
    y = _note_place(note, "y", plot, whole) - THIN * float(note.get("yshift", 0))
    if note.get("showarrow", True):
        x += THIN * float(note.get("ax", 0) or 0)
        y += THIN * float(note.get("ay", 0) or 0)
    anchor = {"left": "start", "right": "end"}.get(str(note.get("xanchor")), "middle")
    lines = re.split(r"<br\s*/?>", text)
    width = text_width(clean(text), NOTE)
    before = {"start": 0.0, "middle": width / 2, "end": width}[anchor]
    x = min(max(x, limits.left + before), max(limits.right - (width - before), limits.left))
    drop = {"bottom": -3.0, "top": 10.0}.get(str(note.get("yanchor")), 3.5)
    first = y + drop - (len(lines) - 1) * (11 if drop < 0 else 5.5 if drop < 5 else 0)
    first = max(first, limits.top + 9)
    colour = note.get("font", {}).get("color", INK)
    return [
        f'<text x="{x:.0f}" y="{first + 11 * index:.0f}" text-anchor="{anchor}" '
        f'fill="{colour}">{tinted(line)}</text>'
        for index, line in enumerate(lines)
    ]


def _note_place(note: Mapping[str, Any], letter: str, plot: Plot, whole: Area) -> float:
    """Return the pixel of a note; on a log axis plotly places notes by their logarithm."""
    reference = str(note.get(f"{letter}ref", letter))
    value = note.get(letter, 0)
    area = whole if reference == "paper" else plot.area
    if reference == "paper" or reference.endswith("domain"):
        if letter == "x":
            return area.left + value * area.width
        return area.bottom - value * area.height
    axis, pixel = (plot.x, plot.across) if letter == "x" else (plot.y, plot.down)
    return float(pixel(value if axis.log else axis.place(value)[0]))


def _across(value: Any, reference: str, plot: Plot) -> float:
    if reference == "paper" or reference.endswith("domain"):
        return plot.area.left + value * plot.area.width
    return float(plot.across(plot.x.place(value)[0]))


def _down(value: Any, reference: str, plot: Plot) -> float:
    if reference == "paper" or reference.endswith("domain"):
        return plot.area.bottom - value * plot.area.height
    return float(plot.down(plot.y.place(value)[0]))


def key(trace: Trace, x: float, y: float) -> list[str]:
    """Return the sign of a trace in a legend, 15 pixels wide."""
    marker = trace.get("marker", {})
    if trace.get("type") == "bar":
        colour = _of(marker.get("color", INK), 0)
        return [f'<path d="M{x + 2:.0f} {y - 4:.0f}h11v8h-11z" fill="{colour}"/>']
    parts: list[str] = []
    mode = trace.get("mode", "lines")
    if "lines" in mode:
        stroke = _stroke(trace.get("line", {}))
        parts.append(f'<path d="M{x:.0f} {y:.0f}h15"{stroke}/>')
    if "markers" in mode:
        colour = str(_of(marker.get("color", trace.get("line", {}).get("color", INK)), 0))
        symbol = str(_of(marker.get("symbol", "circle"), 0))
        parts.append(_symbol(symbol, x + 7.5, y, 7, colour, marker.get("line", {})))
    return parts


def _of(value: Any, index: int) -> Any:
    """Return a property of one point: that of all, or its own."""
    if isinstance(value, str) or np.ndim(value) == 0:
        return value
    return value[index]
