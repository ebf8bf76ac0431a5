"""Maps of several runs on one scale, and the maps of their differences."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from icl_core.contract.figure import Figure, Trace
from icl_core.figures.stage_maps import MARGIN, signed_scale
from icl_core.figures.style import largest_magnitude

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
    return largest_magnitude(*(cells for each in differences for cells in each.cells))
