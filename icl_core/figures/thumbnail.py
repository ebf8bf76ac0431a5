"""A figure as a small SVG, drawn without a browser: the gallery's pictures.

It draws what the figures of this project use: lines, points, bars, texts, heat maps, boxes. Curves
are thinned and maps coarsened, so that a picture stays small. Colours are those of the light theme;
`themed_svg` gives the dark ones.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any

from icl_core.contract.figure import Figure, Trace
from icl_core.figures import thumbnail_marks as marks
from icl_core.figures.stage_seat import KEY
from icl_core.figures.style import FAINT, GRID, INK, TO_DARK
from icl_core.figures.thumbnail_axes import (
    LINE,
    TICK,
    Area,
    Axis,
    Plot,
    clean,
    text_width,
)

WIDTH, HEIGHT = 340, 220  # pixels
TITLE = 11.5  # size of an axis title
GAP = 10  # pixels between the figures of one picture
MOST_BYTES = 15_000
POINTS = (80, 50, 30, 16)  # of a curve, tried in this order until the picture is small enough
KEYS = 6  # entries of a legend

_COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b")


def thumbnail(
    figures: Sequence[Figure],
    title: str,
    attributes: Mapping[str, str],
    titles: Sequence[str] = (),
) -> str:
    """Return figures beside each other as one SVG of at most MOST_BYTES.

    title       its name for screen readers
    attributes  more attributes of the SVG, such as data-run
    titles      a title above each of several figures, which then have no tick labels

    Raises `ValueError` if it cannot be made that small.
    """
    for most in POINTS:
        svg = _svg(figures, title, attributes, titles, most)
        if len(svg.encode()) <= MOST_BYTES:
            return svg
    raise ValueError(f"a picture must have at most {MOST_BYTES} bytes, got {len(svg.encode())}")


def themed_svg(svg: str, dark: bool) -> str:
    """Return a picture in the colours for a dark or a light background."""
    if not dark:
        return svg
    return _COLOUR.sub(lambda match: TO_DARK.get(match[0], match[0]), svg)


def _svg(
    figures: Sequence[Figure],
    title: str,
    attributes: Mapping[str, str],
    titles: Sequence[str],
    most_points: int,
) -> str:
    width = (WIDTH - GAP * (len(figures) - 1)) / len(figures)
    parts: list[str] = []
    for index, figure in enumerate(figures):
        if titles:
            bare = Figure(figure.data, figure.layout).update_layout()
            figure = bare.update_xaxes(showticklabels=False).update_yaxes(showticklabels=False)
        left = index * (width + GAP)
        area = Area(left, left + width, LINE if titles else 0, HEIGHT)
        parts += _figure(figure, area, most_points, titles[index] if titles else "")
    more = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(title)}" font-family="sans-serif" font-size="{TICK}" fill="{INK}"'
        f"{more}>{''.join(parts)}</svg>"
    )


def _figure(figure: Figure, area: Area, most_points: int, title: str) -> list[str]:
    """Return the parts of a figure: title, legend, axes, shapes, traces, annotations."""
    keys, top = _legend(figure, area)
    above = _above(figure)
    limits = replace(area, top=area.top + top - 3)
    top += above
    inner = _inner(figure, area, top)
    plots = _plots(figure, inner)
    shapes = [
        shape for shape in figure.layout.get("shapes", ()) if shape.get("ysizemode") != "pixel"
    ]  # a mark's line ends at the plot's edge
    below = [shape for shape in shapes if shape.get("layer") == "below"]
    above = [shape for shape in shapes if shape.get("layer") != "below"]
    main = plots[""]
    parts = list(keys)
    if title:
        x, y = (main.area.left + main.area.right) / 2, main.area.top - 5
        attributes = f'font-size="{TITLE}" text-anchor="middle"'
        parts.append(f'<text x="{x:.0f}" y="{y:.0f}" {attributes}>{escape(title)}</text>')
    parts += [part for shape in below for part in marks.shape(shape, _plot_of(shape, plots))]
    for plot in plots.values():
        parts += _axes(plot)
        parts += marks.traces(plot, most_points)
    parts += [part for shape in above for part in marks.shape(shape, _plot_of(shape, plots))]
    for note in _notes(figure):
        parts += marks.annotation(note, _plot_of(note, plots), inner, limits)
    return parts


def _plot_of(part: Mapping[str, Any], plots: Mapping[str, Plot]) -> Plot:
    """Return the plot over whose axes a shape or a note is placed; else the first."""
    reference = str(part.get("xref", "x")).removesuffix(" domain").removeprefix("x")
    return plots.get(reference, plots[""])


def _plots(figure: Figure, inner: Area) -> dict[str, Plot]:
    """Return the plots of a figure by the number in their axes' names, "" for the first."""
    plots: dict[str, Plot] = {}
    for number in _numbers(figure):
        x, y = _axes_of(figure, number)
        own = [trace for trace in figure.data if _number(trace) == number]
        plots[number] = Plot.of(figure.layout, own, x, y, inner)
    return plots


def _numbers(figure: Figure) -> list[str]:
    return list(dict.fromkeys(["", *map(_number, figure.data)]))


def _number(trace: Trace) -> str:
    return str(trace.get("xaxis", "x")).removeprefix("x")


def _axes_of(figure: Figure, number: str) -> tuple[Axis, Axis]:
    layout = figure.layout
    return (
        Axis.of(layout.get(f"xaxis{number}", {}), figure, f"x{number}", "x"),
        Axis.of(layout.get(f"yaxis{number}", {}), figure, f"y{number}", "y"),
    )


