"""Every claim of every paper, with what the runs measured for it."""

from collections.abc import Iterable
from html import escape

import streamlit as st

from icl_core import findings, registry
from icl_core.findings import Finding, Summary
from icl_core.runs import store
from pages.ui import menu, verdicts


def show() -> None:
    """Draw the page of claims."""
    menu.frame("Claims")
    st.title("What the papers claim, and what comes out here", anchor=False)
    st.markdown(
        "A claim gets its verdict from the runs at the setting it speaks of: it is reproduced if it is in all of them. "
        "Runs at other settings stand beside as “elsewhere”."
    )
    found = _filtered(findings.summaries(findings.collect(store.default())))
    for paper in registry.papers():
        mine = [summary for summary in found if summary.first.paper == paper]
        if mine:
            _section(paper, mine)
    if not found:
        st.info("No claim has this verdict.")


def _filtered(found: list[Summary]) -> list[Summary]:
    papers = list(registry.papers())
    paper = st.pills("Paper", papers, format_func=menu.short_title, selection_mode="multi", key="claims: paper")
    present = [verdict for verdict in verdicts.MARKS if any(summary.verdict == verdict for summary in found)]
    verdict = st.pills("Verdict", present, selection_mode="multi", key="claims: verdict")
    return [one for one in found if one.first.paper in (paper or papers) and one.verdict in (verdict or present)]


def _section(paper: str, found: list[Summary]) -> None:
    st.header(menu.short_title(paper), anchor=False)
    st.html(f'<ul class="claims">{"".join(_row(summary) for summary in found)}</ul>')
    menu.link(paper, "See the figures")


def _row(summary: Summary) -> str:
    claim = summary.first.metric.claim
    mark = f"{verdicts.MARKS[summary.verdict]} {summary.verdict}"
    elsewhere = f"; elsewhere: {_values(summary.elsewhere)}" if summary.elsewhere else ""
    values = f"{_values(summary.here) or 'not run at its setting'}{elsewhere}"
    reasons = dict.fromkeys(filter(None, (verdicts.why(finding.metric) for finding in summary.here)))
    why = f"<br>Why: {escape(' '.join(reasons))}" if reasons else ""
    return (
        f"<li><strong>{escape(mark)}</strong><p>{escape(claim.text)}</p>"
        f'<p class="more">{escape(verdicts.origin(claim))}<br>'
        f"{escape(claim.label)}: {escape(values)} · {escape(verdicts.promised(claim))}{why}</p></li>"
    )


def _values(found: Iterable[Finding]) -> str:
    return "; ".join(
        f"{verdicts.measured(finding.metric)} in {', '.join(finding.presets) or f'run {finding.header.key[:6]}'}"
        for finding in found
        if finding.header
    )
