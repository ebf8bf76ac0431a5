"""Axes and plots of a thumbnail: where a value lies, in pixels, and which ticks are written."""

import html
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from icl_core.contract.figure import Figure, Trace

_TAG = re.compile(r"<[^>]*>")
_ASIDE = re.compile(r'(<br>)?<span style="font-size[^>]*>[^<]*</span>')  # a remark in small letters
_TINT = re.compile(r"color:\s*(#[0-9a-fA-F]{6})")
_SPAN = re.compile(r'<span style="color:\s*(#\w{6})[^>]*>(.*?)</span>|([^<]+|<)')
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
LINE = 12  # pixels of a line of text
TICK = 10.5  # size of a tick label


def clean(text: str) -> str:
    """Return a text of plotly without its markup and its remarks in small letters; line breaks
    stay."""
    lines = re.sub(r"<br\s*/?>", "\n", _ASIDE.sub("", text))
    return html.unescape(_TAG.sub("", lines)).strip()


def tinted(text: str) -> str:
    """Return one line of plotly's text as the inside of an SVG text, with the colours of its
    spans."""
    parts: list[str] = []
    for colour, inner, plain in _SPAN.findall(_ASIDE.sub("", text)):
        shown = html.escape(html.unescape(_TAG.sub("", inner or plain)))
        parts.append(f'<tspan fill="{colour}">{shown}</tspan>' if colour else shown)
    return "".join(parts)


def text_width(text: str, size: float) -> float:
    """Return about how wide the longest line of a text is, in pixels."""
    return 0.6 * size * max(map(len, text.split("\n")), default=0)


