"""A cell of a map on the stage as the address writes it."""

from collections.abc import Sequence
from typing import NamedTuple

from icl_core.contract.explanation import Map

MAX_KEPT = 3  # cells that are kept beside the one looked at


class Cell(NamedTuple):
    """A cell of a drawing: which of its maps, which row and column, from 0."""

    name: str
    map: int
    row: int
    column: int


Maps = dict[str, Sequence[Map]]


def read_cell(text: str, every: Maps) -> Cell:
    """A cell as the address writes it: the map, its number if the drawing has several, the row and
    the column. Raises `ValueError` with what it must be."""
    name, *numbers = text.split(":")
    if not every:
        raise ValueError("left out here, where no map explains its cells")
    if name not in every or len(numbers) != (3 if len(every[name]) > 1 else 2):
        first, maps = next(iter(every.items()))
        known = ", ".join(map(_form, every.items()))
        raise ValueError(
            f"a map, a row and a column, as {write_cell(Cell(first, 0, 0, 0), maps)}, the map "
            f"one of {known}"
        )
    places = [
        int(each) - 1 if each.isascii() and each.isdecimal() and len(each) < 6 else -1
        for each in numbers
    ]
    which = places[0] if len(places) == 3 else 0
    if not 0 <= which < len(every[name]):
        raise ValueError(f"a map from 1 to {len(every[name])} of {name}")
    rows, columns = every[name][which].matrix.shape
    if not (0 <= places[-2] < rows and 0 <= places[-1] < columns):
        raise ValueError(f"a row from 1 to {rows} and a column from 1 to {columns} of {name}")
    return Cell(name, which, places[-2], places[-1])


def _form(item: tuple[str, Sequence[Map]]) -> str:
    name, maps = item
    return name if len(maps) == 1 else f"{name}:1 to {name}:{len(maps)}"


def write_cell(cell: Cell, maps: Sequence[Map]) -> str:
    """A cell as the address writes it."""
    which = [str(cell.map + 1)] if len(maps) > 1 else []
    return ":".join([cell.name, *which, str(cell.row + 1), str(cell.column + 1)])


def read_cells(text: str, every: Maps) -> list[Cell]:
    """Cells parted by commas, each once. Raises `ValueError` with what they must be."""
    found = list(dict.fromkeys(read_cell(each, every) for each in text.split(",")))
    if len(found) > MAX_KEPT:
        raise ValueError(f"at most {MAX_KEPT} cells")
    return found


def write_cells(cells: Sequence[Cell], every: Maps) -> str:
    """Cells as the address writes them."""
    return ",".join(write_cell(each, every[each.name]) for each in cells)
