"""The choice of an experiment: a panel with a picture and a sentence of each, in the order of the
paper's story, that can be searched and walked by keys (browser/experiments.js)."""

from base64 import b64encode
from collections.abc import Collection
from html import escape
from urllib.parse import urlencode

import streamlit as st

from icl_core.contract.experiment import Paper
from icl_core.share import gallery
from icl_core.share.gallery import HEIGHT, WIDTH, Card
from pages.ui.link import address
from pages.ui.look.style import is_dark

_SEEN = "experiments seen"  # in the session: their ids


@st.fragment
def choose(paper: Paper, shown: str) -> None:
    """Draw the button with the title of the experiment called `shown`, which opens the panel. A
    choice closes it, as it stands in links (browser/stays.js)."""
    seen = st.session_state.setdefault(_SEEN, set())
    seen.add(f"{paper.name}.{shown}")
    title = gallery.title(f"{paper.name}.{shown}")
    panel = st.popover(title, key=f"experiments of {paper.name}", width=340, on_change="rerun")
    if panel.open:
        with panel:
            st.html(_panel(paper, shown, seen))


def picture(experiment_id: str, card: Card) -> str:
    """Return a card's picture in the visitor's theme as HTML; empty if there is none."""
    content = gallery.picture(experiment_id, is_dark())
    if content is None:
        return ""
    return (
        f'<img src="data:image/webp;base64,{b64encode(content).decode()}" '
        f'alt="{escape(card.shows)}" width="{WIDTH}" height="{HEIGHT}">'
    )


def _panel(paper: Paper, shown: str, seen: Collection[str]) -> str:
    """Return the panel as HTML: a field to search in, and the experiments by their place in the
    story."""
    first, *others = paper.experiments
    places = {
        "First": [first],
        "Then": [name for name in others if name not in paper.beyond],
        "Beyond": [name for name in others if name in paper.beyond],
    }
    sections = "".join(
        f"<section><h4>{place}</h4>{''.join(_link(paper, name, shown, seen) for name in names)}"
        "</section>"
        for place, names in places.items()
        if names
    )
    label = 'aria-label="Search the experiments" placeholder="Search"'
    none = '<p hidden role="status">No experiment has all of these words.</p>'
    return f'<div class="experiments"><input type="search" {label}>{none}{sections}</div>'


def _link(paper: Paper, name: str, shown: str, seen: Collection[str]) -> str:
    """Return the link to an experiment: its picture, its title, and what it finds."""
    experiment_id = f"{paper.name}.{name}"
    card = gallery.card(experiment_id)
    query = urlencode(address.lasting_query() | {"experiment": name})
    mark = "on screen" if name == shown else "✓ seen" if experiment_id in seen else ""
    says = f"<span>{escape(card.says)}</span>" if card else ""
    return (
        f'<a href="{paper.name}?{escape(query)}" target="_self" data-stays'
        f"{' aria-current=page' if name == shown else ''}>"
        f"{picture(experiment_id, card) if card else ''}"
        f"<b>{escape(gallery.title(experiment_id))}</b>{says}<i>{mark}</i></a>"
    )
