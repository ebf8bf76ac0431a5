"""Every claim of every paper, with what the runs measured for it."""

from itertools import groupby

import streamlit as st

from icl_core import registry
from icl_core.findings import findings
from icl_core.findings.findings import Summary
from icl_core.runs import store
from pages.ui.claims import evidence, verdicts
from pages.ui.link import same_tab_links
from pages.ui.look import menu
from pages.ui.look.escape import escape_markdown


def show() -> None:
    """Draw the page of claims."""
    menu.frame("Claims")
    st.title("What the papers claim, and what comes out here", anchor=False)
    st.markdown(
        "Each claim is tested in every run at its own setting, and counts as reproduced only if "
        "it holds in all of "
        "them. Runs at other settings stand beside it as “elsewhere”. ± is one standard error; "
        "a value within two "
        "standard errors of the limit leaves the claim undecided."
    )
    found, by_verdict = _filtered(findings.summaries(findings.collect(store.default())))
    for paper in registry.papers():
        mine = [summary for summary in found if summary.first.paper == paper]
        if mine:
            _section(paper, mine, by_verdict)
    if not found:
        st.info("No such claim has this verdict.")
    same_tab_links.listen()


def _filtered(found: list[Summary]) -> tuple[list[Summary], bool]:
    """The claims that are asked for, and whether a verdict was chosen."""
    papers = list(registry.papers())
    paper = st.pills(
        "Paper", papers, format_func=menu.short_title, selection_mode="multi", key="claims: paper"
    )
    present = [
        verdict
        for verdict in verdicts.MARKS
        if any(summary.verdict == verdict for summary in found)
    ]
    verdict = st.pills(
        "Verdict",
        present,
        format_func=verdicts.mark_verdict,
        selection_mode="multi",
        key="claims: verdict",
    )
    kept = [
        one
        for one in found
        if one.first.paper in (paper or papers) and one.verdict in (verdict or present)
    ]
    return kept, bool(verdict)


def _section(paper: str, found: list[Summary], by_verdict: bool) -> None:
    """Grouped by experiment, as there are too many for one list; open if `by_verdict`."""
    st.header(menu.short_title(paper), anchor=False)
    ids = registry.experiment_ids()
    by_place = sorted(
        found, key=lambda summary: ids.index(summary.first.experiment)
    )  # stable: failing ones first
    for id, own in groupby(by_place, key=lambda summary: summary.first.experiment):
        own = list(own)
        title = (
            f"**{escape_markdown(registry.experiment(id).title)}** · {verdicts.counts_text(own)}"
        )
        with st.expander(title, expanded=by_verdict, key=f"claims of {id}, {by_verdict}"):
            evidence.show(own)
            menu.link(paper, "See the figures", {"experiment": id.partition(".")[2]})
