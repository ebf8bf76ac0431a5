"""The values of a setting as an axis: where each stands, by factors where the setting
is spaced so."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from icl_core.figures.style import axis

MOST = 12  # values that are written


@dataclass(frozen=True, eq=False)
class Scale:
    """An axis over `values`, ascending numbers, or names one after the other. Where a figure puts
    them is their place: of numbers themselves, or if `log` their logarithm; of names their index.
    """

    title: str
    values: Sequence[Any]
    log: bool = False

    @property
    def numeric(self) -> bool:
        """Whether there is something between the values."""
        return not any(isinstance(value, str | bool) for value in self.values)

    def place(self, value: Any) -> float:
        """Where a value stands; NaN for a name that is not on the axis."""
        if not self.numeric:
            return float(self.values.index(value)) if value in self.values else float("nan")
        return float(np.log10(value)) if self.log else float(value)

    @property
    def places(self) -> np.ndarray:
        """Where the values stand."""
        return np.array([self.place(value) for value in self.values])

    @property
    def edges(self) -> np.ndarray:
        """Where the cells around the values end: half-way between two of them."""
        places = self.places
        if len(places) == 1:
            return places[0] + np.array([-0.5, 0.5])
        middles = (places[1:] + places[:-1]) / 2
        return np.array([2 * places[0] - middles[0], *middles, 2 * places[-1] - middles[-1]])

    def between(self, count: int) -> list[Any]:
        """Numbers from the first to the last at equal distances on the axis, whole if the values
        are."""
        low, high = self.places[[0, -1]]
        found = 10 ** np.linspace(low, high, count) if self.log else np.linspace(low, high, count)
        whole = isinstance(self.values[0], int)
        inside = np.clip(
            found, self.values[0], self.values[-1]
        )  # a power of ten may miss by a last digit
        return list(
            dict.fromkeys(round(value) if whole else float(value) for value in inside.tolist())
        )

    def axis(self, **more: Any) -> dict[str, Any]:
        """The axis as a layout takes it, with some of the values written."""
        stride = -(-len(self.values) // MOST)
        ticks = {
            "tickvals": list(self.places[::stride]),
            "ticktext": [value_text(value) for value in self.values[::stride]],
        }
        title = self.title + " (log scale)" * (self.log and self.numeric)
        found = axis(title, showgrid=False, range=[self.edges[0], self.edges[-1]], **ticks, **more)
        del found["title"]["standoff"]  # a title between two ticks would stand on their line
        return found


def value_text(value: Any) -> str:
    """A value as it stands on an axis."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
