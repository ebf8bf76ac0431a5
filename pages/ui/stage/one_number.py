"""One number of the stage: the cell of a map that the address names and how it is written there,
how its number is made, and the ways to another cell."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from html import escape
from typing import Any, NamedTuple, TypeVar

import streamlit as st

from icl_core.contract import knobs, number_text
from icl_core.contract.experiment import CannotDraw, Drawing, Run
from icl_core.contract.explanation import MEAN, PRODUCT, SUM, Explanation, Map
from icl_core.contract.knobs import BadSetting
from icl_core.figures import frames
from pages.ui.link import address, pending_address
from pages.ui.link.address import Setting
from pages.ui.link.widget_events import set_widget, widget_arguments
from pages.ui.look import formats
from pages.ui.look.escape import escape_markdown

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


_LINKS = st.components.v2.component(
    "icl_links",
    html="<span hidden></span>",
    css=frames.browser_file("links.css"),
    js=frames.browser_file("plotly_parts.js") + frames.browser_file("links.js"),
    isolate_styles=False,
)
_CELL_LENGTH = 80  # characters of a cell that the browser may send
_SIGNS = {SUM: "+", PRODUCT: "×", MEAN: "+"}
_TOTALS = {SUM: "their sum", PRODUCT: "their product", MEAN: "their mean"}
T = TypeVar("T")


def requested_cell(setting: Setting, run: Run, explained: Sequence[Drawing]) -> Cell | None:
    """Return the cell of the `explained` drawings that the address names; warn if there is no such
    cell."""
    if not st.query_params.get("cell"):
        return None
    return _read_field("cell", read_cell, _all_maps(setting, run, explained))


def _read_field(field: str, read: Callable[[str, Maps], T], all_maps: Maps) -> T | None:
    """Return what `read` makes of the address's field; None, with a warning, if it raises."""
    text = st.query_params.get(field, "")
    try:
        return read(text, all_maps) if text else None
    except ValueError as problem:
        st.warning(escape_markdown(f"{field} must be {problem}, got {text!r:.80}."))
    return None


def _all_maps(setting: Setting, run: Run, explained: Sequence[Drawing]) -> Maps:
    """Return the maps of all `explained` drawings; one that cannot be drawn says so in its seat."""
    view_items = tuple(knobs.values(setting.view).items())
    all_maps = {}
    for drawing in explained:
        with suppress(CannotDraw, BadSetting):
            maps = _maps(
                run.digest, setting.id, drawing.name, view_items, run, drawing, setting.view
            )
            if maps:
                all_maps[drawing.name] = maps
    return all_maps


@st.cache_resource(max_entries=40, show_spinner=False)
def _maps(
    digest: str, id: str, name: str, view_items: tuple, _run: Run, _drawing: Drawing, _view: Any
) -> Sequence[Map]:
    return _drawing.explained(_run, _view)


def link_maps(
    setting: Setting, run: Run, explained: Sequence[Drawing], pinned: Cell | None
) -> None:
    """Have the browser outline the same row and column in every map, and report clicks on cells:
    of the `explained` drawings, and of those where a click sets a field of the view.

    The outline rests on the cell `pinned`.
    """
    key = f"links of {setting.id}"
    choosing = {drawing.name: drawing for drawing in setting.experiment.drawings if drawing.clicked}
    data = {
        "cells": [*(drawing.name for drawing in explained), *choosing],
        "choosing": list(choosing),
        "pinned": pinned._asdict() if pinned else None,
    }
    _LINKS(key=key, data=data, on_cell_change=lambda: _clicked(key, setting, run, choosing))


def _clicked(key: str, setting: Setting, run: Run, choosing: Mapping[str, Drawing]) -> None:
    """Put the clicked cell into the address, from where it is read and checked as any other; or
    what a click there sets."""
    cell = str(st.session_state[key].get("cell") or "")[:_CELL_LENGTH]
    drawing = choosing.get(cell.partition(":")[0])
    if drawing is None:
        if cell:
            _go(cell)
        return
    base = knobs.values(setting.base_view)
    fields = chosen_fields(drawing, run, setting.view, cell)
    address.write_all({field: (value, base[field]) for field, value in fields.items()})


def chosen_fields(drawing: Drawing, run: Run, view: Any, cell: str) -> Mapping[str, Any]:
    """Return the fields of the view that a click on a cell sets, which the browser names
    "drawing:row:column", counted from 1; none for a text that names no cell of the map."""
    _, *numbers = cell.split(":")
    indices = [read_index(number) for number in numbers]
    if drawing.clicked is None or len(indices) != 2 or min(indices) < 0:
        return {}
    try:
        return drawing.clicked(run, view, *indices)
    except (CannotDraw, IndexError):  # beside the map
        return {}


def _go(cell: str) -> None:
    # in one change of the address: one step for the browser's Back
    pending_address.change({"cell": cell, "drawer": "Numbers"})


