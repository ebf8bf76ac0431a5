"""A panel: its title, figure, caption and data, and how the view that it is drawn for is found."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import streamlit as st

from icl_core import figures
from icl_core.contract import knobs
from icl_core.contract.experiment import STAGE, CannotDraw, Drawing, Experiment, Panel, Run
from icl_core.contract.knobs import BadSetting
from pages.ui.link.address import Setting
from pages.ui.look.chart import show_chart
from pages.ui.look.escape import escape_markdown
from pages.ui.look.style import Theme, theme

_SENTENCE = 40  # letters from which on a cell is one


def stage_drawings(setting: Setting, run: Run) -> list[Drawing]:
    """The drawings that stand on the stage for a run."""
    return [
        each
        for each in setting.experiment.drawings
        if each.place == STAGE and each.applies(run.config)
    ]


def drawers_of(experiment: Experiment, field: str) -> set[str]:
    """The drawers in which a field of the view stands: the one that names it, or every one if it is
    a text that the visitor writes; STAGE if none names it, or several do."""
    drawers = {each.place for each in experiment.drawings if field in each.knobs} - {STAGE}
    written = bool(drawers) and knobs.knobs_of(experiment.view)[field].kind == "text"
    return drawers if written or len(drawers) == 1 else {STAGE}


def relevant_view(experiment: Experiment, drawing: Drawing, view: Any) -> Any:
    """The view with all that `drawing` does not depend on at its default, so that it is not drawn
    again for it."""
    named = {field for each in experiment.drawings for field in each.knobs} - set(drawing.knobs)
    fixed = named if drawing.moving else named | {"snapshot"}
    other = {
        field: knob.default for field, knob in knobs.knobs_of(type(view)).items() if field in fixed
    }
    with suppress(BadSetting):  # a view may refuse combinations
        return replace(view, **other)
    return view


def drawing_key(setting: Setting, drawing: Drawing, run: Run, view: Any) -> str:
    """What a drawing of a run depends on: a text, which Streamlit's caches compare faster than what
    it is made of."""
    return f"{run.digest} {setting.id} {drawing.name} {knobs.values(view)} {theme()}"


# Not st.cache_data: it pickles each figure in and out. A drawn panel is only read.
@st.cache_resource(max_entries=200, show_spinner=False)
def _drawn(name: str, _run: Run, _drawing: Drawing, _view: Any, _seen: Theme) -> Panel:
    return draw(_run, _drawing, _view, _seen)


def cached_panel(setting: Setting, drawing: Drawing, run: Run) -> Panel:
    """The panel of a drawing in the visitor's theme; what one visitor has had drawn serves the
    next."""
    view = relevant_view(setting.experiment, drawing, setting.view)
    return _drawn(drawing_key(setting, drawing, run, view), run, drawing, view, theme())


def draw(run: Run, drawing: Drawing, view: Any, seen: Theme) -> Panel:
    """Draw a run, in the visitor's theme, larger on a projector."""
    return style_panel(drawing.draw(run, view), seen)


def style_panel(panel: Panel, seen: Theme) -> Panel:
    """A panel in the visitor's theme, larger on a projector."""
    if panel.figure is None:
        return panel
    figure = figures.themed(panel.figure, seen.dark)
    return replace(panel, figure=figures.enlarged(figure) if seen.projector else figure)


@contextmanager
def report_faults(setting: Setting, what: str) -> Iterator[None]:
    """Say what cannot be drawn as advice; show a fault of the program as one, and go on with the
    rest of the page."""
    try:
        yield
    except (CannotDraw, BadSetting) as problem:
        st.warning(escape_markdown(problem))
    except Exception as fault:
        logging.getLogger(__name__).exception("%s: %s was not drawn", setting.id, what)
        with st.container(key=f"fault-{what}"):
            st.error(
                f"A fault of the program, not of your setting: {type(fault).__name__}. The log "
                "tells where."
            )


def show(
    panel: Panel, key: str, live: bool = False, clicked: Callable[[], None] | None = None
) -> None:
    """Title, figure or table, note, caption and, unless it is `live`, the data behind it. See
    `chart` for `clicked`."""
    st.subheader(escape_markdown(panel.title), anchor=False)  # it may name any character
    if live:  # not of the run before, which is faded
        st.html("<i data-live></i>")
    if panel.figure is not None:
        show_chart(panel.figure, f"figure {key}", panel.title, clicked=clicked)
    if panel.table is not None:
        if _prose(panel.table):
            st.table(panel.table, hide_index=True, alt=panel.title)
        else:
            st.dataframe(panel.table, hide_index=True, key=f"table {key}", alt=panel.title)
    if panel.note:
        st.markdown(panel.note)
    st.caption(panel.caption)
    if not live:
        # every panel has this button: one that scrolls on a narrow screen must hold something the
        # keyboard can reach
        with st.popover("Data", help="The numbers behind this figure"):
            show_data(panel, key)


def _prose(table: Any) -> bool:
    """Whether a table holds sentences, which are to be read in full, and so to wrap."""
    return bool(
        table.map(lambda cell: isinstance(cell, str) and len(cell) > _SENTENCE).any(axis=None)
    )


def show_data(panel: Panel, key: str) -> None:
    """The numbers behind a panel, and its files."""
    data = panel.data if panel.data is not None else panel.table
    if data is not None:
        st.dataframe(
            data, hide_index=True, key=f"data {key}", alt=f"The numbers behind: {panel.title}"
        )
        csv = lambda: data.to_csv(index=False).encode()  # noqa: E731 (made only when asked for)
        st.download_button("Table (csv)", csv, f"{key}.csv", key=f"csv {key}", on_click="ignore")
    if panel.figure is not None:
        # a page of its own, which needs no network
        html = lambda: panel.figure.plotly().to_html(include_plotlyjs=True).encode()  # noqa: E731
        st.download_button(
            "Figure (html)", html, f"{key}.html", key=f"html {key}", on_click="ignore"
        )
