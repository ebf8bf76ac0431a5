"""Every claim of every paper, with what the runs measured for it."""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

import streamlit as st

from icl_core import findings, registry
from icl_core.findings import Finding
from icl_core.runs import store
from pages.ui import menu, verdicts


@dataclass(frozen=True)
class Judged:
    """One claim of one paper, with all that was measured for it."""

    paper: str
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> str:
        """The least favourable one among the runs."""
        return min((finding.metric.verdict for finding in self.findings), key=verdicts.rank)


def judged(findings: Iterable[Finding]) -> list[Judged]:
    """The findings by claim, failing first. Runs made here count only where no shipped run measured the claim."""
    found: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        found.setdefault((finding.paper, finding.metric.claim.id), []).append(finding)
    made = [Judged(paper, tuple(_shipped(group) or group)) for (paper, _), group in found.items()]
    return sorted(made, key=lambda claim: verdicts.rank(claim.verdict))


def _shipped(group: list[Finding]) -> list[Finding]:
    return [finding for finding in group if finding.header and finding.header.origin == "shipped"]


def show() -> None:
    """Draw the page of claims."""
    menu.frame("Claims")
    st.title("What the papers claim, and what comes out here", anchor=False)
    st.markdown(
        "Each claim is measured in every run that can bear it out. It counts as reproduced if it is in all of them."
    )
    found = _filtered(judged(findings.collect(store.default())))
    for paper in registry.papers():
        mine = [claim for claim in found if claim.paper == paper]
        if mine:
            _section(paper, mine)
    if not found:
        st.info("No claim has this verdict.")


def _filtered(found: list[Judged]) -> list[Judged]:
    papers = list(registry.papers())
    paper = st.pills("Paper", papers, format_func=menu.short_title, selection_mode="multi", key="claims: paper")
    verdict = st.pills("Verdict", list(verdicts.MARKS), selection_mode="multi", key="claims: verdict")
    kept = [claim for claim in found if not paper or claim.paper in paper]
    return [claim for claim in kept if not verdict or claim.verdict in verdict]


def _section(paper: str, found: list[Judged]) -> None:
    st.header(menu.short_title(paper), anchor=False)
    st.html(f'<ul class="claims">{"".join(_row(claim) for claim in found)}</ul>')
    page = menu.page_of(paper)
    if page:
        st.page_link(page, label="See the figures")


def _row(judged: Judged) -> str:
    metric = judged.findings[0].metric
    mark = f"{verdicts.MARKS[judged.verdict]} {judged.verdict}"
    values = "; ".join(_value(finding) for finding in judged.findings)
    promised = f"{verdicts.promised(metric)} ({metric.claim.source})"
    why = f"<br>Why it may differ: {escape(metric.claim.reason)}" if metric.claim.reason else ""
    return (
        f"<li><strong>{escape(mark)}</strong><p>{escape(metric.claim.text)}</p>"
        f'<p class="more">{escape(metric.claim.label)}: {escape(values)} · {escape(promised)}{why}</p></li>'
    )


def _value(finding: Finding) -> str:
    if finding.header is None:
        return "not run"
    presets = ", ".join(finding.header.info.get("presets") or ()) or f"run {finding.header.key[:6]}"
    return f"{verdicts.measured(finding.metric)} in {presets}"
