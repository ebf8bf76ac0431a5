"""One number: the cell of a map on the stage that the address names, how its number is made, and the way to another."""

from collections.abc import Sequence
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import streamlit as st

from icl_core import knobs
from icl_core.cells import MEAN, PRODUCT, SUM, Explained, Map
from icl_core.experiment import CannotDraw, Drawing, Run
from icl_core.knobs import BadSetting
from pages.ui import panels
from pages.ui.address import Setting
from pages.ui.plain import plain

_JS, _CSS = ((Path(__file__).parent / "browser" / f"links.{end}").read_text(encoding="utf-8") for end in ("js", "css"))
_LINKS = st.components.v2.component("icl_links", html="<span hidden></span>", css=_CSS, js=_JS, isolate_styles=False)
_SIGNS = {SUM: "+", PRODUCT: "×", MEAN: "+"}
_MADE = {SUM: "their sum", PRODUCT: "their product", MEAN: "their mean"}


class Cell(NamedTuple):
    """A cell of a drawing: which of its maps, which row and column, from 0."""

    name: str
    map: int
    row: int
    column: int


Maps = dict[str, Sequence[Map]]


def offered(setting: Setting, run: Run) -> list[Drawing]:
    """The drawings on stage whose cells explain themselves."""
    return [each for each in panels.on_stage(setting, run) if each.cells is not None]


def pinned(setting: Setting, run: Run) -> Cell | None:
    """The cell that the address names; what is none is said."""
    text = st.query_params.get("cell", "")
    every = _every(setting, run) if text else {}
    try:
        return _read(text, every) if text else None
    except ValueError as problem:
        st.warning(plain(f"cell must be {problem}, got {text!r:.80}."))
    return None


def _read(text: str, every: Maps) -> Cell:
    """A cell as the address writes it: the map, its number if the drawing has several, the row and the column. Raises
    `ValueError` with what it must be."""
    name, *numbers = text.split(":")
    if not every:
        raise ValueError("left out here, where no map explains its cells")
    if name not in every or len(numbers) != (3 if len(every[name]) > 1 else 2):
        first, maps = next(iter(every.items()))
        known = ", ".join(map(_form, every.items()))
        raise ValueError(
            f"a map, a row and a column, as {_written(Cell(first, 0, 0, 0), maps)}, the map one of {known}"
        )
    places = [int(each) - 1 if each.isascii() and each.isdecimal() and len(each) < 6 else -1 for each in numbers]
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


def _written(cell: Cell, maps: Sequence[Map]) -> str:
    """A cell as the address writes it."""
    which = [str(cell.map + 1)] if len(maps) > 1 else []
    return ":".join([cell.name, *which, str(cell.row + 1), str(cell.column + 1)])


def _every(setting: Setting, run: Run) -> Maps:
    """The maps of every drawing that explains its cells; what cannot be drawn says so itself, in its seat."""
    items, found = tuple(knobs.values(setting.view).items()), {}
    for each in offered(setting, run):
        with suppress(CannotDraw, BadSetting):
            found[each.name] = _maps(run.digest, setting.id, each.name, items, run, each, setting.view)
    return {name: maps for name, maps in found.items() if maps}


@st.cache_resource(max_entries=40, show_spinner=False)
def _maps(digest: str, id: str, name: str, items: tuple, _run: Run, _drawing: Drawing, _view: Any) -> Sequence[Map]:
    return _drawing.cells(_run, _view) if _drawing.cells is not None else ()


def link(setting: Setting, run: Run, cell: Cell | None, shown: bool) -> None:
    """Have the browser mark the same row and column in every map, and hear clicks on cells. `shown`: the cell that the
    address names is the one on screen."""
    key = f"links of {setting.id}"
    data = {
        "cells": [each.name for each in offered(setting, run)],
        "pinned": cell._asdict() if cell and shown else None,
    }
    _LINKS(key=key, data=data, on_cell_change=lambda: _clicked(key))


