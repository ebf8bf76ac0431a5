"""One number of the stage: the cell of a map that the address names, how its number is made, and
the ways to another cell."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st

from icl_core.contract import knobs
from icl_core.contract.experiment import CannotDraw, Drawing, Run
from icl_core.contract.explanation import MEAN, PRODUCT, SUM, Explanation, Map
from icl_core.contract.knobs import BadSetting
from icl_core.figures import browser_files
from pages.ui.link import address, pending_address
from pages.ui.link.address import Setting
from pages.ui.link.cell_address import (
    MAX_KEPT,
    Cell,
    Maps,
    read_cell,
    read_cells,
    read_index,
    write_cell,
    write_cells,
)
from pages.ui.link.widget_events import set_widget, widget_arguments
from pages.ui.look import formats
from pages.ui.look.escape import escape_markdown


def _read(name: str) -> str:
    return (Path(__file__).parents[1] / "browser" / name).read_text(encoding="utf-8")


_LINKS = st.components.v2.component(
    "icl_links",
    html="<span hidden></span>",
    css=_read("links.css"),
    js=browser_files.read("plotly_parts.js") + _read("links.js"),
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
    return formats.number(value, digits=4, grouped=False)