def show(setting: Setting, run: Run, explained: Sequence[Drawing], cell: Cell | None) -> None:
    """Draw the fields that choose a cell, how its number is made, and the cells kept beside it.

    Without a `cell` the largest number of the first map is shown.
    """
    all_maps = _all_maps(setting, run, explained)
    if not all_maps:
        return
    if cell is None:
        name = next(iter(all_maps))
        cell = Cell(name, 0, *all_maps[name][0].strongest)
    cell_map = all_maps[cell.name][cell.map]
    with st.container(key="one-number"):
        left, right = st.columns([1, 3])
        with left:
            st.caption("Click on a cell of a map, or choose one here.")
            _cell_fields(setting.id, all_maps, cell)
        with right:
            _explain(all_maps, cell)
        kept = _read_field("kept", read_cells, all_maps) or []
        is_blank = cell_map.is_blank(cell.row, cell.column)
        if cell not in kept and len(kept) < MAX_KEPT and not is_blank:
            left.button(
                "Keep it, to compare", key="keep", on_click=_keep, args=([*kept, cell], all_maps)
            )
        for number, kept_cell in enumerate(kept):
            with right, st.container(key=f"kept-{number}", border=True):
                _explain(all_maps, kept_cell)
                others = [other for other in kept if other != kept_cell]
                st.button(
                    "Let it go", key=f"let go {number}", on_click=_keep, args=(others, all_maps)
                )


def _keep(cells: Sequence[Cell], all_maps: Maps) -> None:
    address.write("kept", write_cells(cells, all_maps), "")


def _cell_fields(experiment_id: str, all_maps: Maps, cell: Cell) -> None:
    """Draw the fields for map, row and column: the keyboard's way to a cell."""
    titles = {}
    for name, maps in all_maps.items():
        for index, one_map in enumerate(maps):
            titles[name, index] = one_map.title
    keys = [f"{experiment_id}:cell {part}" for part in ("map", "row", "column")]
    cell_map = all_maps[cell.name][cell.map]
    map_id = cell.name, cell.map
    for key, value in zip(keys, (map_id, cell.row + 1, cell.column + 1), strict=True):
        set_widget(key, value, titles, cell_map.matrix.shape)
    st.selectbox(
        "Map",
        list(titles),
        index=list(titles).index(map_id),
        format_func=titles.__getitem__,
        **widget_arguments(keys[0], _choose_map, keys[0], all_maps),
    )
    row_side, column_side = cell_map.sides
    rows, columns = cell_map.matrix.shape
    arguments = widget_arguments(keys[1], _choose_cell, keys, all_maps)
    _number_field("Row", row_side, rows, cell.row, cell_map.rows, arguments)
    arguments = widget_arguments(keys[2], _choose_cell, keys, all_maps)
    _number_field("Column", column_side, columns, cell.column, cell_map.columns, arguments)


def _number_field(
    kind: str, side: str, size: int, index: int, labels: Sequence[str], arguments: dict[str, Any]
) -> None:
    """Draw the field for a row or column, numbered from 1, and its label on the map if that is
    another."""
    label = f"{kind} of {size}" + (f": {escape_markdown(side)}" if side else "")
    st.number_input(label, 1, size, index + 1, step=1, **arguments)
    if labels[index] != str(index + 1):
        st.caption(escape_markdown(f"On the map: {labels[index]}"))


def _choose_map(key: str, all_maps: Maps) -> None:
    """Go to the largest number of another map."""
    name, index = st.session_state[key]
    strongest = all_maps[name][index].strongest
    _go(write_cell(Cell(name, index, *strongest), all_maps[name]))


def _choose_cell(keys: Sequence[str], all_maps: Maps) -> None:
    (name, index), row, column = (st.session_state[key] for key in keys)
    _go(write_cell(Cell(name, index, row - 1, column - 1), all_maps[name]))


def _explain(all_maps: Maps, cell: Cell) -> None:
    """Draw how a cell's number is made."""
    cell_map = all_maps[cell.name][cell.map]
    if cell_map.is_blank(cell.row, cell.column):
        st.info("This cell is blank: it holds no number.")
    else:
        _show_explanation(cell_map.explain(cell.row, cell.column))


def _show_explanation(explanation: Explanation) -> None:
    """Draw a number's value and, as tables side by side, its terms and what it is compared with."""
    title = f"{explanation.title}: {_number(explanation.value)}"
    st.subheader(escape_markdown(title), anchor=False)
    st.markdown(escape_markdown(explanation.says))
    tables = [_terms_table(explanation)]
    if explanation.beside:
        rows = [("", term.name, _number(term.value), term.says) for term in explanation.beside]
        tables.append(_table("Beside it", rows))
    if explanation.share is not None:
        caption = (
            f"Share of the softmax: {formats.share(explanation.share)}. Largest scores at this "
            "position:"
        )
        rows = [
            (
                "",
                competitor.name,
                _number(competitor.score),
                formats.share(competitor.share),
            )
            for competitor in explanation.competitors
        ]
        tables.append(_table(caption, rows))
    st.html(f'<div class="making">{"".join(tables)}</div>')


def _terms_table(explanation: Explanation) -> str:
    rows = []
    for term in explanation.terms:
        sign = _SIGNS[explanation.joined] if rows else ""
        rows.append((sign, term.name, _number(term.value), term.says))
    rows.append(("=", _TOTALS[explanation.joined], _number(explanation.total), ""))
    return _table("How it is made", rows)


def _table(caption: str, rows: Sequence[Sequence[str]]) -> str:
    """Return the HTML of a table of four columns: sign, name, number, remark."""
    html = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table><caption>{escape(caption)}</caption>{html}</table>"


def _number(value: float) -> str:
    return number_text.number(value, digits=4, grouped=False)
