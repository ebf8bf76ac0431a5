"""The values of a setting as an axis, linear or logarithmic."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from icl_core.figures.style import axis

MOST = 12  # values that are written on an axis


@dataclass(frozen=True, eq=False)
class Scale:
    """An axis over the values of a setting.

    A value has a place on the axis: a number itself, or its logarithm; a name its index.

    title   the axis title
    values  ascending numbers, or names
    log     place numbers by their logarithm
    """

    title: str
    values: Sequence[Any]
    log: bool = False

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers."""
        return not any(isinstance(value, str | bool) for value in self.values)

    def place(self, value: Any) -> float:
        """Return the place of a value; NaN for a name that is not on the axis."""
        if not self.numeric:
            return float(self.values.index(value)) if value in self.values else float("nan")
        return float(np.log10(value)) if self.log else float(value)

    @property
    def places(self) -> np.ndarray:
        """The places of the values."""
        return np.array([self.place(value) for value in self.values])

    @property
    def edges(self) -> np.ndarray:
        """The edges of the cells around the values, half-way between two of them."""
        places = self.places
        if len(places) == 1:
            return places[0] + np.array([-0.5, 0.5])
        middles = (places[1:] + places[:-1]) / 2
        return np.array([2 * places[0] - middles[0], *middles, 2 * places[-1] - middles[-1]])

    def between(self, count: int) -> list[Any]:
        """Return `count` numbers from the first value to the last, equally spaced on the axis; if
        the values are whole they are rounded, and repeats left out."""
        low, high = self.places[[0, -1]]
        places = np.linspace(low, high, count)
        numbers = 10**places if self.log else places
        # a power of ten may exceed the last value by rounding
        numbers = np.clip(numbers, self.values[0], self.values[-1]).tolist()
        if isinstance(self.values[0], int):
            numbers = [round(number) for number in numbers]
        return list(dict.fromkeys(numbers))

    def axis(self, **more: Any) -> dict[str, Any]:
        """Return the axis for a layout, with at most MOST of the values written."""
        stride = -(-len(self.values) // MOST)
        ticks = {
            "tickvals": list(self.places[::stride]),
            "ticktext": [value_text(value) for value in self.values[::stride]],
        }
        title = self.title + " (log scale)" * (self.log and self.numeric)
        limits = [self.edges[0], self.edges[-1]]
        properties = axis(title, showgrid=False, range=limits, **ticks, **more)
        del properties["title"]["standoff"]  # with it a title between two ticks overlaps them
        return properties


def value_text(value: Any) -> str:
    """Return the text of a value on an axis."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
