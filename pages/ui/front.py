"""The front page. Reads shipped runs without their experiments, hence without torch."""

from collections.abc import Mapping

import streamlit as st

from icl_core import figures, findings, registry
from icl_core.experiment import Paper
from icl_core.runs import store
from pages.ui import menu, verdicts
from pages.ui.chart import chart
from pages.ui.plain import plain
from pages.ui.style import is_dark

_WHAT = """
A trained model meets examples it has never seen, in its input alone, and answers the next one as if it had learned
from them: this is **in-context learning**, and no weight changes while it happens. The papers below find small models
in which the mechanism can be read off the weights. Here you choose a setting, train the model, watch the mechanism
form, and see what was measured beside what the paper says.
"""


def show() -> None:
    """Draw the front page."""
    menu.frame("Start")
    st.title("How models learn in context", anchor=False)
    st.markdown(_WHAT)
    for message in store.default().messages():
        st.warning(plain(message))
    with st.container(key="cards"):
        for paper in registry.papers().values():
            _card(paper)
    _glance()


def _card(paper: Paper) -> None:
    with st.container(border=True, key=f"card-{paper.name}"):
        st.subheader(paper.title, anchor=False)
        st.caption(f"{paper.authors}, {paper.year}")
        st.markdown(paper.found)
        _picture(paper)
        menu.link(paper.name, f"Explore: {menu.short_title(paper.name)}")


def _picture(paper: Paper) -> None:
    if paper.picture is None:
        return
    header = store.default().preset(*paper.picture[:2])
    drawn = _drawn(header.digest, is_dark(), paper.name, header) if header else None
    if drawn is None:
        if header:  # built again, the run has the same digest
            _drawn.clear(header.digest, is_dark(), paper.name, header)
        st.caption("The picture appears once its run is built: `python -m icl_core build`.")
        return
    title, caption, figure = drawn
    chart(figure, f"picture {paper.name}", title)
    st.caption(f"{title}. {caption}")


@st.cache_resource(max_entries=20, show_spinner=False)
def _drawn(digest: str, dark: bool, paper: str, _header: store.Header) -> tuple | None:
    picture = registry.papers()[paper].picture
    run = store.default().load(_header, typed=False)
    panel = picture[2](run) if run and picture else None
    if panel is None or panel.figure is None:
        return None
    return panel.title.rstrip("."), panel.caption, figures.themed(panel.figure, dark)


def _glance() -> None:
    """How the claims fared, from the shipped runs: the paper's own first."""
    st.header("The claims at a glance", anchor=False)
    counted = findings.counts(store.default())
    for name, paper in registry.papers().items():
        kinds = [_kind(kind, counted.get(name, {}).get(kind, {})) for kind in verdicts.KINDS]
        st.markdown(f"**{paper.title.split(':')[0]}**: {'; '.join(filter(None, kinds)) or 'no run yet'}")
    menu.link("claims", "All claims, with what was measured")


def _kind(kind: str, counts: Mapping[str, int]) -> str:
    told = [f"{verdicts.MARKS[v]} {counts[v]} {v}" for v in sorted(counts, key=findings.rank, reverse=True)]
    return f"{verdicts.KINDS[kind].lower()}: {' · '.join(told)}" if told else ""