@dataclass(frozen=True)
class Area:
    """A rectangle in pixels; y points down."""

    left: float
    right: float
    top: float
    bottom: float

    @property
    def width(self) -> float:
        """Its width."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """Its height."""
        return self.bottom - self.top


@dataclass(frozen=True)
class Axis:
    """An axis of a figure.

    low, high   its range, low at the left or at the bottom; of a log axis in powers of ten
    log         whether it is logarithmic
    categories  names by their place on the axis
    layout      its properties as plotly has them
    tints       colours of tick labels that have one
    title       its title, in one line
    across      whether it is an x axis
    """

    low: float
    high: float
    log: bool
    categories: Mapping[str, int]
    layout: Mapping[str, Any]
    title: str
    across: bool
    tints: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, layout: Mapping[str, Any], figure: Figure, name: str, letter: str) -> Self:
        """Return the axis called `name` ("x", "y2") of a figure, from its layout and its traces."""
        traces = [trace for trace in figure.data if trace.get(f"{letter}axis", letter) == name]
        names = layout.get("categoryarray")
        if names is None:
            names = [value for trace in traces for value in _texts(trace.get(letter))]
        categories = {value: index for index, value in enumerate(dict.fromkeys(map(str, names)))}
        log = layout.get("type") == "log"
        limits = layout.get("range")
        low, high = limits if limits is not None else _extent(traces, letter, log, categories)
        title = layout.get("title", {})
        title = title.get("text", "") if isinstance(title, Mapping) else str(title)
        tints = {}
        for text in map(str, layout.get("ticktext", ())):
            if tint := _TINT.search(text):
                tints[clean(text)] = tint[1]
        title = clean(title).replace("\n", " ")
        return cls(float(low), float(high), log, categories, layout, title, letter == "x", tints)

    def place(self, values: Any) -> np.ndarray:
        """Return where values lie on the axis, in the units of its range."""
        items = [values] if isinstance(values, str) or np.ndim(values) == 0 else list(values)
        numbers = np.array(
            [self.categories.get(item, math.nan) if isinstance(item, str) else item
             for item in items],
            dtype=float,
        )  # fmt: skip
        if not self.log:
            return numbers
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log10(numbers)

    @property
    def shows_line(self) -> bool:
        """Whether its line is drawn."""
        return bool(self.layout.get("showline", True)) and self.shows_ticks

    @property
    def shows_ticks(self) -> bool:
        """Whether its ticks are written."""
        return bool(self.layout.get("showticklabels", True)) and self.layout.get("visible", True)

    @property
    def shows_grid(self) -> bool:
        """Whether lines are drawn at its ticks."""
        is_category = self.layout.get("type") == "category"
        return bool(self.layout.get("showgrid", True)) and not is_category

    def ticks(self, room: float) -> list[tuple[float, str]]:
        """Return the ticks that fit into `room` pixels: places in the units of the range, and
        labels."""
        if not self.shows_ticks:
            return []
        low, high = sorted((self.low, self.high))
        inside = [(at, text) for at, text in self._all_ticks() if low - 1e-9 <= at <= high + 1e-9]
        if not inside:
            return []
        share = room / (high - low or 1)
        kept: list[tuple[float, str]] = []
        for at, text in inside:
            if not kept or abs(at - kept[-1][0]) * share >= self._needed(kept[-1][1], text):
                kept.append((at, text))
        return kept

    def _needed(self, text: str, next_text: str) -> float:
        """Return how many pixels two neighbouring labels must lie apart."""
        if not self.across:
            return LINE
        return (text_width(text, TICK) + text_width(next_text, TICK)) / 2 + 4

    def _all_ticks(self) -> list[tuple[float, str]]:
        values = self.layout.get("tickvals")
        if values is not None:
            texts = self.layout.get("ticktext")
            labels = [f"{value:g}" for value in values] if texts is None else map(str, texts)
            return [
                (float(at), clean(label))
                for at, label in zip(self.place(values), labels, strict=True)
            ]
        if self.categories:
            return [(float(index), clean(name)) for name, index in self.categories.items()]
        low, high = sorted((self.low, self.high))
        if self.log:
            powers = range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1)
            stride = max(1, math.ceil(len(powers) / 5))
            return [(float(power), _power(power)) for power in powers[::stride]]
        step = _nice_step((high - low) / 4)
        first = math.ceil(low / step - 1e-9)
        last = math.floor(high / step + 1e-9)
        return [(index * step, self._label(index * step)) for index in range(first, last + 1)]

    def _label(self, value: float) -> str:
        if str(self.layout.get("tickformat", "")).endswith("%"):
            return f"{value:.0%}"
        return f"{value:,.6g}".replace("-", "\N{MINUS SIGN}")


@dataclass(frozen=True)
class Plot:
    """Traces over one pair of axes, in an area."""

    traces: Sequence[Trace]
    x: Axis
    y: Axis
    area: Area
    layout: Mapping[str, Any]

    @classmethod
    def of(
        cls, layout: Mapping[str, Any], traces: Sequence[Trace], x: Axis, y: Axis, whole: Area
    ) -> Self:
        """Return the plot in its domain of the whole area; one of square cells is as large as fits
        into it."""
        left, right = x.layout.get("domain") or (0, 1)
        low, high = y.layout.get("domain") or (0, 1)
        area = Area(
            whole.left + left * whole.width,
            whole.left + right * whole.width,
            whole.bottom - high * whole.height,
            whole.bottom - low * whole.height,
        )
        if y.layout.get("scaleanchor"):
            columns, rows = abs(x.high - x.low), abs(y.high - y.low)
            cell = min(area.width / columns, area.height / rows)
            middle = (area.left + area.right) / 2
            half = cell * columns / 2
            area = Area(middle - half, middle + half, area.top, area.top + cell * rows)
        return cls(traces, x, y, area, layout)

    def across(self, place: Any) -> Any:
        """Return the pixel of a place on the x axis, in the units of its range."""
        share = (np.asarray(place, float) - self.x.low) / (self.x.high - self.x.low)
        return self.area.left + share * self.area.width

    def down(self, place: Any) -> Any:
        """Return the pixel of a place on the y axis, in the units of its range."""
        share = (np.asarray(place, float) - self.y.low) / (self.y.high - self.y.low)
        return self.area.bottom - share * self.area.height


def _texts(values: Any) -> list[str]:
    if values is None:
        return []
    return [value for value in values if isinstance(value, str)]


def _extent(
    traces: Sequence[Trace], letter: str, log: bool, categories: Mapping[str, int]
) -> tuple[float, float]:
    """Return a range around all values of an axis that states none; bars keep their width and
    begin at zero."""
    sides = [np.shape(trace["z"]) for trace in traces if trace["type"] == "heatmap"]
    if categories or sides:
        cells = len(categories) or max(side[letter == "x"] for side in sides)
        return -0.5, cells - 0.5
    values = [np.asarray(trace.get(letter, ()), dtype=float).ravel() for trace in traces]
    bars = [array for array, trace in zip(values, traces, strict=True) if trace["type"] == "bar"]
    if bars and letter == "x":
        half = np.diff(np.unique(np.concatenate(bars))).min(initial=1.0) / 2
        values += [array + side for array in bars for side in (-half, half)]
    elif bars:  # those on top of each other reach to their sums
        values += [np.sum([array.clip(0) for array in bars], 0)]
        values += [np.sum([array.clip(None, 0) for array in bars], 0)]
    numbers = np.concatenate(values) if values else np.empty(0)
    numbers = numbers[np.isfinite(numbers) & ((numbers > 0) | (not log))]
    if not len(numbers):
        return 0.0, 1.0
    if log:
        numbers = np.log10(numbers)
    low, high = float(numbers.min()), float(numbers.max())
    room = 0.0 if bars and letter == "x" else 0.06 * (high - low) or 0.5
    return low - room * (low != 0), high + room


def _nice_step(step: float) -> float:
    """Return the smallest of 1, 2, 5, 10, … times a power of ten that is at least `step`."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(digit * power for digit in (1, 2, 5, 10) if digit * power >= step * (1 - 1e-9))


def _power(power: int) -> str:
    if -2 <= power <= 3:
        return f"{10.0**power:,g}"
    return "10" + str(power).translate(_SUPERSCRIPT)
