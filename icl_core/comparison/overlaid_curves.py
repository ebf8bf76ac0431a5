"""Curves of several runs in one figure: a colour a run, a line style a curve."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from icl_core.contract.figure import Figure, Trace
from icl_core.figures.stage_seat import HALF, KEY, seated
from icl_core.figures.style import INK, LAYERS, TO_DARK, colour

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
    return [each if each == INK else own for each in colours]


def _union(limits: Sequence[Any]) -> dict[str, Any]:
    """Return the range that holds all `limits`; nothing if one figure leaves it to plotly."""
    if not all(limits):
        return {}
    return {"range": [min(each[0] for each in limits), max(each[1] for each in limits)]}


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
