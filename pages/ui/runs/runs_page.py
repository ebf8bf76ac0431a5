"""The page of runs: trainings under way, all runs as one table, and what visitors gave."""

import streamlit as st

from icl_core.evidence import run_table
from icl_core.machine import limits
from icl_core.runs import store
from pages.ui.link import same_tab_links, visitors
from pages.ui.look import menu
from pages.ui.look.escape import escape_markdown
from pages.ui.look.memory_fault import say_if_memory_ends
from pages.ui.runs import give_run, given_documents, jobs_list, run_filters, run_list


@say_if_memory_ends
def show() -> None:
    """Draw the page of runs."""
    menu.frame("Runs")
    st.title("Runs", anchor=False)
    for message in store.default().messages():
        st.warning(escape_markdown(message))
    made_here = store.default().keys_made_here()
    rows = run_table.all_rows(store.default())
    if not limits.read_only():
        st.header("In training", anchor=False)
        if not visitors.is_at_machine():
            st.markdown("You can cancel and delete what you have asked for.")
        jobs_list.show(made_here)
    with st.container(horizontal=True, vertical_alignment="center", key="all-runs"):
        st.header("All runs", anchor=False)
        if not limits.read_only():
            give_run.show()
    choice = run_filters.read()
    run_filters.draw(choice, rows)
    run_list.show(choice, rows)
    if not limits.read_only():
        own = [row for row in rows if row.header.origin == "local"]
        given_documents.show({run_list.line(row): row.header.config for row in own})
    same_tab_links.listen()
