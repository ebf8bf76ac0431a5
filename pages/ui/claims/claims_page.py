"""The page of claims: every claim of every paper, with its verdict and its evidence."""

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
from pages.ui.look.memory_fault import say_if_memory_ends


@say_if_memory_ends
def show() -> None:
    """Draw the page of claims."""
    menu.frame("Claims")
    st.title("What the papers claim, and what comes out here", anchor=False)
    st.markdown(
        "Each claim is tested in every run at its own setting, and counts as reproduced only if "
        "it holds in all of them. Runs at other settings stand beside it as “elsewhere”; where "
        "there are no others it is called “toy”. ± is one standard error. A value that is not on "
        "one side of the limit with 95% confidence (Student's t) leaves the claim undecided: of "
        "three seeds it must be 4.3 standard errors away, of five 2.8."
    )
    summaries, by_verdict = _filtered(findings.summaries(findings.collect(store.default())))
    for paper in registry.papers():
        of_paper = [summary for summary in summaries if summary.first.paper == paper]
        if of_paper:
            _section(paper, of_paper, by_verdict)
    if not summaries:
        st.info("No such claim has this verdict.")
    same_tab_links.listen()


def _filtered(summaries: list[Summary]) -> tuple[list[Summary], bool]:
    """Draw the two filters; return the claims that pass them and whether a verdict was chosen."""
    all_papers = list(registry.papers())
    papers = st.pills(
        "Paper",
        all_papers,
        format_func=menu.short_title,
        selection_mode="multi",
        key="claims: paper",
    )
    present = {summary.verdict for summary in summaries}
    all_verdicts = [verdict for verdict in verdicts.MARKS if verdict in present]
    chosen_verdicts = st.pills(
        "Verdict",
        all_verdicts,
        format_func=verdicts.mark_verdict,
        selection_mode="multi",
        key="claims: verdict",
    )
    filtered = [
        summary
        for summary in summaries
        if summary.first.paper in (papers or all_papers)
        and summary.verdict in (chosen_verdicts or all_verdicts)
    ]
    return filtered, bool(chosen_verdicts)


def _section(paper: str, summaries: list[Summary], expanded: bool) -> None:
    """Draw a paper's claims, an expander for each experiment; `expanded` opens all of them."""
    st.header(menu.short_title(paper), anchor=False)
    st.markdown(verdicts.summary_line(summaries))
    ids = registry.experiment_ids()
    # the sort is stable, so within an experiment failing claims stay first
    ordered = sorted(summaries, key=lambda summary: ids.index(summary.first.experiment))
    for id, group in groupby(ordered, key=lambda summary: summary.first.experiment):
        members = list(group)
        experiment_title = escape_markdown(registry.experiment(id).title)
        label = f"**{experiment_title}** · {verdicts.summary_line(members)}"
        with st.expander(label, expanded=expanded, key=f"claims of {id}, {expanded}"):
            evidence.show(members)
            menu.link(paper, "See the figures", {"experiment": id.partition(".")[2]})
