"""Links to the page that compares runs: from a run to its neighbours, and from runs chosen in a
table."""

from collections.abc import Sequence

import streamlit as st

from icl_core.comparison import chosen_runs
from icl_core.runs import store
from icl_core.runs.header import Header
from pages.ui.look import menu
from pages.ui.look.escape import escape_markdown

OFFERED = 8  # neighbours of a run
MOST_SAID = 2  # differing settings that a link names; one with more names the run
PAGE = "compare"


def fields(headers: Sequence[Header]) -> dict[str, str]:
    """Return the fields of the address that compares these runs, of one experiment."""
    return {"experiment": headers[0].experiment, "runs": chosen_runs.to_text(headers)}


def offer(header: Header) -> None:
    """Draw the menu "Compare with …": the runs nearest to this one, each a link."""
    popover = st.popover(
        "Compare …",
        help="This run beside another one, under one clock",
        key="compare with",
        on_change="rerun",  # the neighbours are looked for once they are asked for
    )
    if popover.open:
        with popover:
            st.markdown("**Compare with**")
            links(header, [header])
            menu.link(PAGE, "another run …", fields([header]))


def links(header: Header, chosen: Sequence[Header]) -> None:
    """Draw a link to each of the nearest runs of `header`, which adds it to the `chosen` ones."""
    keys = {run.key for run in chosen}
    nearest = chosen_runs.nearest(store.default(), header)
    neighbours = [neighbour for neighbour in nearest if neighbour.header.key not in keys]
    for neighbour in neighbours[:OFFERED]:
        query = fields([*chosen, neighbour.header])
        label = neighbour.differs
        if neighbour.count > MOST_SAID:
            title = chosen_runs.title_of(neighbour.header)
            label = f"{title} ({neighbour.count} settings differ)"
        menu.link(PAGE, escape_markdown(label), query)
    if not neighbours:
        st.markdown("There is no other run of this experiment yet.")
