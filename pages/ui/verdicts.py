"""What a claim says beside what came out: a word and a mark, never colour alone."""

import math
from collections.abc import Iterable
from html import escape

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
_UNIT = {"paper": "reproduced", "theory": "hold", "ours": "found"}
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


def told(found: Iterable[Finding]) -> str:
    """How the paper's own claims fared, in a line: "The paper: 5 of 7 reproduced"; of others where it has none."""
    for kind, words in KINDS.items():
        mine = [f for f in found if f.metric.claim.kind == kind and f.verdict not in (ELSEWHERE, NOT_RUN)]
        if mine:
            kept = VERDICTS[kind][0]
            return f"{words}: {sum(f.verdict == kept for f in mine)} of {len(mine)} {_UNIT[kind]}"
    return "No claim is at this setting"


def evidence(found: Iterable[Finding]) -> None:
    """Every claim with what this run measured, failing ones first."""
    st.html(f'<ul class="claims">{"".join(map(_row, sorted(found, key=lambda f: rank(f.verdict))))}</ul>')


def _row(finding: Finding) -> str:
    claim, metric = finding.metric.claim, finding.metric
    mark, reason = f"{MARKS[finding.verdict]} {finding.verdict}", why(metric)
    missed = MARKS[finding.verdict] == "✗"
    because = f"<br>Why: {escape(reason or 'not known')}" if reason or missed else ""
    return (
        f"<li><strong>{escape(mark)}</strong><p>{escape(claim.text)}</p>"
        f'<p class="more">{escape(origin(claim))}<br>'
        f"{escape(claim.label)}: {escape(measured(metric))} · {escape(promised(claim))}{because}</p></li>"
    )
