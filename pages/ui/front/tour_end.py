"""The end of a tour: what was seen, the visitor's own answers, and where to go on."""

import streamlit as st

from icl_core import registry
from icl_core.contract.story import Try
from icl_core.share import gallery
from pages.ui.controls import experiments
from pages.ui.front.gallery import CSS
from pages.ui.link import address, same_tab_links
from pages.ui.look import menu
from pages.ui.look.escape import escape_markdown
from pages.ui.story import prediction, tour

_HABIT = (
    "Three models, one habit. Each finds in its prompt what its weights cannot hold: one looks it "
    "up, one walks towards it layer by layer, one adds it up as it reads."
)


def show(name: str) -> None:
    """Draw the end of the tour called `name`."""
    menu.frame("What you have seen")
    st.html(f"<style>{CSS}</style>")
    st.title("What you have seen", anchor=False)
    if name == tour.ALL:
        st.markdown(_HABIT)
    with st.container(key="go-on", horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown("**Go on:**", width="content")
        _own_sequence()
        menu.link("gallery", "See all findings in the gallery")
        menu.link("lessons", "Do a lesson, with exercises")
    with st.container(key="gallery-seen"):
        for paper, experiment in dict.fromkeys(stop[:2] for stop in tour.stops(name)):
            _finding(paper, experiment)
    same_tab_links.listen()


def _finding(paper: str, experiment: str) -> None:
    """Draw what an experiment has shown: its picture, a sentence, the visitor's own answers."""
    id = f"{paper}.{experiment}"
    card = gallery.card(id)
    with st.container(border=True, key=f"finding-{paper}-{experiment}", gap="xsmall"):
        menu.link(paper, card.title if card else experiment, {"experiment": experiment})
        if card is not None:
            st.html(experiments.picture(id, card))
            st.markdown(escape_markdown(card.seen))
        for outcome in prediction.outcomes(id):
            st.caption(escape_markdown(outcome))


def _own_sequence() -> None:
    """Draw the link to what an opening proposes to try oneself."""
    for paper in registry.papers().values():
        if paper.opening is not None and paper.opening.own is not None:
            own: Try = paper.opening.own
            query = {"experiment": paper.opening.run[0].partition(".")[2]}
            query |= {field: address.value_text(value) for field, value in own.fields.items()}
            menu.link(paper.name, own.say, query)
            return