def _inner(figure: Figure, area: Area, top: float) -> Area:
    """Return the area inside the axes: room for tick labels and titles is left around it. A row of
    square maps stands in the middle of what is left."""
    x, y = _axes_of(figure, "")
    labels = [text_width(label, TICK) for _, label in y.ticks(area.height)]
    left = 4 + max(labels, default=0) + (15 if y.title else 2)
    x_ticks = x.ticks(area.width)
    lines = max((label.count("\n") for _, label in x_ticks), default=0)
    bottom = 4 + (12 if x.shows_ticks else 0) + 11 * lines + (14 if x.title else 0)
    margin = figure.layout.get("margin", {}).get("r", 14)
    right = max(6.0, text_width(x_ticks[-1][1], TICK) / 2 + 2 if x_ticks else 0)
    if _writes_right(figure):
        right = max(right, min(0.62 * margin, 0.3 * area.width))
    inner = Area(area.left + left, area.right - right, area.top + top, area.bottom - bottom)
    if not y.layout.get("scaleanchor"):
        return inner
    lowest = max(plot.area.bottom for plot in _plots(figure, inner).values())
    spare = max(0.0, (inner.bottom - lowest) / 2)
    return replace(inner, top=inner.top + spare, bottom=inner.bottom - spare)


def _writes_right(figure: Figure) -> bool:
    """Return whether the figure has texts at the right of its plot."""
    notes = figure.layout.get("annotations", ())
    return any(note.get("xref") == "paper" and note.get("x", 0) >= 1 for note in notes)


def _legend(figure: Figure, area: Area) -> tuple[list[str], float]:
    """Return the keys in rows, and the height above the plot that they take."""
    is_keyed = any(note.get("name") == KEY for note in figure.layout.get("annotations", ()))
    shows = is_keyed or figure.layout.get("showlegend", len(figure.data) > 1)
    named = {}
    for trace in figure.data:
        if shows and trace.get("name") and trace.get("showlegend", True):
            named.setdefault(clean(str(trace["name"])), trace)
    parts: list[str] = []
    x, y = area.left + 4.0, area.top + 10.0
    for name, trace in list(named.items())[:KEYS]:
        width = 20 + text_width(name, TICK) + 8
        if x + width > area.right and x > area.left + 4:
            x, y = area.left + 4.0, y + 13
        parts += marks.key(trace, x, y)
        parts.append(f'<text x="{x + 19:g}" y="{y + 3.5:g}">{escape(name)}</text>')
        x += width
    used = y + LINE if parts else area.top + 8
    return parts, used - area.top


def _notes(figure: Figure) -> list[dict[str, Any]]:
    """Return the notes of a figure, without the names that a seat of the stage has above its plot:
    the legend has them."""
    return [note for note in figure.layout.get("annotations", ()) if note.get("name") != KEY]


def _above(figure: Figure) -> float:
    """Return the height that notes above the plot take."""
    notes = _notes(figure)
    rises = [
        marks.THIN * float(note.get("yshift", 0))
        for note in notes
        if note.get("yref") == "paper" and note.get("y", 0) >= 1
    ]
    return LINE + max(0.0, max(rises) - 4) if rises else 0.0


def _axes(plot: Plot) -> list[str]:
    """Return the axes of a plot: lines, tick labels, titles."""
    area, parts = plot.area, []
    if plot.x.shows_line:
        parts.append(
            f'<path d="M{area.left:.0f} {area.top:.0f}V{area.bottom:.0f}H{area.right:.0f}" '
            f'fill="none" stroke="{FAINT}"/>'
        )
    for value, label in plot.x.ticks(area.width):
        x = plot.across(value)
        for line, text in enumerate(label.split("\n")):
            y = area.bottom + 11 + 11 * line
            parts.append(
                f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="middle">{escape(text)}</text>'
            )
    for value, label in plot.y.ticks(area.height):
        y = plot.down(value)
        if plot.y.shows_grid:
            parts.append(f'<path d="M{area.left:.0f} {y:.0f}H{area.right:.0f}" stroke="{GRID}"/>')
        text = escape(label.replace("\n", " "))
        tint = f' fill="{plot.y.tints[label]}"' if label in plot.y.tints else ""
        parts.append(
            f'<text x="{area.left - 4:.0f}" y="{y + 3.5:.0f}" text-anchor="end"{tint}>{text}</text>'
        )
    return [*parts, *_titles(plot)]


def _titles(plot: Plot) -> list[str]:
    area, parts = plot.area, []
    attributes = f'font-size="{TITLE}" text-anchor="middle"'
    lines = max((label.count("\n") for _, label in plot.x.ticks(area.width)), default=0)
    if plot.x.title:
        y = area.bottom + (12 if plot.x.shows_ticks else 0) + 11 * lines + 13
        x = (area.left + area.right) / 2
        parts.append(f'<text x="{x:.0f}" y="{y:.0f}" {attributes}>{escape(plot.x.title)}</text>')
    if plot.y.title:
        labels = [text_width(label, TICK) for _, label in plot.y.ticks(area.height)]
        x = area.left - 9 - max(labels, default=0)
        y = (area.top + area.bottom) / 2
        parts.append(
            f'<text transform="translate({x:.0f} {y:.0f}) rotate(-90)" {attributes}>'
            f"{escape(plot.y.title)}</text>"
        )
    return parts
