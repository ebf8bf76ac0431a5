"""One number: the cell of a map on the stage that the address names, how its number is made, and
the way to another."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st

from icl_core.contract import knobs
from icl_core.contract.experiment import CannotDraw, Drawing, Run
from icl_core.contract.explanation import Map
from icl_core.contract.knobs import BadSetting
from pages.ui.link import address, pending_address
from pages.ui.link.address import Setting
from pages.ui.link.cell_address import (
    MAX_KEPT,
    Cell,
    Maps,
    read_cell,
    read_cells,
    write_cell,
    write_cells,
)
from pages.ui.link.widget_events import set_widget, widget_arguments
from pages.ui.look.escape import escape_markdown
from pages.ui.stage import how_it_is_made, panels

_JS, _CSS = (
    (Path(__file__).parents[1] / "browser" / f"links.{end}").read_text(encoding="utf-8")
    for end in ("js", "css")
)
_LINKS = st.components.v2.component(
    "icl_links", html="<span hidden></span>", css=_CSS, js=_JS, isolate_styles=False
)
T = TypeVar("T")


def explained_drawings(setting: Setting, run: Run) -> list[Drawing]:
    """The drawings on stage whose cells explain themselves."""
    return [each for each in panels.stage_drawings(setting, run) if each.explanations is not None]


def requested_cell(setting: Setting, run: Run) -> Cell | None:
    """The cell that the address names; what is none is said."""
    return _named("cell", read_cell, setting, run)


def _named(name: str, find: Callable[[str, Maps], T], setting: Setting, run: Run) -> T | None:
    """What the address says under `name`; None, and a warning, if it cannot be found."""
    text = st.query_params.get(name, "")
    try:
        return find(text, _every(setting, run)) if text else None
    except ValueError as problem:
        st.warning(escape_markdown(f"{name} must be {problem}, got {text!r:.80}."))
    return None


def _every(setting: Setting, run: Run) -> Maps:
    """The maps of every drawing that explains its cells; what cannot be drawn says so itself, in
    its seat."""
    items, found = tuple(knobs.values(setting.view).items()), {}
    for each in explained_drawings(setting, run):
        with suppress(CannotDraw, BadSetting):
            found[each.name] = _maps(
                run.digest, setting.id, each.name, items, run, each, setting.view
            )
    return {name: maps for name, maps in found.items() if maps}


@st.cache_resource(max_entries=40, show_spinner=False)
def _maps(
    digest: str, id: str, name: str, items: tuple, _run: Run, _drawing: Drawing, _view: Any
) -> Sequence[Map]:
    return _drawing.explanations(_run, _view) if _drawing.explanations is not None else ()


def link_maps(setting: Setting, run: Run, cell: Cell | None, shown: bool) -> None:
    """Have the browser mark the same row and column in every map, and hear clicks on cells.
    `shown`: the cell that the address names is the one on screen."""
    key = f"links of {setting.id}"
    data = {
        "cells": [each.name for each in explained_drawings(setting, run)],
        "pinned": cell._asdict() if cell and shown else None,
    }
    _LINKS(key=key, data=data, on_cell_change=lambda: _clicked(key))


def _clicked(key: str) -> None:
    """Put the cell that was clicked on into the address, which is read as any other."""
    if asked := st.session_state[key].get("cell"):
        _go(str(asked)[:80])


def _go(text: str) -> None:
    pending_address.change(
        {"cell": text, "drawer": "Numbers"}
    )  # at once: one step for the browser's Back


def show(setting: Setting, run: Run, cell: Cell | None) -> None:
    """The fields that choose a cell, how its number is made, and the cells that are
    kept beside it."""
    every = _every(setting, run)
    if not every:
        return
    if cell is None:
        name = next(iter(every))
        cell = Cell(name, 0, *every[name][0].strongest)
    chosen = every[cell.name][cell.map]
    with st.container(key="one-number"):
        left, right = st.columns([1, 3])
        with left:
            st.caption("Click on a cell of a map, or choose one here.")
            _fields(setting, every, cell)
        with right:
            _made(every, cell)
        kept = _named("kept", read_cells, setting, run) or []
        if cell not in kept and len(kept) < MAX_KEPT and not chosen.is_blank(cell.row, cell.column):
            left.button(
                "Keep it, to compare", key="keep", on_click=_keep, args=([*kept, cell], every)
            )
        for number, each in enumerate(kept):
            with right, st.container(key=f"kept-{number}", border=True):
                _made(every, each)
                others = [other for other in kept if other != each]
                st.button("Let it go", key=f"let go {number}", on_click=_keep, args=(others, every))


def _made(every: Maps, cell: Cell) -> None:
    """How a cell's number is made."""
    chosen = every[cell.name][cell.map]
    if chosen.is_blank(cell.row, cell.column):
        st.info("This cell is blank: it holds no number.")
    else:
        how_it_is_made.show(chosen.explain(cell.row, cell.column))


def _keep(cells: Sequence[Cell], every: Maps) -> None:
    address.write("kept", write_cells(cells, every), "")


def _fields(setting: Setting, every: Maps, cell: Cell) -> None:
    """Which map, which row and which column: the keyboard's way to a cell."""
    titles = {
        (name, at): each.title for name, maps in every.items() for at, each in enumerate(maps)
    }
    keys = [f"{setting.id}:cell {part}" for part in ("map", "row", "column")]
    chosen = every[cell.name][cell.map]
    values = (cell.name, cell.map), cell.row + 1, cell.column + 1
    for key, value in zip(keys, values, strict=True):
        set_widget(key, value, titles, chosen.matrix.shape)
    told = {"index": list(titles).index(values[0]), "format_func": titles.__getitem__}
    st.selectbox("Map", list(titles), **told, **widget_arguments(keys[0], _other, keys[0], every))
    sizes = zip(
        chosen.sides,
        chosen.matrix.shape,
        (chosen.rows, chosen.columns),
        (cell.row, cell.column),
        strict=True,
    )
    for key, kind, (side, size, labels, at) in zip(keys[1:], ("Row", "Column"), sizes, strict=True):
        label = f"{kind} of {size}" + (f": {escape_markdown(side)}" if side else "")
        st.number_input(
            label, 1, size, at + 1, step=1, **widget_arguments(key, _moved, keys, every)
        )
        if labels[at] != str(at + 1):
            st.caption(escape_markdown(f"On the map: {labels[at]}"))


def _other(key: str, every: Maps) -> None:
    """Another map: its largest number."""
    name, at = st.session_state[key]
    _go(write_cell(Cell(name, at, *every[name][at].strongest), every[name]))


def _moved(keys: Sequence[str], every: Maps) -> None:
    (name, at), row, column = (st.session_state[key] for key in keys)
    _go(write_cell(Cell(name, at, row - 1, column - 1), every[name]))
