"""What plays on top of the front page: the film of a shipped run, drawn without its experiment,
hence without torch."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from icl_core import figures, registry
from icl_core.contract.experiment import CannotDraw, Opening, Panel, Run
from icl_core.runs import store
from pages.ui.look import menu
from pages.ui.look.chart import seat_chart
from pages.ui.look.escape import escape_markdown
from pages.ui.look.style import is_dark
from pages.ui.stage import playback
from pages.ui.story import tour

_KEY = "clock of the front page"
_Seat = tuple[
    str, list[Panel], bytes
]  # a panel's name, what it shows at each snapshot, the same for the browser


@st.fragment
def show(paper: str) -> None:
    """Play the opening of a paper, or say why there is none to be seen."""
    opening = registry.papers()[paper].opening
    if opening is None:
        return
    with st.container(key="opening"):
        with st.container(key="opening-words"):
            st.header(opening.title, anchor=False)
            st.markdown(opening.say)
            experiment, preset = opening.run
            query = {"experiment": experiment.partition(".")[2], "preset": preset}
            menu.link(paper, "Open the experiment", query)
            tour.offer(tour.ALL)
            if registry.lessons():
                menu.link("lessons", "Lessons, ready to teach")
        with st.container(key="opening-film"):
            _film(paper, opening)


def _film(paper: str, opening: Opening) -> None:
    header = store.default().preset(*opening.run)
    try:
        found = _drawn(header.digest, is_dark(), paper, header) if header else None
    except CannotDraw as problem:
        st.caption(f"The film cannot be shown: {escape_markdown(problem)}.")
        return
    if found is None:
        if header:  # built again, the run has the same digest
            _drawn.clear(header.digest, is_dark(), paper, header)
        st.caption("The film appears once its run is built: `python -m icl_core build`.")
        return
    _play(*found)


def _play(name: str, steps: list[int], said: list[str], seats: Sequence[_Seat]) -> None:
    last, rests = len(steps) - 1, playback.resting_step(_KEY)
    at = steps.index(rests) if rests in steps else last
    playback.show_clock(_KEY, name, steps, said, at, lambda: None, playback.ClockOptions(play=True))
    drawn = (
        at if playback.is_unavailable(_KEY) else last
    )  # the browser brings it to where the clock rests, if it can
    with st.container(key=f"stage-1x{len(seats)}"):
        for seat, panels, states in seats:
            with st.container(key=f"seat-{seat}"):
                seat_chart(panels[drawn], seat)
                playback.send_states(seat, states)


@st.cache_resource(max_entries=4, show_spinner=False)
def _drawn(
    digest: str, dark: bool, paper: str, _header: store.Header
) -> tuple[str, list[int], list[str], list[_Seat]] | None:
    """The film's name, its steps, what is said at each, and its panels; None if the run's file is
    damaged."""
    opening, run = registry.papers()[paper].opening, store.default().load(_header, typed=False)
    if run is None or opening is None:
        return None
    name, count = f"{digest[:16]} {'dark' if dark else 'light'}", range(len(run.snapshot_steps))
    said = [opening.headline(run, index) for index in count]
    return (
        name,
        run.snapshot_steps,
        said,
        [_seat(name, each, run, opening, dark) for each in opening.panels],
    )


def _seat(film: str, name: str, run: Run, opening: Opening, dark: bool) -> _Seat:
    shown = [opening.panels[name](run, index) for index in range(len(run.snapshot_steps))]
    shown = [
        replace(each, figure=each.figure and figures.themed(each.figure, dark)) for each in shown
    ]
    shown = [playback.tag_figure(each, film, index) for index, each in enumerate(shown)]
    return name, shown, playback.pack_states(name, film, film, shown)
