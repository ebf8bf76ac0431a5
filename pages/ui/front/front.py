"""The front page, with a film of a shipped run at its top. It reads shipped runs without importing
their experiments, hence without torch."""

from dataclasses import replace
from typing import NamedTuple

import streamlit as st

from icl_core import figures, registry
from icl_core.contract.experiment import CannotDraw, Opening, Panel, Paper, Run
from icl_core.contract.figure import Figure
from icl_core.evidence import measurements, verdicts
from icl_core.figures.frames import tag_figure
from icl_core.runs import store
from icl_core.share.stage_films import packed, states_message
from pages.ui.front import tour_end
from pages.ui.link import same_tab_links
from pages.ui.look import menu
from pages.ui.look.chart import seat_chart, show_chart
from pages.ui.look.escape import escape_markdown
from pages.ui.look.memory_fault import say_if_memory_ends
from pages.ui.look.style import is_dark
from pages.ui.stage import playback
from pages.ui.story import tour

_CLOCK = "clock of the front page"
_WHAT = """
A trained model can pick up a new pattern from its input alone, while none of its weights change.
This is **in-context learning**. Here you train small models that do it, and look inside them.
"""


@say_if_memory_ends
def show() -> None:
    """Draw the front page, or the end of the tour that its address names."""
    if tour.stops(st.query_params.get(tour.END, "")):
        tour_end.show(st.query_params[tour.END])
        return
    menu.frame("Start")
    st.title("How models learn in context", anchor=False)
    st.markdown(_WHAT)
    for message in store.default().messages():
        st.warning(escape_markdown(message))
    papers = registry.papers()
    first = next((paper.name for paper in papers.values() if paper.opening), None)
    if first is not None:
        _show_opening(first)
    with st.container(key="cards"):
        for paper in papers.values():
            _card(paper)
    _verdicts()
    same_tab_links.listen()


def _card(paper: Paper) -> None:
    """Draw a paper's card: what it found, a picture, a link to its page."""
    with st.container(border=True, key=f"card-{paper.name}"):
        st.subheader(menu.short_title(paper.name), anchor=False)
        st.markdown(paper.found)
        _picture(paper)
        menu.link(paper.name, f"Open {menu.short_title(paper.name)}")


def _picture(paper: Paper) -> None:
    """Draw the paper's picture from its shipped run, or say that the run is not built."""
    if paper.picture is None:
        return
    header = store.default().preset(*paper.picture[:2])
    drawing = _draw_picture(header.digest, is_dark(), paper.name, header) if header else None
    if drawing is None:
        if header:  # a damaged run that is built again has the same digest: None must not stay
            _draw_picture.clear(header.digest, is_dark(), paper.name, header)
        st.caption("The picture appears once its run is built: `python -m icl_core build`.")
        return
    title, caption, figure = drawing
    with st.container(key=f"picture-{paper.name}"):
        show_chart(figure, f"picture {paper.name}", f"{title}. {caption}")


@st.cache_resource(max_entries=20, show_spinner=False)
def _draw_picture(
    digest: str, dark: bool, paper: str, _header: store.Header
) -> tuple[str, str, Figure] | None:
    """Return the picture's title, caption and figure; None if the run's file is damaged."""
    picture = registry.papers()[paper].picture
    run = store.default().load(_header, typed=False)
    if run is None or picture is None:
        return None
    panel = picture[2](run)
    if panel.figure is None:
        return None
    return panel.title.rstrip("."), panel.caption, figures.themed(panel.figure, dark)


def _verdicts() -> None:
    """Draw the verdicts on the claims in the shipped runs, a bar for each paper."""
    st.header("What the papers claim, and what comes out here", anchor=False)
    counts = measurements.counts(store.default())
    by_title = {menu.short_title(name): counts.get(name, {}) for name in registry.papers()}
    st.html(verdicts.bars(by_title))
    menu.link("claims", "All claims, and what was measured")


class _Seat(NamedTuple):
    """A panel of the film: its name, what it shows at each snapshot, the same for the browser."""

    name: str
    panels: list[Panel]
    states: bytes


class _Film(NamedTuple):
    """A film: its name, the training steps of its snapshots, a headline for each, its panels."""

    name: str
    steps: list[int]
    headlines: list[str]
    seats: list[_Seat]


@st.fragment
@say_if_memory_ends
def _show_opening(paper: str) -> None:
    """Draw the opening of a paper, or why it cannot be shown."""
    opening = registry.papers()[paper].opening
    if opening is None:
        return
    with st.container(key="opening"):
        with st.container(key="opening-words"):
            st.header(opening.title, anchor=False)
            st.markdown(opening.say)
            experiment, preset = opening.run
            query = {"experiment": experiment.partition(".")[2], "preset": preset}
            tour.offer(tour.ALL, primary=True)
            menu.link(paper, "Open the experiment", query)
            menu.link("gallery", "Gallery of all findings")
            if registry.lessons():
                menu.link("lessons", "Lessons, ready to teach")
        with st.container(key="opening-film"):
            _show_film(paper, opening)


def _show_film(paper: str, opening: Opening) -> None:
    """Draw the film of the opening's run, or why it cannot be shown."""
    header = store.default().preset(*opening.run)
    try:
        film = _draw_film(header.digest, is_dark(), paper, header) if header else None
    except CannotDraw as problem:
        st.caption(f"The film cannot be shown: {escape_markdown(problem)}.")
        return
    if film is None:
        if header:  # a damaged run that is built again has the same digest: None must not stay
            _draw_film.clear(header.digest, is_dark(), paper, header)
        st.caption("The film appears once its run is built: `python -m icl_core build`.")
        return
    _play(film)


def _play(film: _Film) -> None:
    """Draw the clock and the panels of a film."""
    last = len(film.steps) - 1
    step = playback.resting_step(_CLOCK)
    index = film.steps.index(step) if step in film.steps else last
    playback.show_clock(
        _CLOCK,
        film.name,
        film.steps,
        film.headlines,
        index,
        lambda: None,
        playback.ClockOptions(play=True),
    )
    # a browser that can move the charts brings them from the last snapshot to the clock's
    drawn = index if playback.is_unavailable(_CLOCK) else last
    with st.container(key=f"stage-1x{len(film.seats)}"):
        for seat in film.seats:
            with st.container(key=f"seat-{seat.name}"):
                seat_chart(seat.panels[drawn], seat.name)
                playback.send_states(seat.name, seat.states)


@st.cache_resource(max_entries=4, show_spinner=False)
def _draw_film(digest: str, dark: bool, paper: str, _header: store.Header) -> _Film | None:
    """Return the film of a paper's opening; None if the run's file is damaged."""
    opening = registry.papers()[paper].opening
    run = store.default().load(_header, typed=False)
    if run is None or opening is None:
        return None
    name = f"{digest[:16]} {'dark' if dark else 'light'}"
    headlines = [opening.headline(run, index) for index in range(len(run.snapshot_steps))]
    seats = [_draw_seat(name, panel_name, run, opening, dark) for panel_name in opening.panels]
    return _Film(name, run.snapshot_steps, headlines, seats)


def _draw_seat(film: str, name: str, run: Run, opening: Opening, dark: bool) -> _Seat:
    """Return a panel of the film at each snapshot."""
    panels: list[Panel] = []
    for index in range(len(run.snapshot_steps)):
        panel = opening.panels[name](run, index)
        figure = panel.figure and figures.themed(panel.figure, dark)
        panels.append(tag_figure(replace(panel, figure=figure), film, index))
    return _Seat(name, panels, packed(states_message(name, film, film, panels)))