def _clicked(key: str) -> None:
    """Put the cell that was clicked on into the address, which is read as any other."""
    if asked := st.session_state[key].get("cell"):
        _go(str(asked)[:80])


def _go(text: str) -> None:
    st.query_params.update({"cell": text, "drawer": "Numbers"})  # at once: one step for the browser's Back


def show(setting: Setting, run: Run, cell: Cell | None) -> None:
    """The fields that choose a cell, and how its number is made."""
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
            if chosen.is_blank(cell.row, cell.column):
                st.info("This cell is blank: it holds no number.")
            else:
                _explained(chosen.explain(cell.row, cell.column))


def _fields(setting: Setting, every: Maps, cell: Cell) -> None:
    """Which map, which row and which column: the keyboard's way to a cell."""
    titles = {(name, at): each.title for name, maps in every.items() for at, each in enumerate(maps)}
    keys = [f"{setting.id}:cell {part}" for part in ("map", "row", "column")]
    chosen = every[cell.name][cell.map]
    for key, value in zip(keys, ((cell.name, cell.map), cell.row + 1, cell.column + 1), strict=True):
        st.session_state[key] = value
    st.selectbox(
        "Map", list(titles), format_func=titles.__getitem__, key=keys[0], on_change=_other, args=(keys[0], every)
    )
    sizes = zip(chosen.sides, chosen.matrix.shape, (chosen.rows, chosen.columns), (cell.row, cell.column), strict=True)
    for key, kind, (side, size, labels, at) in zip(keys[1:], ("Row", "Column"), sizes, strict=True):
        label = f"{kind} of {size}" + (f": {plain(side)}" if side else "")
        st.number_input(label, 1, size, step=1, key=key, on_change=_moved, args=(keys, every))
        if labels[at] != str(at + 1):
            st.caption(plain(f"On the map: {labels[at]}"))


def _other(key: str, every: Maps) -> None:
    """Another map: its largest number."""
    name, at = st.session_state[key]
    _go(_written(Cell(name, at, *every[name][at].strongest), every[name]))


def _moved(keys: Sequence[str], every: Maps) -> None:
    (name, at), row, column = (st.session_state[key] for key in keys)
    _go(_written(Cell(name, at, row - 1, column - 1), every[name]))


def _explained(found: Explained) -> None:
    st.subheader(plain(f"{found.title}: {_number(found.value)}"), anchor=False)
    st.markdown(plain(found.says))
    signs = ["", *[_SIGNS[found.joined]] * (len(found.terms) - 1)]
    terms = [(sign, each.name, _number(each.value), each.says) for sign, each in zip(signs, found.terms, strict=True)]
    terms.append(("=", _MADE[found.joined], _number(found.total), ""))
    tables = [_table("How it is made", terms)]
    if found.beside:
        tables.append(_table("Beside it", [("", each.name, _number(each.value), each.says) for each in found.beside]))
    if found.share is not None:
        rivals = [("", each.name, _number(each.score), _percent(each.share)) for each in found.rivals]
        tables.append(_table(f"Its share of the softmax is {_percent(found.share)}; the largest are", rivals))
    st.html(f'<div class="making">{"".join(tables)}</div>')


def _table(caption: str, rows: Sequence[Sequence[str]]) -> str:
    """HTML of a table: sign, name, number, what is said of it."""
    cells = "".join(f"<tr>{''.join(f'<td>{escape(each)}</td>' for each in row)}</tr>" for row in rows)
    return f"<table><caption>{escape(caption)}</caption>{cells}</table>"


def _number(value: float) -> str:
    """Four digits, with a true minus sign."""
    return f"{value:.4g}".replace("-", "\N{MINUS SIGN}")


def _percent(share: float) -> str:
    """A share; one that is nearly none says so."""
    return f"{share:.1%}" if share >= 0.0005 else "under 0.1%"
