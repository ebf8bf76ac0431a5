"""Figures of several runs together: curves in one figure, with a colour a run and a line style
a curve; maps on one scale, and the maps of their differences."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from icl_core.contract.figure import Figure, Trace
from icl_core.figures.character_labels import literal
from icl_core.figures.stage_maps import MARGIN, signed_scale
from icl_core.figures.stage_seat import HALF, KEY, seated
from icl_core.figures.style import INK, LAYERS, TO_DARK, colour, largest_magnitude

# By the place of a run: told apart with any colour vision, and by their lightness.
RUN_COLOURS = ("trained", "construction", LAYERS[1], LAYERS[2])
_DASHES = ("solid", "dash", "dot", "dashdot")  # of the curves of a run, where it has several
MOST_CURVES = len(_DASHES)
STEPS = "training step"  # the title of an axis of steps
_MARKER = "step shown"


def run_colour(place: int, dark: bool = False) -> str:
    """Return the colour of the run at a place, from 0, on a light or a dark background."""
    own = colour(RUN_COLOURS[place])
    return TO_DARK.get(own, own) if dark else own


def can_overlay(figures: Sequence[Figure]) -> bool:
    """Return whether the figures are curves over one axis, few enough to be told apart."""
    traces = [trace for figure in figures for trace in figure.data]
    if not traces or any(trace["type"] != "scatter" for trace in traces):
        return False
    if any("text" in trace.get("mode", "") for trace in traces):
        return False
    titles = {(_title(figure), figure.layout["xaxis"].get("type")) for figure in figures}
    are_single = all("yaxis2" not in figure.layout for figure in figures)
    return len(titles) == 1 and are_single and len(_curve_names(figures)) <= MOST_CURVES


def overlaid(
    figures: Sequence[Figure], names: Sequence[str], starts: Sequence[int], milestone: str = ""
) -> Figure:
    """Return the curves of all figures in one, each run's in its colour.

    names      of the runs
    starts     for each run the training step at which it has reached the `milestone`: from there
               an axis of training steps is counted, where there is one
    milestone  what that is; empty if steps are counted from the beginning

    What is the same in all figures, such as a limit, is drawn once, as it is.
    """
    is_shifted = bool(milestone) and _title(figures[0]) == STEPS
    shifts = list(starts) if is_shifted else [0] * len(figures)
    dashes = dict(zip(_curve_names(figures), _DASHES, strict=False))
    figure = Figure(layout=dict(figures[0].layout))
    for place, (own, name, shift) in enumerate(zip(figures, names, shifts, strict=True)):
        figure.add_traces(_recoloured(own, place, name, shift, dashes))
    ranges = [own.layout["xaxis"].get("range") for own in figures]
    heights = [own.layout["yaxis"].get("range") for own in figures]
    across = {"title": {"text": f"steps since {milestone}"}} if is_shifted else {}
    limits = [
        limit and [limit[0] - shift, limit[1] - shift]
        for limit, shift in zip(ranges, shifts, strict=True)
    ]
    figure.update_layout(xaxis=across | _union(limits), yaxis=_union(heights))
    figure.layout |= {"showlegend": True, **_marks(figures)}
    return seated(figure, HALF)


def _title(figure: Figure) -> str:
    return figure.layout.get("xaxis", {}).get("title", {}).get("text", "")


def what_is_drawn(figure: Figure) -> str:
    """Return the title of a figure's y axis as a title of its own."""
    text = figure.layout.get("yaxis", {}).get("title", {}).get("text", "")
    return text[:1].upper() + text[1:]


def _curve_names(figures: Sequence[Figure]) -> list[str]:
    """Return the names of the curves that the legend would show, the widest lines first; the moving
    marker is none."""
    widths = {
        trace["name"]: _width(trace)
        for figure in figures
        for trace in figure.data
        if trace.get("name") and trace.get("showlegend", True) and trace["name"] != _MARKER
    }
    return sorted(widths, key=lambda name: -widths[name])


def _width(trace: Trace) -> float:
    return trace.get("line", {}).get("width", 0.0)


def _recoloured(
    figure: Figure, place: int, name: str, shift: int, dashes: Mapping[str, str]
) -> list[Trace]:
    """Return a run's traces in its colour, moved back by `shift` steps."""
    own = run_colour(place)
    name = literal(name)
    widest = max((_width(trace) for trace in figure.data if trace.get("name") in dashes), default=0)
    traces: list[Trace] = []
    for trace in figure.data:
        copy = Trace(**trace)
        copy["x"] = np.asarray(trace["x"], dtype=float) - shift
        curve = trace.get("name") or trace.get("legendgroup", "")
        line = dict(trace.get("line", {}))
        line["color"] = own
        marker = dict(trace.get("marker", {}))
        if curve in dashes and len(dashes) > 1:
            line["dash"] = dashes[curve]
        if "color" in marker:
            colours = marker["color"]
            marker["color"] = own if isinstance(colours, str) else _same(colours, own)
            marker["showscale"] = False  # a colour is a run now, and no value
        copy |= {"line": line, "marker": marker} if marker else {"line": line}
        if "fillcolor" in trace:
            copy["fillcolor"] = own
        elif curve in dashes and _width(trace) < widest:  # what stands behind the main curve
            copy["opacity"] = 0.4
        if curve in dashes and "name" in trace:
            copy["name"] = name if len(dashes) < 2 else f"{name}: {curve}"
        traces.append(Trace(**copy))
    return traces


