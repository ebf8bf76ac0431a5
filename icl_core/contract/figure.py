"""Figures as plain dictionaries that plotly.js reads, and panels: a figure or table with its text.

Plotly's own objects check and copy every property, which took nine tenths of the time of a drawing.
These have the same methods and do neither; a test has plotly check every figure of every
experiment.

Every number that a page or a command prints is finite, or a sentence stands in its place. A metric
that is not finite counts as not measured (`evidence.measurements`), figures leave out such points,
and `number_text` and tables write a dash for NaN. Checked here is whatever else writes a number
into a headline or into the texts of a panel: its title, caption and note, its figure's annotations,
ticks and other texts of the layout, and the cells of its table. The tables of a panel's numbers,
for reading and files, hold them as they were measured.
"""

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from icl_core.contract.message import sentence
from icl_core.contract.run import CannotDraw, Run

if TYPE_CHECKING:
    import plotly.graph_objects as go


Headline = Callable[[Run, Any], str]

_NOT_FINITE = re.compile(r"(?<![\w.])(nan|inf)(?![^\W\d_])")  # as Python writes: "nan%", "-inf"
_NO_NUMBER = (
    "not every number here is finite: something in the model is too large, too small or too much "
    "alike to measure this"
)


class Trace(dict[str, Any]):
    """One trace as a dictionary of its properties; `type` is "scatter", "bar", "heatmap", …"""

    def __init__(self, type: str = "scatter", **properties: Any) -> None:
        super().__init__(type=type, **properties)

    def update(self, *given: Mapping[str, Any], **more: Any) -> "Trace":  # type: ignore[override]
        """Set properties, nested ones too, and return the trace."""
        for properties in (*given, more):
            merge(self, properties)
        return self


class Figure:
    """Traces and a layout. Every method that changes the figure returns it."""

    def __init__(self, data: Iterable[Trace] = (), layout: Mapping[str, Any] | None = None) -> None:
        self.data: list[Trace] = list(data)
        self.layout: dict[str, Any] = dict(layout or {})

    def add_traces(self, traces: Iterable[Trace]) -> "Figure":
        """Add traces on top."""
        self.data.extend(traces)
        return self

    def add_trace(self, trace: Trace) -> "Figure":
        """Add a trace on top."""
        return self.add_traces([trace])

    def add_scatter(self, **properties: Any) -> "Figure":
        """Add a trace of points or lines on top."""
        return self.add_trace(Trace(**properties))

    def update_layout(self, *given: Mapping[str, Any], **more: Any) -> "Figure":
        """Set properties of the layout, nested ones too; a list replaces the one before."""
        for properties in (*given, more):
            merge(self.layout, properties)
        return self

    def add_annotation(self, **text: Any) -> "Figure":
        """Add a text."""
        return self._add("annotations", text)

    def add_shape(self, **shape: Any) -> "Figure":
        """Add a line or a box."""
        return self._add("shapes", shape)

    def add_shapes(self, shapes: Iterable[Mapping[str, Any]]) -> "Figure":
        """Add lines and boxes."""
        for shape in shapes:
            self.add_shape(**shape)
        return self

    def needs(self, width: float, height: float = 0) -> "Figure":
        """Note how many pixels the figure needs at least: where it has fewer it scrolls, or its
        place grows. Zero needs no more than any figure has."""
        return self.update_layout(meta={"needs": [int(width), int(height)]})

    @property
    def needed(self) -> tuple[int, int]:
        """The least width and height of the figure in pixels; 0 for no more than usual."""
        width, height = self.layout.get("meta", {}).get("needs", (0, 0))
        return width, height

    def _add(self, kind: str, one: dict[str, Any]) -> "Figure":
        self.layout[kind] = [*self.layout.get(kind, ()), one]
        return self

    def update_xaxes(self, *given: Mapping[str, Any], **more: Any) -> "Figure":
        """Set properties of every x axis."""
        return self._update_axes("xaxis", *given, more)

    def update_yaxes(self, *given: Mapping[str, Any], **more: Any) -> "Figure":
        """Set properties of every y axis."""
        return self._update_axes("yaxis", *given, more)

    def _update_axes(self, kind: str, *given: Mapping[str, Any]) -> "Figure":
        axes = [name for name in self.layout if name.startswith(kind)] or [kind]
        for axis in axes:
            self.update_layout(*({axis: properties} for properties in given))
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the data and the layout as plotly.js reads them, with every array in base64."""
        return {"data": [sendable(trace) for trace in self.data], "layout": sendable(self.layout)}

    def plotly(self) -> "go.Figure":
        """Return the figure as an object of plotly's, for a notebook; plotly checks it."""
        import plotly.graph_objects as go

        return go.Figure(data=self.data, layout={"template": "none", **self.layout})


