"""The gallery: what each experiment finds, in a sentence and a picture.

It reads what was made when the runs were built, and needs neither torch nor the runs.
"""

import streamlit as st

from icl_core import registry
from icl_core.contract.experiment import Paper
from icl_core.figures.frames import browser_file
from icl_core.share import gallery
from pages.ui.controls import experiments
from pages.ui.link import same_tab_links
from pages.ui.look import menu
from pages.ui.look.escape import escape_markdown
from pages.ui.look.memory_fault import say_if_memory_ends

CSS = browser_file("gallery.css")


@say_if_memory_ends
def show() -> None:
    """Draw the page of the gallery."""
    menu.frame("Gallery")
    st.html(f"<style>{CSS}</style>")
    count = sum(len(paper.experiments) for paper in registry.papers().values())
    st.title(f"{count} findings, a picture each", anchor=False)
    st.markdown(
        "Each card is one experiment: what its trained model shows, computed from the run that "
        "comes with the app. Open a card to play the training, move the sliders and train your own."
    )
    for paper in registry.papers().values():
        st.header(menu.short_title(paper.name), anchor=False)
        st.markdown(paper.found)
        with st.container(key=f"gallery-{paper.name}"):
            for experiment in paper.experiments:
                _card(paper, experiment)
    same_tab_links.listen()


def _card(paper: Paper, experiment: str) -> None:
    """Draw an experiment's card, all of which is a link; if it is not built, only its link."""
    experiment_id = f"{paper.name}.{experiment}"
    card = gallery.card(experiment_id)
    with st.container(border=True, key=f"finding-{paper.name}-{experiment}", gap="xsmall"):
        title = card.title if card else experiment
        menu.link(paper.name, title, {"experiment": experiment})
        if card is None:
            st.caption("Its picture appears once its run is built: `python -m icl_core build`.")
            return
        st.html(experiments.picture(experiment_id, card))
        st.markdown(escape_markdown(card.says))