def _same(colours: Any, own: str) -> list[str]:
    """Return a run's colour for each coloured point; the ends of the marker's line stay."""
    return [INK if point == INK else own for point in colours]


def _union(limits: Sequence[Any]) -> dict[str, Any]:
    """Return the range that holds all `limits`; nothing if one figure leaves it to plotly."""
    if not all(limits):
        return {}
    return {"range": [min(pair[0] for pair in limits), max(pair[1] for pair in limits)]}


def _marks(figures: Sequence[Figure]) -> dict[str, list[Any]]:
    """Return the lines and labels that all figures have."""
    common: dict[str, list[Any]] = {}
    for kind in ("shapes", "annotations"):
        own, *others = [figure.layout.get(kind, []) for figure in figures]
        common[kind] = [
            mark
            for mark in own
            if mark.get("name") != KEY and all(mark in other for other in others)
        ]
    return common


_SIDE_NOTE = re.compile(r" \([^()]*\)$")  # at the end of an axis title


def maps_of(figure: Figure) -> list[Trace]:
    """Return the heat maps of a figure."""
    return [trace for trace in figure.data if trace["type"] == "heatmap"]


def share_scales(figures: Iterable[Figure]) -> None:
    """Give every colour axis of the figures the range of the widest one of that name, with its
    colour bar, and every other axis that has a range the range that holds all of them."""
    every = list(figures)
    names = dict.fromkeys(name for figure in every for name in figure.layout)
    for name in names:
        axes = [figure.layout[name] for figure in every if name in figure.layout]
        if name.startswith("coloraxis") and all("cmax" in axis for axis in axes):
            widest = max(axes, key=lambda axis: axis["cmax"] - axis["cmin"])
            for figure in every:
                figure.layout[name] = widest
        elif name.startswith("yaxis") and all(_is_numeric(axis) for axis in axes):
            low = min(axis["range"][0] for axis in axes)
            high = max(axis["range"][1] for axis in axes)
            for figure in every:
                figure.layout[name] = figure.layout[name] | {"range": [low, high]}


def _is_numeric(axis: dict[str, Any]) -> bool:
    """Return whether an axis has a range of ascending numbers; that of a map has names."""
    limits = axis.get("range")
    return axis.get("type") != "category" and limits is not None and limits[0] < limits[1]


@dataclass(frozen=True, eq=False)
class Difference:
    """The difference of two figures' maps.

    base   the figure whose axes it has
    cells  for each of its maps the second figure's numbers minus the first one's [rows, columns]
    """

    base: Figure
    cells: tuple[np.ndarray, ...]

    @property
    def mean(self) -> float:
        """The mean magnitude over all cells that both figures have."""
        every = np.concatenate([np.abs(cells).ravel() for cells in self.cells])
        finite = every[np.isfinite(every)]
        return float(finite.mean()) if len(finite) else 0.0

    def figure(self, limit: float) -> Figure:
        """Return the maps of the difference, with colours from -limit to limit."""
        layout = dict(self.base.layout)
        traces: list[Trace] = []
        for trace, cells in zip(maps_of(self.base), self.cells, strict=True):
            properties = {name: value for name, value in trace.items() if name not in ("text", "z")}
            hover = f"difference · {properties.get('hovertemplate', '%{z:.3g}<extra></extra>')}"
            properties |= {"coloraxis": "coloraxis", "hovertemplate": hover}
            traces.append(Trace("heatmap").update(properties, z=cells))
            _crop(layout, trace)
        for name in [name for name in layout if name.startswith("coloraxis")]:
            del layout[name]
        layout["coloraxis"] = signed_scale("difference", limit)
        layout["margin"] = layout.get("margin", {}) | {"r": MARGIN["r"]}
        return Figure(traces, layout)


def _crop(layout: dict[str, Any], trace: Trace) -> None:
    """Have a map's columns alone on its x axis, in the layout: what stood beside them, such as
    predictions, has no difference. The title then loses its note on that."""
    name = "xaxis" + trace.get("xaxis", "x")[1:]
    axis = layout.get(name, {})
    columns = list(trace["x"])
    if axis.get("type") != "category" or len(axis.get("categoryarray", columns)) == len(columns):
        return
    title = axis.get("title", {})
    text = _SIDE_NOTE.sub("", title.get("text", ""))
    layout[name] = axis | {
        "categoryarray": columns,
        "range": [-0.5, len(columns) - 0.5],
        "title": title | {"text": text},
    }


def difference_of(first: Figure, second: Figure) -> Difference | None:
    """Return the difference of two figures' maps, cell by cell, the second minus the first. None if
    their maps do not have the same rows and columns."""
    pairs = list(zip(maps_of(first), maps_of(second), strict=False))
    if len(maps_of(first)) != len(maps_of(second)):
        return None
    for one, other in pairs:
        if list(one["x"]) != list(other["x"]) or list(one["y"]) != list(other["y"]):
            return None
    cells = tuple(
        np.asarray(other["z"], np.float32) - np.asarray(one["z"], np.float32)
        for one, other in pairs
    )
    return Difference(second, cells)


def common_limit(differences: Sequence[Difference]) -> float:
    """Return the end of the scale that all these differences share: their largest magnitude."""
    return largest_magnitude(*(cells for difference in differences for cells in difference.cells))