def merge(into: dict[str, Any], given: Mapping[str, Any]) -> None:
    """Merge `given` into a dictionary in place, key by key where both have dictionaries. Nested
    dictionaries of `given` are copied, not shared."""
    for key, value in given.items():
        if isinstance(value, Mapping):
            inner = into.get(key)
            into[key] = dict(inner) if isinstance(inner, Mapping) else {}
            merge(into[key], value)
        else:
            into[key] = value


def texts_within(value: Any) -> Iterator[str]:
    """Yield every text in dictionaries, lists and arrays, nested ones too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from texts_within(inner)
    elif isinstance(value, list | tuple) or (
        isinstance(value, np.ndarray) and value.dtype.kind in "OU"
    ):
        for inner in value:
            yield from texts_within(inner)


def sendable(value: Any) -> Any:
    """Return a copy as JSON, with arrays of numbers in base64 as plotly.js reads them.

    A number that is not finite becomes None, since JSON has none.
    """
    if isinstance(value, (str, float, int)):  # first, since most values are
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
    """Return whole numbers in the smallest type that fits; plotly.js has none of eight bytes."""
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32):
        limits = np.iinfo(dtype)
        if limits.min <= whole.min() and whole.max() <= limits.max:
            return whole.astype(dtype)
    return whole.astype(np.float64)


@dataclass(frozen=True)
class Panel:
    """A figure or a table with its text.

    title    states the finding
    caption  says what to look at
    figure   the figure, if it is one
    table    the table, if it is one
    data     the numbers behind the figure, for reading and export
    note     a line under the figure
    whose    of which of several seeds its numbers are, "mean of 5 seeds", as its title ends; empty
             if there is one seed
    """

    title: str
    caption: str
    figure: Figure | None = None
    table: pd.DataFrame | None = None
    data: pd.DataFrame | None = None
    note: str = ""
    whose: str = ""

    @property
    def finding(self) -> str:
        """Its title without whose numbers it states."""
        return self.title.removesuffix(f", {self.whose}")

    @property
    def texts(self) -> list[str]:
        """Its texts, those of its figure's layout, and the cells of its table. A number in a cell
        is a text only if it is infinite: NaN is written as a dash."""
        layout = {} if self.figure is None else self.figure.layout
        cells = [] if self.table is None else self.table.to_numpy().flat
        cell_texts = [str(cell) for cell in cells if isinstance(cell, str) or _is_infinite(cell)]
        return [self.title, self.caption, self.note, *texts_within(layout), *cell_texts]


def _is_infinite(cell: Any) -> bool:
    return isinstance(cell, (float, np.floating)) and bool(np.isinf(cell))


def is_finite(text: str) -> bool:
    """Return whether no number in a text is NaN or infinite."""
    return _NOT_FINITE.search(text) is None


def check_texts(texts: Iterable[str]) -> None:
    """Raise `CannotDraw` if a number in the texts of a panel is not finite."""
    if not all(map(is_finite, texts)):
        raise CannotDraw(_NO_NUMBER)


def finite_headline(headline: Headline) -> Headline:
    """Return a headline that says so where a number of it is not finite."""

    def checked(run: Run, view: Any) -> str:
        text = headline(run, view)
        return text if is_finite(text) else sentence(_NO_NUMBER)

    return checked
