"""What stands under the stage: drawers, of which one is open or none. Only the open one is computed
and sent."""

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from icl_core import registry
from icl_core.contract import knobs
from icl_core.contract.experiment import STAGE, Drawing, Panel, Run
from icl_core.findings.findings import Summary
from pages.ui.claims import evidence
from pages.ui.controls import sweep, widgets
from pages.ui.link import address, lesson_rules
from pages.ui.link.address import Setting
from pages.ui.link.cell_address import Cell
from pages.ui.link.widget_events import set_widget, widget_arguments
from pages.ui.look.escape import escape_markdown
from pages.ui.look.style import theme
from pages.ui.stage import live_curves, model_diagram, one_number, panels
from pages.ui.story import lesson

VIEW, NUMBERS, EVIDENCE, WHY = "View", "Numbers", "Evidence", "Why"


def names(setting: Setting, run: Run) -> list[str]:
    """The drawers of an experiment, in the order of its drawings, and those that every one has."""
    places = [
        each.place
        for each in setting.experiment.drawings
        if each.place != STAGE and each.applies(run.config)
    ]
    view = [VIEW] if _fields(setting, run, STAGE) else []
    model = [model_diagram.MODEL] if setting.experiment.diagram else []
    swept = [] if setting.lesson else [sweep.SWEEP]  # it would leave what the lesson holds
    taught = [lesson.EXERCISES] if setting.lesson else []
    every = [*taught, *model, *dict.fromkeys(places), *view, NUMBERS, *swept, EVIDENCE, WHY]
    return [name for name in every if not lesson_rules.is_hidden(setting.lesson, name)]


def requested_drawer() -> str:
    """The drawer that the address names."""
    return st.query_params.get("drawer", "")


def show(
    setting: Setting, run: Run, found: Sequence[Summary], cell: Cell | None, grows: str = ""
) -> None:
    """The row of drawers, and what is in the open one: of the stage's numbers that in `cell`;
    `grows` is the key of the run whose curves grow in it."""
    titles, asked = names(setting, run), requested_drawer()
    # of this beat: an answer that left the browser before the drawer of the beat arrived does not
    # close it
    key = f"{setting.id}:drawer {st.query_params.get('beat', '')}"
    value = asked if asked in titles else None
    set_widget(key, value, titles)
    with st.container(key="drawers"):
        st.pills(
            "More",
            titles,
            default=value,
            **widget_arguments(key, _opened, key),
            label_visibility="collapsed",
        )
        if asked in titles:
            with st.container(key="drawer"):
                if asked == NUMBERS:
                    _numbers(setting, run, cell)
                else:
                    _content(setting, run, asked, found, grows)
        elif asked:
            st.warning(
                f"There is no drawer {escape_markdown(asked)!s:.80} here; there are "
                f"{', '.join(titles)}."
            )


def _opened(key: str) -> None:
    address.write("drawer", st.session_state[key] or "", "")


def _content(setting: Setting, run: Run, opened: str, found: Sequence[Summary], grows: str) -> None:
    if opened == EVIDENCE:
        evidence.show(found)
    elif opened == lesson.EXERCISES:
        lesson.exercises(setting, run)
    elif opened == model_diagram.MODEL:
        model_diagram.show(setting, run)
    elif opened == sweep.SWEEP:
        sweep.show(setting, partial(_sweep_panel, setting))
    elif opened == VIEW:
        _knobs(setting, run, STAGE)
    elif opened == WHY:
        _why(setting)
    else:
        _drawings(setting, run, opened, grows)


def _numbers(setting: Setting, run: Run, cell: Cell | None) -> None:
    """How one number on the stage is made; and, if there is that to be seen first, on demand, all
    of them."""
    if not one_number.explained_drawings(setting, run):
        return _tables(setting, run)
    with panels.report_faults(setting, "cells"):
        one_number.show(setting, run, cell)
    every = st.expander("The numbers behind every panel", key="every number", on_change="rerun")
    if every.open:
        with every:
            _tables(setting, run)


def _tables(setting: Setting, run: Run) -> None:
    """The numbers behind every panel of the stage, where the clock rests."""
    with st.container(key="panels"):
        for drawing in panels.stage_drawings(setting, run):
            with (
                st.container(border=True, key=f"panel-half-{drawing.name}"),
                panels.report_faults(setting, drawing.name),
            ):
                panel = panels.cached_panel(setting, drawing, run)
                st.subheader(panel.title, anchor=False)
                st.caption(panel.caption)
                panels.show_data(panel, f"numbers {drawing.name}")


def _drawings(setting: Setting, run: Run, opened: str, grows: str) -> None:
    """The drawer's knobs at the left of its figures."""
    shown = [
        each
        for each in setting.experiment.drawings
        if each.place == opened and each.applies(run.config)
    ]
    left, right = st.columns([1, 3]) if _fields(setting, run, opened) else (None, st.container())
    if left is not None:
        with left, st.container(key="knobs"):
            _knobs(setting, run, opened)
    with right, st.container(key="panels"):
        for drawing in shown:
            width = "wide" if drawing.wide else "half"
            with (
                st.container(border=True, key=f"panel-{width}-{drawing.name}"),
                panels.report_faults(setting, drawing.name),
            ):
                before = partial(_drawing, setting, drawing, run)
                live_curves.show_live(setting, drawing, grows, partial(_growing, drawing), before)


def _drawing(setting: Setting, drawing: Drawing, run: Run) -> None:
    panels.show(panels.cached_panel(setting, drawing, run), drawing.name)


def _sweep_panel(
    setting: Setting, draw: Callable[[], Panel], key: str, clicked: Callable[[], None]
) -> None:
    with panels.report_faults(setting, "sweep"):
        panels.show(panels.style_panel(draw(), theme()), key, clicked=clicked)


def _growing(drawing: Drawing, panel: Panel) -> None:
    panels.show(panel, drawing.name, live=True)


def _fields(setting: Setting, run: Run, place: str) -> list[str]:
    """The view's fields that stand in a drawer; those of the STAGE in the drawer VIEW. Not those on
    which only drawings depend that do not apply here."""
    drawings = setting.experiment.drawings
    named = {field for each in drawings for field in each.knobs}
    idle = named - {field for each in drawings if each.applies(run.config) for field in each.knobs}
    known = [
        field
        for field in knobs.knobs_of(setting.experiment.view)
        if field not in idle | {"snapshot"}
    ]
    mine = [field for field in known if place in panels.drawers_of(setting.experiment, field)]
    return [field for field in mine if widgets.can_move(setting, field, run.config)]


def _knobs(setting: Setting, run: Run, place: str) -> None:
    chosen = address.current_choices(setting, _fields(setting, run, place))
    if refused := address.refusal(setting, chosen):
        st.warning(f"{escape_markdown(refused)}. The figure does not show it.")
    for field, value in chosen.items():  # good or refused
        widgets.draw_view(setting, field, value, run.config)


def _why(setting: Setting) -> None:
    """What the figures do not say: what to try, the mathematics, the words."""
    paper = registry.papers()[setting.id.partition(".")[0]]
    st.markdown(f"{paper.title}. {paper.authors}, {paper.year}. {paper.found}")
    st.markdown(paper.introduction)
    st.markdown(setting.experiment.about)
    st.markdown(paper.mathematics)
    if paper.glossary:
        st.table(
            [
                {"code": code, "symbol": symbol, "meaning": meaning}
                for code, symbol, meaning in paper.glossary
            ]
        )
