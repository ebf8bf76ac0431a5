"""The drawers under the stage, in groups. At most one is open; only its content is computed and
sent.

The drawer "The model" holds the model's diagram, in which a matrix opens the panel that shows it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from urllib.parse import urlencode

import streamlit as st

from icl_core import registry
from icl_core.contract.diagram import Box, Diagram
from icl_core.contract.drawers import EVIDENCE, GROUPS, WHY, group_of
from icl_core.contract.experiment import STAGE, Drawing, Panel, Paper, Run
from icl_core.contract.paper_words import HEADS
from icl_core.contract.publication import FollowUp, Publication
from icl_core.contract.seeds import FIELD
from icl_core.evidence.evidence_html import evidence_html
from icl_core.evidence.measurements import Summary
from icl_core.figures.frames import browser_file
from icl_core.figures.svg import model_svg_text, picture
from icl_core.share.stage_films import stage_drawings
from pages.ui.controls import sweep, widgets
from pages.ui.link import address, lesson_rules
from pages.ui.link.address import Setting
from pages.ui.link.widget_events import set_widget, widget_arguments
from pages.ui.look.escape import escape_markdown
from pages.ui.look.style import theme
from pages.ui.stage import live_curves, one_number, panels
from pages.ui.stage.one_number import Cell
from pages.ui.story import lesson

VIEW, NUMBERS = "View", "Numbers"


def names(setting: Setting, run: Run) -> list[str]:
    """Return the names of the drawers: those of the experiment's drawings, in their order, among
    those that every experiment has."""
    drawers: list[str] = []
    if setting.experiment.diagram:
        drawers.append(MODEL)
    for drawing in setting.experiment.drawings:
        is_new = drawing.place != STAGE and drawing.place not in drawers
        if is_new and drawing.applies(run.config):
            drawers.append(drawing.place)
    if _fields(setting, run, STAGE):
        drawers.append(VIEW)
    drawers.append(NUMBERS)
    if not setting.lesson:  # a sweep would leave what the lesson sets
        drawers.append(sweep.SWEEP)
    drawers += [EVIDENCE, WHY]
    return [name for name in drawers if not lesson_rules.is_hidden(setting.lesson, name)]


def requested_drawer() -> str:
    """Return the name of the drawer in the address; empty if it has none."""
    return st.query_params.get("drawer", "")


def show(
    setting: Setting,
    run: Run,
    summaries: Sequence[Summary],
    hidden: Collection[str],
    cell: Cell | None,
    training_key: str = "",
) -> None:
    """Draw the choice of a drawer and the content of the open one.

    summaries     the experiment's claims
    hidden        names of the panels that open questions hide
    cell          the cell that the address names
    training_key  key of the run in training whose curves are drawn; empty if there is none
    """
    titles = names(setting, run)
    requested = requested_drawer()
    with st.container(key="drawers"):
        _choice(setting, titles, requested if requested in titles else "")
        if requested in titles:
            with st.container(key="drawer"):
                if requested == NUMBERS:
                    _numbers(setting, run, cell)
                elif requested == EVIDENCE:
                    st.html(evidence_html(summaries))
                elif requested == MODEL:
                    _model(setting, run, hidden)
                elif requested == sweep.SWEEP:
                    sweep.show(setting, _sweep_panel)
                elif requested == VIEW:
                    _knobs(setting, run, STAGE)
                elif requested == WHY:
                    _why(setting)
                else:
                    _drawings(setting, run, requested, training_key)
        elif requested and requested != lesson.FORMER_DRAWER:
            st.warning(
                f"There is no drawer {escape_markdown(requested)!s:.80} here; there are "
                f"{', '.join(titles)}."
            )


def _choice(setting: Setting, titles: Sequence[str], requested: str) -> None:
    """Draw the groups of the drawers called `titles`, of which each opens its first drawer, and
    below them the drawers of the group of the `requested` one, if a drawer is open."""
    by_group: dict[str, list[str]] = {}
    for group in GROUPS:
        if drawers := [title for title in titles if group_of(title) == group]:
            by_group[group] = drawers
    first_drawers = {group: drawers[0] for group, drawers in by_group.items()}
    # The keys name the beat, so that an answer that left the browser before the next beat's drawer
    # arrived does not close that drawer.
    end = st.query_params.get("beat", "")
    group = group_of(requested) if requested else ""
    with st.container(key="drawer-groups"):
        _names("More", f"{setting.id}:drawers {end}", first_drawers, group)
    if requested and by_group[group] != [group]:
        drawers = {drawer: drawer for drawer in by_group[group]}
        with st.container(key="drawer-names"):
            _names(group, f"{setting.id}:drawers {group} {end}", drawers, requested)


def _names(label: str, key: str, drawers: Mapping[str, str], shown: str) -> None:
    """Draw a row of names, each of which opens the drawer that `drawers` has for it; pressed again,
    the name `shown` closes it."""
    value = shown or None
    set_widget(key, value, list(drawers))
    st.pills(
        label,
        list(drawers),
        default=value,
        **widget_arguments(key, _choose, key, drawers),
        label_visibility="collapsed",
    )


def _choose(key: str, drawers: Mapping[str, str]) -> None:
    address.write("drawer", drawers.get(st.session_state[key] or "", ""), "")


def _numbers(setting: Setting, run: Run, cell: Cell | None) -> None:
    """Draw how one number of the stage is made and, on demand, all numbers; only these where no
    number can be explained."""
    drawings = stage_drawings(setting.experiment, run)
    explained = [drawing for drawing in drawings if drawing.explanations is not None]
    if not explained:
        return _tables(setting, run, drawings)
    with panels.report_faults("cells"):
        one_number.show(setting, run, explained, cell)
    expander = st.expander("The numbers behind every panel", key="every number", on_change="rerun")
    if expander.open:
        with expander:
            _tables(setting, run, drawings)


def _tables(setting: Setting, run: Run, drawings: Sequence[Drawing]) -> None:
    """Draw the numbers behind every panel of the stage, at the snapshot where the clock rests."""
    with st.container(key="panels"):
        for drawing in drawings:
            with (
                st.container(border=True, key=f"panel-half-{drawing.name}"),
                panels.report_faults(drawing.name),
            ):
                panel = panels.cached_panel(setting, drawing, run)
                st.subheader(panel.title, anchor=False)
                st.caption(panel.caption)
                source = panels.source_of(setting, drawing, run)
                panels.show_data(panel, f"numbers {drawing.name}", source)


def _drawings(setting: Setting, run: Run, drawer: str, training_key: str) -> None:
    """Draw the panels of a drawer, with its knobs at their left if it has any."""
    drawings = [
        drawing
        for drawing in setting.experiment.drawings
        if drawing.place == drawer and drawing.applies(run.config)
    ]
    if _fields(setting, run, drawer):
        left, right = st.columns([1, 3])
        with left, st.container(key="knobs"):
            _knobs(setting, run, drawer)
    else:
        right = st.container()
    with right, st.container(key="panels"):
        for drawing in drawings:
            width = "wide" if drawing.wide else "half"
            with (
                st.container(border=True, key=f"panel-{width}-{drawing.name}"),
                panels.report_faults(drawing.name),
            ):
                live_curves.show_live(
                    setting,
                    drawing,
                    training_key,
                    show=partial(_show_live, drawing),
                    show_former=partial(_show_panel, setting, drawing, run),
                )


def _show_panel(setting: Setting, drawing: Drawing, run: Run) -> None:
    panel = panels.cached_panel(setting, drawing, run)
    panels.show(panel, drawing.name, source=panels.source_of(setting, drawing, run))


def _show_live(drawing: Drawing, panel: Panel) -> None:
    panels.show(panel, drawing.name, live=True)


def _sweep_panel(draw: Callable[[], Panel], key: str, clicked: Callable[[], None]) -> None:
    with panels.report_faults("sweep"):
        panels.show(panels.style_panel(draw(), theme()), key, clicked=clicked)


def _fields(setting: Setting, run: Run, place: str) -> list[str]:
    """Return the view's fields that stand in a drawer; for STAGE those of the drawer VIEW.

    A field is left out if it moves only drawings that do not apply to the run; in a drawer those of
    that drawer count.
    """
    all_fields: set[str] = set()
    used_fields: set[str] = set()
    for drawing in setting.experiment.drawings:
        all_fields.update(drawing.knobs)
        if drawing.applies(run.config) and place in (STAGE, drawing.place):
            used_fields.update(drawing.knobs)
    left_out = all_fields - used_fields | {"snapshot"}
    if panels.shows_one_seed(setting.view_knobs, stage_drawings(setting.experiment, run)):
        left_out.add(FIELD)  # it stands beside the clock
    return [
        field
        for field in setting.view_knobs
        if field not in left_out
        and place in panels.drawers_of(setting.experiment, field)
        and widgets.can_move(setting, field, run)
    ]


def _knobs(setting: Setting, run: Run, place: str) -> None:
    choices = address.current_choices(setting, _fields(setting, run, place))
    if refused := address.refusal(setting, choices):
        st.warning(f"{escape_markdown(refused)}. The figure does not show it.")
    for field, value in choices.items():  # refused ones, too: the visitor must be able to move them
        widgets.draw_view(setting, field, value, run)


def _why(setting: Setting) -> None:
    """Draw what the figures do not say: the paper, what to try, the mathematics, the glossary."""
    paper = registry.papers()[setting.paper]
    st.markdown(f"{paper.title}. {paper.authors}, {paper.year}. {paper.found}")
    if paper.publication is not None:
        _publication(paper.publication)
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
    if paper.errata:
        st.subheader("Errata", anchor=False)
        st.markdown("\n".join(f"- {sentence}" for sentence in paper.errata))
    if paper.deviations:
        st.subheader("Where a protocol here is not the paper's", anchor=False)
        st.table([dict(zip(HEADS["deviations"], row, strict=True)) for row in paper.deviations])
    if paper.follow_ups:
        st.subheader("What came after", anchor=False)
        st.markdown("\n".join(f"- {_follow_up(paper, later)}" for later in paper.follow_ups))


def _publication(publication: Publication) -> None:
    """Draw which version of a paper is quoted, what later ones brought, and how to cite it."""
    date = f"{publication.date.day} {publication.date:%B %Y}"
    quoted = f"[arXiv {publication.arxiv}, version {publication.version}]({publication.url})"
    st.markdown(f"Quoted is {quoted} of {date}. {publication.later}")
    with st.popover("BibTeX"):
        st.code(publication.bibtex, language="bibtex")


def _follow_up(paper: Paper, later: FollowUp) -> str:
    """Return a later paper in a line of markdown, with the experiment that speaks to it."""
    title = registry.experiment(f"{paper.name}.{later.experiment}").title
    link = f"[{title}]({paper.name}?{urlencode({'experiment': later.experiment})})"
    return (
        f"{later.authors} ({later.year}), [{later.title}]({later.url}), arXiv {later.arxiv}. "
        f"{later.here} See {link}."
    )


MODEL = "The model"
_DIAGRAM = st.components.v2.component(
    "icl_diagram",
    html='<div class="diagram"></div>',
    css=browser_file("diagram.css"),
    js=browser_file("diagram.js"),
    isolate_styles=False,
)
_BOX_KINDS = {
    "trained": "learned in this training",
    "given": "given by you",
    "construction": "written down",
    "frozen": "random, as it began",
    "computed": "computed from the prompt",
}


def _model(setting: Setting, run: Run, hidden: Collection[str]) -> None:
    """Draw the diagram of a run's model, its matrices as they are where the clock rests, without
    those of the panels that are `hidden`."""
    if setting.experiment.diagram is None:
        return
    diagram: Diagram = setting.experiment.diagram(run.config)
    by_name = {
        drawing.name: drawing
        for drawing in setting.experiment.drawings
        if drawing.applies(run.config)
    }
    # the drawing that each box opens, by the box's name
    opened = {box.name: by_name[box.opens] for box in diagram.boxes if box.opens in by_name}
    titles = {name: _place_text(drawing) for name, drawing in opened.items()}
    pictures = {
        box.name: _box_picture(setting, run, opened[box.name], box)
        for box in diagram.boxes
        if box.part is not None and box.opens not in hidden
    }
    st.markdown(diagram.say)
    panel_names = {name: drawing.name.replace(" ", "-") for name, drawing in opened.items()}
    key = f"diagram of {setting.id}"
    _DIAGRAM(
        key=key,
        data={"svg": model_svg_text(diagram, titles, pictures), "panels": panel_names},
        on_opened_change=partial(_open_box, setting, key, opened, diagram),
    )
    kinds = dict.fromkeys(box.kind for box in diagram.boxes if box.kind in _BOX_KINDS)
    legend = "".join(f'<span class="{kind}">{_BOX_KINDS[kind]}</span>' for kind in kinds)
    st.html(f'<p class="key">{legend}</p>')
    st.caption("Click an underlined box, or press Enter on it: its panel is outlined.")


def _place_text(drawing: Drawing) -> str:
    return "its panel above" if drawing.place == STAGE else f"the drawer {drawing.place}"


def _box_picture(setting: Setting, run: Run, drawing: Drawing, box: Box) -> str:
    with panels.report_faults(drawing.name):
        box_setting = replace(setting, view=replace(setting.view, **box.view))
        figure = panels.cached_panel(box_setting, drawing, run).figure
        return picture(figure, box.part or 0, box.rows) if figure is not None else ""
    return ""


def _open_box(setting: Setting, key: str, opened: dict[str, Drawing], diagram: Diagram) -> None:
    """Outline the panel of the box that was chosen, and open its drawer."""
    name = (st.session_state.get(key) or {}).get("opened")
    box = next((box for box in diagram.boxes if box.name == name), None)
    if box is None or box.name not in opened:
        return
    base = setting.base_view
    drawing = opened[box.name]
    fields = {field: (value, getattr(base, field)) for field, value in box.view.items()}
    fields["marks"] = (drawing.name, "")
    if drawing.place != STAGE:
        fields["drawer"] = (drawing.place, "")
    address.write_all(fields)
