"""A panel: its title, figure, caption and data, and the part of the view that it depends on."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from icl_core import figures
from icl_core.contract import knobs, words
from icl_core.contract.experiment import STAGE, CannotDraw, Drawing, Experiment, Panel, Run
from icl_core.contract.knobs import BadSetting, Knob
from icl_core.contract.seeds import FIELD
from icl_core.contract.settings_io import file_stem
from icl_core.figures import panel_tables
from icl_core.figures.heatmaps import every_cell
from icl_core.jobs import faults
from icl_core.share.stage_films import relevant_view
from pages.ui.link import address
from pages.ui.link.address import Setting
from pages.ui.look import chart
from pages.ui.look.chart import show_chart
from pages.ui.look.escape import escape_markdown
from pages.ui.look.style import Theme, theme

_SENTENCE_LENGTH = 40  # characters; a longer cell of a table is read as a sentence
FEW_ROWS = 5  # of a table that is drawn as high as it is
TABLE_HEIGHT = 250  # pixels of a longer one, in which it scrolls
MOST_TABLES = 4  # that are drawn of one panel; files hold all


def shows_one_seed(view_knobs: Mapping[str, Knob], drawings: Sequence[Drawing]) -> bool:
    """Return whether one of the stage's `drawings` shows one seed, which the visitor may choose."""
    can_choose = FIELD in view_knobs and bool(view_knobs[FIELD].at_most)
    return can_choose and any(FIELD in drawing.knobs for drawing in drawings)


def drawers_of(experiment: Experiment, field: str) -> set[str]:
    """Return the drawers that show a field of the view.

    This is the one drawer whose drawings have the field among their knobs, or each of several if
    the field is a text that the visitor writes; STAGE if there is none, or several.
    """
    drawers = {drawing.place for drawing in experiment.drawings if field in drawing.knobs} - {STAGE}
    is_text = knobs.knobs_of(experiment.view)[field].kind == "text"
    return drawers if len(drawers) == 1 or (drawers and is_text) else {STAGE}


def drawing_key(experiment_id: str, drawing: Drawing, run: Run, view: Any) -> str:
    """Return the cache key of a drawing of a run of an experiment.

    It is a text, which Streamlit's caches compare faster than the run and the view themselves.
    """
    seen_in = f"{theme()} {words.stamp()}"
    return f"{run.digest} {experiment_id} {drawing.name} {knobs.values(view)} {seen_in}"


# Not st.cache_data, which pickles every figure in and out. A cached panel must not be changed.
@st.cache_resource(max_entries=200, show_spinner=False)
def _cached_panel(name: str, _run: Run, _drawing: Drawing, _view: Any, _theme: Theme) -> Panel:
    return draw(_run, _drawing, _view, _theme)


def cached_panel(setting: Setting, drawing: Drawing, run: Run) -> Panel:
    """Return the panel of a drawing in the visitor's theme; all visitors share the cache."""
    view = relevant_view(setting.experiment, drawing, setting.view)
    return _cached_panel(drawing_key(setting.id, drawing, run, view), run, drawing, view, theme())


def draw(run: Run, drawing: Drawing, view: Any, theme: Theme) -> Panel:
    """Draw a run in a theme."""
    return style_panel(drawing.panel(run, view), theme)


def style_panel(panel: Panel, theme: Theme) -> Panel:
    """Return a panel in a theme, with a larger figure for a projector."""
    if panel.figure is None:
        return panel
    figure = figures.themed(panel.figure, theme.dark)
    return replace(panel, figure=figures.enlarged(figure) if theme.projector else figure)


@contextmanager
def report_faults(part: str) -> Iterator[None]:
    """Show an exception of one part of the page in its place, and go on with the rest.

    `CannotDraw` and `BadSetting` are advice to the visitor; any other exception is a fault of the
    program, shown and logged as one.
    """
    try:
        yield
    except (CannotDraw, BadSetting) as problem:
        st.warning(escape_markdown(problem))
    except Exception as fault:
        logging.getLogger(__name__).exception("%s: %s was not drawn", address.shown_id(), part)
        with st.container(key=f"fault-{part}"):
            if faults.fault_kind(fault) == faults.MEMORY:
                st.error(escape_markdown(faults.server_memory_message(fault)))
            else:
                st.error(
                    f"A fault of the program, not of your setting: {type(fault).__name__}. The log "
                    "says where."
                )


