"""Claims, measured values and verdicts in words; a verdict is a word with a mark, never colour
alone."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from html import escape

import streamlit as st

from icl_core.contract.claims import ELSEWHERE, NOT_DECIDED, NOT_RUN, VERDICTS, Claim, Metric
from icl_core.findings.findings import Finding, Summary, verdict_rank
from pages.ui.look.formats import number

MARKS = {
    **{failed: "✗" for _, failed in VERDICTS.values()},
    NOT_DECIDED: "?",
    NOT_RUN: "?",
    ELSEWHERE: "–",
    **{positive: "✓" for positive, _ in VERDICTS.values()},
}
# how a line counts the positive verdicts of each kind of claim
_COUNTED_AS = {"paper": "reproduced", "theory": "hold", "ours": "found"}
# CSS classes of a bar's parts, the best verdict first
_SHADES = {
    VERDICTS["paper"][0]: "kept",
    NOT_DECIDED: "open",
    VERDICTS["paper"][1]: "failed",
}
KINDS = {"paper": "The paper", "theory": "Exact theory", "ours": "Ours"}


def value_text(metric: Metric) -> str:
    """Return the measured value with its error, or "not run" if there is none."""
    if metric.value is None or math.isnan(metric.value):
        return "not run"
    error = f" ± {number(metric.error, 2)}" if metric.error else ""
    return f"{number(metric.value)}{error}"


def bound_text(claim: Claim) -> str:
    """Return the expected value and its tolerance: "expected: near 1 ± 0.1", "expected: at least 1
    (0.9 counts)"."""
    expected = f"expected: {claim.relation} {number(claim.bound)}"
    if not claim.tolerance:
        return expected
    if claim.relation == "near":
        return f"{expected} ± {number(claim.tolerance, 2)}"
    bound = claim.bound + claim.tolerance * (1 if claim.relation == "at most" else -1)
    return f"{expected} ({number(bound)} counts)"


def origin(finding: Finding) -> str:
    """Return whose claim it is, its quotation, its source, and the setting it speaks of."""
    claim = finding.metric.claim
    quote = f": “{claim.quote}”" if claim.quote else ""
    return f"{KINDS[claim.kind]}{quote} ({claim.source}; {finding.setting})"


def mark_verdict(verdict: str) -> str:
    """Return a verdict with its mark before it: "✓ holds"."""
    return f"{MARKS[verdict]} {verdict}"


def counts_text(summaries: Iterable[Summary]) -> str:
    """Return how many claims have each verdict, failing ones first: "✗ not reproduced 1,
    ✓ reproduced 5"."""
    counts = Counter(summary.verdict for summary in summaries)
    return ", ".join(
        f"{mark_verdict(verdict)} {counts[verdict]}" for verdict in sorted(counts, key=verdict_rank)
    )


def summary_line(summaries: Iterable[Summary]) -> str:
    """Return the outcome of some experiments' claims in one line: "The paper, here: 5 of 7
    reproduced, 2 open".

    The line counts the paper's own claims, or the next kind of which a claim was run at its
    setting.
    """
    by_kind: dict[str, list[Summary]] = {kind: [] for kind in KINDS}
    for summary in summaries:
        by_kind[summary.first.metric.claim.kind].append(summary)
    for kind, members in by_kind.items():
        verdicts = [summary.verdict for summary in members if summary.here]
        if verdicts:
            return f"{KINDS[kind]}, here: {_outcome(kind, verdicts, len(members) - len(verdicts))}"
    return "Claims"


def _outcome(kind: str, verdicts: list[str], not_run: int) -> str:
    """Return how many of the decided claims have the positive verdict and how many claims are
    open; the reasons if none is decided."""
    undecided = verdicts.count(NOT_DECIDED)
    decided = len(verdicts) - undecided
    if not decided:
        reasons = ((undecided, NOT_DECIDED), (not_run, NOT_RUN))
        return ", ".join(f"{count} {reason}" for count, reason in reasons if count)
    positive = f"{verdicts.count(VERDICTS[kind][0])} of {decided} {_COUNTED_AS[kind]}"
    open_claims = undecided + not_run
    return f"{positive}, {open_claims} open" if open_claims else positive


def bars(counts: Mapping[str, Mapping[str, Mapping[str, int]]]) -> None:
    """Draw a bar for each paper, all on one scale: its own claims by verdict; below it, in words,
    all its claims.

    `counts` holds numbers of claims by the paper's title, the kind of claim and the verdict.
    """
    longest = max((sum(kinds.get("paper", {}).values()) for kinds in counts.values()), default=0)
    rows = "".join(bar(title, kinds, longest or 1) for title, kinds in counts.items())
    st.html(f'<ul class="bars">{rows}</ul>')


def bar(title: str, kinds: Mapping[str, Mapping[str, int]], longest: int) -> str:
    """Return one paper's bar as HTML; a bar of `longest` claims fills the width of the page."""
    of_paper = kinds.get("paper", {})
    shown = {verdict: of_paper[verdict] for verdict in _SHADES if of_paper.get(verdict)}
    parts = "".join(
        f'<span class="{_SHADES[verdict]}" style="flex: {count}">{MARKS[verdict]} {count}</span>'
        for verdict, count in shown.items()
    )
    words = " · ".join(_kind_text(kind, kinds[kind]) for kind in KINDS if kinds.get(kind))
    width = 100 * sum(shown.values()) / longest
    return (
        f'<li><strong>{escape(title)}</strong><div class="bar" aria-hidden="true" style="width: '
        f'{width:.4g}%">{parts}'
        f"</div><p>{escape(words or 'no run yet')}</p></li>"
    )


def _kind_text(kind: str, counts: Mapping[str, int]) -> str:
    """Return the verdicts of one kind of claim with their counts: "Exact theory: ✓ holds 7"."""
    verdicts = ", ".join(
        f"{mark_verdict(verdict)} {counts[verdict]}"
        for verdict in reversed(MARKS)
        if counts.get(verdict)
    )
    return f"{KINDS[kind]}: {verdicts}"
