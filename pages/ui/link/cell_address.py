"""A cell of a map on the stage, as the address writes it."""

from collections.abc import Sequence
from typing import NamedTuple

from icl_core.contract.explanation import Map

MAX_KEPT = 3  # cells that the visitor can keep beside the chosen one
_INDEX_DIGITS = 5


class Cell(NamedTuple):
    """A cell of a drawing: its drawing's name; the indices, from 0, of its map, row and column."""

    name: str
    map: int
    row: int
    column: int


Maps = dict[str, Sequence[Map]]  # by the drawing's name


def read_cell(text: str, all_maps: Maps) -> Cell:
    """Return the cell that `text` names: "drawing:row:column" or, if the drawing has several maps,
    "drawing:map:row:column", all counted from 1.

    Raises `ValueError` with what the text must be.
    """
    name, *numbers = text.split(":")
    if not all_maps:
        raise ValueError("left out here, where no map explains its cells")
    if name not in all_maps or len(numbers) != (3 if len(all_maps[name]) > 1 else 2):
        first, maps = next(iter(all_maps.items()))
        names = ", ".join(_map_names(name, maps) for name, maps in all_maps.items())
        raise ValueError(
            f"a map, a row and a column, as {write_cell(Cell(first, 0, 0, 0), maps)}, the map one "
            f"of {names}"
        )
    indices = [read_index(number) for number in numbers]
    map_index = indices[0] if len(indices) == 3 else 0
    row, column = indices[-2:]
    if not 0 <= map_index < len(all_maps[name]):
        raise ValueError(f"a map from 1 to {len(all_maps[name])} of {name}")
    rows, columns = all_maps[name][map_index].matrix.shape
    if not (0 <= row < rows and 0 <= column < columns):
        raise ValueError(f"a row from 1 to {rows} and a column from 1 to {columns} of {name}")
    return Cell(name, map_index, row, column)


def read_index(text: str) -> int:
    """Return the index from 0 that a number from 1 names; -1 if the text is no such number."""
    is_number = text.isascii() and text.isdecimal() and len(text) <= _INDEX_DIGITS
    return int(text) - 1 if is_number else -1


def _map_names(name: str, maps: Sequence[Map]) -> str:
    return name if len(maps) == 1 else f"{name}:1 to {name}:{len(maps)}"


def write_cell(cell: Cell, maps: Sequence[Map]) -> str:
    """Return a cell as the address writes it; `maps` are its drawing's."""
    map_number = [str(cell.map + 1)] if len(maps) > 1 else []
    return ":".join([cell.name, *map_number, str(cell.row + 1), str(cell.column + 1)])


def read_cells(text: str, all_maps: Maps) -> list[Cell]:
    """Return the cells that `text` names, separated by commas, each once.

    Raises `ValueError` with what the text must be.
    """
    cells = list(dict.fromkeys(read_cell(part, all_maps) for part in text.split(",")))
    if len(cells) > MAX_KEPT:
        raise ValueError(f"at most {MAX_KEPT} cells")
    return cells


def write_cells(cells: Sequence[Cell], all_maps: Maps) -> str:
    """Return cells as the address writes them."""
    return ",".join(write_cell(cell, all_maps[cell.name]) for cell in cells)
