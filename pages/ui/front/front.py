"""The front page. It reads shipped runs without importing their experiments, hence without
torch."""

import streamlit as st

from icl_core import figures, registry
from icl_core.contract.experiment import Paper
from icl_core.contract.figure import Figure
from icl_core.evidence import measurements
from icl_core.runs import store
from pages.ui.claims import verdicts
from pages.ui.front import opening, tour_end
from pages.ui.link import same_tab_links
from pages.ui.look import menu
from pages.ui.look.chart import show_chart
from pages.ui.look.escape import escape_markdown
from pages.ui.look.memory_fault import say_if_memory_ends
from pages.ui.look.style import is_dark
from pages.ui.story import tour

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
        opening.show(first)
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
    verdicts.bars({menu.short_title(name): counts.get(name, {}) for name in registry.papers()})
    menu.link("claims", "All claims, and what was measured")
