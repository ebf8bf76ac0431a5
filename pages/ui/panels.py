"""A panel: its title, figure, caption and knobs. Only the panel whose knob moves is drawn again."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import streamlit as st

from icl_core import figures, knobs
from icl_core.experiment import CannotDraw, Drawing, Experiment, Panel, Run
from icl_core.knobs import BadSetting
from pages.ui import address, widgets
from pages.ui.address import Setting
from pages.ui.chart import chart
from pages.ui.plain import plain
from pages.ui.style import is_dark

_SENTENCE = 40  # letters from which on a cell is one


def owner(experiment: Experiment, field: str) -> Drawing | None:
    """The only drawing that `field` of the view belongs to, or None: then it stands above all panels."""
    owners = [drawing for drawing in experiment.drawings if field in drawing.knobs]
    return owners[0] if len(owners) == 1 else None


def seen_by(experiment: Experiment, drawing: Drawing, view: Any) -> Any:
    """The view with all that `drawing` does not depend on at its default, so that it is not drawn again for it."""
    other = {
        field: knob.default
        for field, knob in knobs.knobs(type(view)).items()
        if owner(experiment, field) not in (None, drawing) or (field == "snapshot" and not drawing.moving)
    }
    with suppress(BadSetting):  # a view may refuse combinations
        return replace(view, **other)
    return view


# Not st.cache_data: it pickles each figure in and out. A drawn panel is only read.
@st.cache_resource(max_entries=200, show_spinner=False)
def _drawn(digest: str, id: str, name: str, view: tuple, dark: bool, _run: Run, _drawing: Drawing, _view: Any) -> Panel:
    return draw(_run, _drawing, _view, dark)


def draw(run: Run, drawing: Drawing, view: Any, dark: bool) -> Panel:
    """Draw a run, in the visitor's theme."""
    panel = drawing.draw(run, view)
    if panel.figure is None:
        return panel
    return replace(panel, figure=figures.themed(panel.figure, dark))


@contextmanager
def telling(setting: Setting, what: str) -> Iterator[None]:
    """Say what cannot be drawn as advice; show a fault of the program as one, and go on with the rest of the page."""
    try:
        yield
    except (CannotDraw, BadSetting) as problem:
        st.warning(plain(problem))
    except Exception as fault:
        logging.getLogger(__name__).exception("%s: %s was not drawn", setting.id, what)
        with st.container(key=f"fault-{what}"):
            st.error(f"A fault of the program, not of your setting: {type(fault).__name__}. The log tells where.")


@st.fragment
def panel(setting: Setting, drawing: Drawing, run: Run) -> None:
    """One panel with its knobs; a fragment, so that its knobs redraw it alone."""
    width = "wide" if drawing.wide else "half"
    with st.container(border=True, key=f"panel-{width}-{drawing.name}"):
        own = [field for field in drawing.knobs if owner(setting.experiment, field) is drawing]
        view, chosen = address.refreshed(setting, own), address.chosen_now(setting, own)
        shown = seen_by(setting.experiment, drawing, view)
        items = tuple(knobs.values(shown).items())
        with telling(setting, drawing.name):
            drawn = _drawn(run.digest, setting.id, drawing.name, items, is_dark(), run, drawing, shown)
            show(drawn, drawing.name)
        if refused := address.refusal(setting, chosen):
            st.warning(f"{plain(refused)}. The figure does not show it.")
        for field, value in chosen.items():  # good or refused
            if widgets.can_move(setting, field, run.config):
                widgets.draw_view(setting, field, value, run.config)


def show(panel: Panel, key: str, with_data: bool = True) -> None:
    """Title, figure or table, note, caption and the data behind it."""
    st.subheader(panel.title, anchor=False)
    if panel.figure is not None:
        chart(panel.figure, f"figure {key}", panel.title)
    if panel.table is not None:
        if _prose(panel.table):
            st.table(panel.table, hide_index=True, alt=panel.title)
        else:
            st.dataframe(panel.table, hide_index=True, key=f"table {key}", alt=panel.title)
    if panel.note:
        st.markdown(panel.note)
    st.caption(panel.caption)
    if with_data:
        _data(panel, key)


def _prose(table: Any) -> bool:
    """Whether a table holds sentences, which are to be read in full, and so to wrap."""
    return bool(table.map(lambda cell: isinstance(cell, str) and len(cell) > _SENTENCE).any(axis=None))


def _data(panel: Panel, key: str) -> None:
    data = panel.data if panel.data is not None else panel.table
    # every panel has this button: one that scrolls on a narrow screen must hold something the keyboard can reach
    with st.popover("Data", help="The numbers behind this figure"):
        if data is not None:
            st.dataframe(data, hide_index=True, key=f"data {key}", alt=f"The numbers behind: {panel.title}")
            csv = lambda: data.to_csv(index=False).encode()  # noqa: E731 (made only when asked for)
            st.download_button("Table (csv)", csv, f"{key}.csv", key=f"csv {key}", on_click="ignore")
        if panel.figure is not None:
            # a page of its own, which needs no network
            html = lambda: panel.figure.plotly().to_html(include_plotlyjs=True).encode()  # noqa: E731
            st.download_button("Figure (html)", html, f"{key}.html", key=f"html {key}", on_click="ignore")
