"""A figure as plain dictionaries, as plotly.js takes them.

Plotly's own objects check and copy every property they are given, which took nine tenths of the
time of a drawing. These have the same methods and do neither; a contract test has plotly check
every figure of every experiment.
"""

import base64
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import plotly.graph_objects as go


class Trace(dict[str, Any]):
    """The properties of one trace of a type: "scatter", "bar", "heatmap"."""

    def __init__(self, type: str = "scatter", **properties: Any) -> None:
        super().__init__(type=type, **properties)

    def update(self, *given: Mapping[str, Any], **more: Any) -> "Trace":  # type: ignore[override]
        """Adds properties, to nested ones too, and gives the trace back."""
        for each in (*given, more):
            merge(self, each)
        return self


class Figure:
    """Traces and a layout. Every method that changes it gives it back."""

    def __init__(self, data: Iterable[Trace] = (), layout: Mapping[str, Any] | None = None) -> None:
        self.data: list[Trace] = list(data)
        self.layout: dict[str, Any] = dict(layout or {})

    def add_traces(self, traces: Iterable[Trace]) -> "Figure":
        """Adds traces over those there are."""
        self.data.extend(traces)
        return self

    def add_trace(self, trace: Trace) -> "Figure":
        """Adds one trace over those there are."""
        return self.add_traces([trace])

    def add_scatter(self, **properties: Any) -> "Figure":
        """Adds a trace of points or lines."""
        return self.add_trace(Trace(**properties))

    def update_layout(self, *given: Mapping[str, Any], **more: Any) -> "Figure":
        """Adds properties of the layout, to nested ones too; a list takes the place of what was
        there."""
        for each in (*given, more):
            merge(self.layout, each)
        return self

    def add_annotation(self, **text: Any) -> "Figure":
        """Adds a text to those there are."""
        return self._add("annotations", text)

    def add_shape(self, **shape: Any) -> "Figure":
        """Adds a line or box to those there are."""
        return self._add("shapes", shape)

    def _add(self, kind: str, one: dict[str, Any]) -> "Figure":
        self.layout[kind] = [*self.layout.get(kind, ()), one]
        return self

    def update_xaxes(self, *given: Mapping[str, Any], **more: Any) -> "Figure":
        """Adds properties to every x axis."""
        return self._update_axes("xaxis", *given, more)

    def update_yaxes(self, *given: Mapping[str, Any], **more: Any) -> "Figure":
        """Adds properties to every y axis."""
        return self._update_axes("yaxis", *given, more)

    def _update_axes(self, kind: str, *given: Mapping[str, Any]) -> "Figure":
        for name in [name for name in self.layout if name.startswith(kind)] or [kind]:
            self.update_layout(*({name: each} for each in given))
        return self

    def to_dict(self) -> dict[str, Any]:
        """What plotly.js reads: data and layout, with every array in base64."""
        return {"data": [sendable(trace) for trace in self.data], "layout": sendable(self.layout)}

    def plotly(self) -> "go.Figure":
        """The same as an object of plotly's, which checks it: for a notebook."""
        import plotly.graph_objects as go

        return go.Figure(data=self.data, layout={"template": "none", **self.layout})


def merge(into: dict[str, Any], given: Mapping[str, Any]) -> None:
    """Puts `given` into a dictionary, key by key where both hold dictionaries. What is put in is
    not shared."""
    for key, value in given.items():
        if isinstance(value, Mapping):
            inner = into.get(key)
            into[key] = dict(inner) if isinstance(inner, Mapping) else {}
            merge(into[key], value)
        else:
            into[key] = value


def sendable(value: Any) -> Any:
    """A copy in which numbers in arrays are base64, as plotly.js reads them, and all else is JSON,
    which has no number that is not finite."""
    if isinstance(value, (str, float, int)):  # most are: asked first
        if isinstance(value, float) and not isfinite(value):
            return None
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, Mapping):
        return {key: sendable(item) for key, item in value.items() if item is not None}
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu" and value.size:
        return _packed(value)
    if isinstance(value, (list, tuple, np.ndarray)):
        return [sendable(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _packed(array: np.ndarray) -> dict[str, str]:
    array = _narrow(array) if array.dtype.kind in "iu" else array
    spec = {"dtype": array.dtype.str[1:], "bdata": base64.b64encode(array.tobytes()).decode()}
    return spec if array.ndim == 1 else spec | {"shape": ", ".join(map(str, array.shape))}


def _narrow(whole: np.ndarray) -> np.ndarray:
    """Whole numbers in as few bytes as hold them; plotly.js has none of eight."""
    kinds = (np.int8, np.uint8, np.int16, np.uint16, np.int32)
    fits = (
        kind
        for kind in kinds
        if np.iinfo(kind).min <= whole.min() and whole.max() <= np.iinfo(kind).max
    )
    return whole.astype(next(fits, np.float64))
