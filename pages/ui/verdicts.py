"""What a claim says beside what came out: a word and a mark, never colour alone."""

import math
from collections.abc import Iterable

import streamlit as st

from icl_core.claims import ELSEWHERE, NOT_DECIDED, NOT_RUN, VERDICTS, Claim, Metric
from icl_core.findings import Finding, rank

MARKS = {
    **{failed: "✗" for _, failed in VERDICTS.values()},
    NOT_DECIDED: "?",
    NOT_RUN: "?",
    ELSEWHERE: "–",
    **{kept: "✓" for kept, _ in VERDICTS.values()},
}
KINDS = {"paper": "The paper", "theory": "Exact theory", "ours": "Ours"}


def measured(metric: Metric) -> str:
    """The value with its error, or that there is none."""
    if metric.value is None or math.isnan(metric.value):
        return "not run"
    error = f" ± {metric.error:.2g}" if metric.error else ""
    return f"{_number(metric.value)}{error}"


def promised(claim: Claim) -> str:
    """What it should be, and what counts as well: "paper: near 1 ± 0.1", "expected: at least 1 (0.9 counts)"."""
    told = f"{'paper' if claim.kind == 'paper' else 'expected'}: {claim.relation} {_number(claim.bound)}"
    if not claim.tolerance:
        return told
    if claim.relation == "near":
        return f"{told} ± {_number(claim.tolerance, 2)}"
    bound = claim.bound + claim.tolerance * (1 if claim.relation == "at most" else -1)
    return f"{told} ({_number(bound)} counts)"


def origin(claim: Claim) -> str:
    """Whose claim it is, in which words, of which setting."""
    quote = f"“{claim.quote}” " if claim.quote else ""
    return f"{KINDS[claim.kind]}: {quote}({claim.source}; {claim.setting_words})"


def why(metric: Metric) -> str:
    """What was measured of the reason for a verdict; empty if nothing was."""
    return metric.unfinished or metric.reason


def _number(value: float, digits: int = 3) -> str:
    return f"{value:.{digits}g}".replace("-", "\N{MINUS SIGN}")


def chips(found: Iterable[Finding]) -> None:
    """A chip for each claim, which opens the claim, its source and the reason for its verdict."""
    with st.container(horizontal=True, gap="small", key="chips"):
        for finding in sorted(found, key=lambda finding: rank(finding.verdict)):
            _chip(finding)


def _chip(finding: Finding) -> None:
    claim, metric, verdict = finding.metric.claim, finding.metric, finding.verdict
    edge = {"✓": "reproduced", "✗": "not"}.get(MARKS[verdict], "undecided")
    with st.container(width="content", key=f"chip-{edge}-{claim.id}"):
        label = f"{claim.label} {measured(metric)} · {promised(claim)} · {MARKS[verdict]} {verdict}"
        with st.popover(label):
            st.markdown(claim.text)
            allowed = f" Within {claim.tolerance:.3g} of it counts as well." if claim.tolerance else ""
            st.caption(f"{origin(claim)}.{allowed}")
            if MARKS[verdict] == "✗" or why(metric):
                st.markdown(f"**Why.** {why(metric) or 'Not known.'}")
