"""Every claim of every paper, with what the runs measured for it."""

import streamlit as st

from icl_core import findings, registry
from icl_core.findings import Summary
from icl_core.runs import store
from pages.ui import menu, stays, verdicts


def show() -> None:
    """Draw the page of claims."""
    menu.frame("Claims")
    st.title("What the papers claim, and what comes out here", anchor=False)
    st.markdown(
        "Each claim is tested in every run at its own setting, and counts as reproduced only if it holds in all of "
        "them. Runs at other settings stand beside it as “elsewhere”. ± is one standard error; a value within two of "
        "them from the limit does not decide the claim."
    )
    found = _filtered(findings.summaries(findings.collect(store.default())))
    for paper in registry.papers():
        mine = [summary for summary in found if summary.first.paper == paper]
        if mine:
            _section(paper, mine)
    if not found:
        st.info("No claim has this verdict.")
    stays.listen()


def _filtered(found: list[Summary]) -> list[Summary]:
    papers = list(registry.papers())
    paper = st.pills("Paper", papers, format_func=menu.short_title, selection_mode="multi", key="claims: paper")
    present = [verdict for verdict in verdicts.MARKS if any(summary.verdict == verdict for summary in found)]
    verdict = st.pills("Verdict", present, selection_mode="multi", key="claims: verdict")
    return [one for one in found if one.first.paper in (paper or papers) and one.verdict in (verdict or present)]


def _section(paper: str, found: list[Summary]) -> None:
    st.header(menu.short_title(paper), anchor=False)
    verdicts.evidence(found)
    menu.link(paper, "See the figures")