@dataclass(frozen=True)
class Source:
    """Where a panel's numbers come from, for its files.

    stem  the files' name without its ending
    draw  draws the panel again, with every cell of its maps
    """

    stem: str
    draw: Callable[[], Panel]


def source_of(setting: Setting, drawing: Drawing, run: Run) -> Source:
    """Return the source of a drawing's numbers at the view's snapshot."""
    has_steps = drawing.moving and run.snapshot_steps and hasattr(setting.view, "snapshot")
    step = run.step(setting.view) if has_steps else None
    stem = file_stem(setting.id, run.config, setting.preset.config, drawing.name, step)

    def draw_whole() -> Panel:
        with every_cell():
            return drawing.panel(run, setting.view)

    return Source(stem, draw_whole)


def show(
    panel: Panel,
    key: str,
    live: bool = False,
    clicked: Callable[[], None] | None = None,
    source: Source | None = None,
) -> None:
    """Draw a panel's title, figure or table, note, caption and the button for its data.

    A `live` panel shows a run that is still training: it has no data yet, and does not fade with
    the former run. For `clicked` see `show_chart`. Without a `source` the files of its data hold
    what the panel shows, and are named by the `key`.
    """
    st.subheader(escape_markdown(panel.title), anchor=False)  # it may hold any character
    if live:
        st.html("<i data-live></i>")
    if panel.figure is not None:
        chart.make_room_in_panel(key.replace(" ", "-"), panel.figure)
        show_chart(panel.figure, f"figure {key}", panel.title, clicked=clicked)
    if panel.table is not None:
        if _has_sentences(panel.table):  # these must wrap
            table = panel.table.where(panel.table.notna(), "–")
            st.table(table, hide_index=True, alt=panel.title)
        else:
            st.dataframe(
                panel.table, hide_index=True, key=f"table {key}", alt=panel.title, placeholder="–"
            )
    if panel.note:
        st.markdown(panel.note)
    st.caption(panel.caption)
    if not live:
        # Every panel has this button: a panel that scrolls on a narrow screen must hold something
        # that the keyboard can reach.
        data = st.popover(
            "Data",
            help="The numbers behind this figure",
            key=f"popover {key}",
            on_change="rerun",  # the numbers are sent once they are asked for
        )
        if data.open:
            with data:
                show_data(panel, key, source)


def _has_sentences(table: Any) -> bool:
    is_sentence = table.map(lambda cell: isinstance(cell, str) and len(cell) > _SENTENCE_LENGTH)
    return bool(is_sentence.any(axis=None))


def show_data(panel: Panel, key: str, source: Source | None = None) -> None:
    """Draw the numbers behind a panel, and buttons that download them and its figure."""
    source = source or Source(key, lambda: panel)
    tables = panel_tables.tables(panel)
    with st.container(horizontal=True):
        if tables:
            _table_buttons(panel, key, source, len(tables))
        if panel.figure is not None:
            figure = panel.figure
            st.download_button(
                "Figure (html)",
                # plotly.js is in the file, so that it needs no network
                lambda: figure.plotly().to_html(include_plotlyjs=True).encode(),
                f"{source.stem}.html",
                key=f"html {key}",
                on_click="ignore",
            )
    for index, table in enumerate(tables[:MOST_TABLES]):
        if len(tables) > 1:
            st.caption(escape_markdown(table.name))
        alt = f"The numbers behind: {panel.title}, {table.name}"
        height = TABLE_HEIGHT if len(table.frame) > FEW_ROWS else "auto"
        st.dataframe(
            table.frame, height=height, hide_index=True, key=f"data {key} {index}", alt=alt
        )
    if len(tables) > MOST_TABLES:
        st.caption(f"The files hold {len(tables) - MOST_TABLES} more tables.")


def _table_buttons(panel: Panel, key: str, source: Source, count: int) -> None:
    """Draw the buttons that download a panel's `count` tables; they are made when clicked."""
    label, ending = ("Table (csv)", ".csv") if count == 1 else ("Tables (csv, zipped)", "-csv.zip")
    st.download_button(
        label,
        lambda: panel_tables.csv_bytes(panel_tables.tables(source.draw()), source.stem),
        source.stem + ending,
        key=f"csv {key}",
        on_click="ignore",
    )
    st.download_button(
        "Arrays (npz)",
        lambda: panel_tables.npz_bytes(
            panel_tables.tables(source.draw()), f"{source.stem}: {panel.title}"
        ),
        f"{source.stem}.npz",
        key=f"npz {key}",
        on_click="ignore",
        help="For numpy.load: every map with the labels of its rows and columns",
    )
