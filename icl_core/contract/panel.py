"""A panel: a figure or a table with its title, caption and data."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from icl_core.contract.figure import Figure, texts_within


@dataclass(frozen=True)
class Panel:
    """A figure or a table with its text.

    title    states the finding
    caption  says what to look at
    figure   the figure, if it is one
    table    the table, if it is one
    data     the numbers behind the figure, for reading and export
    note     a line under the figure
    """

    title: str
    caption: str
    figure: Figure | None = None
    table: pd.DataFrame | None = None
    data: pd.DataFrame | None = None
    note: str = ""

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
