"""Every claim of every paper, with what the runs measured for it."""

from itertools import groupby

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
    found, chosen = _filtered(findings.summaries(findings.collect(store.default())))
    for paper in registry.papers():
        mine = [summary for summary in found if summary.first.paper == paper]
        if mine:
            _section(paper, mine, chosen)
    if not found:
        st.info("No claim has this verdict.")
    stays.listen()


def _filtered(found: list[Summary]) -> tuple[list[Summary], bool]:
    """The claims that are asked for, and whether by verdict."""
    papers = list(registry.papers())
    paper = st.pills("Paper", papers, format_func=menu.short_title, selection_mode="multi", key="claims: paper")
    present = [verdict for verdict in verdicts.MARKS if any(summary.verdict == verdict for summary in found)]
    verdict = st.pills("Verdict", present, format_func=verdicts.marked, selection_mode="multi", key="claims: verdict")
    kept = [one for one in found if one.first.paper in (paper or papers) and one.verdict in (verdict or present)]
    return kept, bool(verdict)


def _section(paper: str, found: list[Summary], chosen: bool) -> None:
    """By experiment, in the order of its page, as they are more than one looks through; open where `chosen`."""
    st.header(menu.short_title(paper), anchor=False)
    ids = registry.experiment_ids()
    by_place = sorted(found, key=lambda summary: ids.index(summary.first.experiment))  # stable: failing ones first
    for id, own in groupby(by_place, key=lambda summary: summary.first.experiment):
        own = list(own)
        title = f"**{registry.experiment(id).title}** · {verdicts.counted(own)}"
        with st.expander(title, expanded=chosen, key=f"claims of {id}, {chosen}"):
            verdicts.evidence(own)
            menu.link(paper, "See the figures", {"experiment": id.partition(".")[2]})
