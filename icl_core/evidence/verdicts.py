"""Claims, measured values and verdicts in words; a verdict is a word with a mark, never colour
alone."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from html import escape

from icl_core.contract.claims import (
    CLASSROOM_ONLY,
    ELSEWHERE,
    NOT_DECIDED,
    NOT_RUN,
    VERDICTS,
    Claim,
    Metric,
)
from icl_core.contract.number_text import number
from icl_core.evidence.measurements import Finding, Summary

MARKS = {
    **{failed: "✗" for _, failed in VERDICTS.values()},
    NOT_DECIDED: "?",
    CLASSROOM_ONLY: "~",
    NOT_RUN: "?",
    ELSEWHERE: "–",
    **{positive: "✓" for positive, _ in VERDICTS.values()},
}
# The verdicts as a visitor reads them, where the stored word says less.
_SHOWN_AS = {
    "found here": "confirmed here",
    "not found here": "not confirmed here",
    CLASSROOM_ONLY: "toy: only at classroom size",
}
# The claims of a kind, one and several, and the verdicts on several where these are other words.
_CLAIMS = {
    "paper": ("claim", "claims"),
    "theory": ("theorem", "theorems"),
    "ours": ("claim of our own", "claims of our own"),
}
_COUNTED_AS = {
    "found here": ("confirmed", "confirmed"),
    "not found here": ("not confirmed", "not confirmed"),
    "holds": ("holds", "hold"),
    "fails": ("fails", "fail"),
    CLASSROOM_ONLY: ("toy", "toy"),
}
# CSS classes of a bar's parts, the best verdict first
_SHADES = {
    VERDICTS["paper"][0]: "kept",
    NOT_DECIDED: "open",
    CLASSROOM_ONLY: "open",
    VERDICTS["paper"][1]: "failed",
}
KINDS = {"paper": "The paper", "theory": "Exact theory", "ours": "Our own claim"}


def value_text(metric: Metric) -> str:
    """Return the measured value with its error, or "not run" if there is none."""
    if metric.value is None or math.isnan(metric.value):
        return "not run"
    error = f" ± {number(metric.error, 2)}" if metric.error else ""
    return f"{number(metric.value)}{error}"


def bound_text(claim: Claim) -> str:
    """Return the expected value and its tolerance: "expected: near 1 ± 0.1", "expected: at least 1
    (0.9 or more counts as 1)"."""
    bound = number(claim.bound)
    expected = f"expected: {claim.relation} {bound}"
    if not claim.tolerance:
        return expected
    if claim.relation == "near":
        return f"{expected} ± {number(claim.tolerance, 2)}"
    if claim.relation == "at most":
        return f"{expected} (up to {number(claim.bound + claim.tolerance)} counts as {bound})"
    return f"{expected} ({number(claim.bound - claim.tolerance)} or more counts as {bound})"


def origin(finding: Finding) -> str:
    """Return whose claim it is, its quotation, its source, and the setting it speaks of."""
    claim = finding.metric.claim
    quote = f": “{claim.quote}”" if claim.quote else ""
    return f"{KINDS[claim.kind]}{quote} ({claim.source}; {finding.setting})"


def mark_verdict(verdict: str) -> str:
    """Return a verdict with its mark before it: "✓ holds"."""
    return f"{MARKS[verdict]} {_SHOWN_AS.get(verdict, verdict)}"


def summary_line(summaries: Iterable[Summary]) -> str:
    """Return the outcome of claims in one line: "13 claims: 7 reproduced, 2 not decided, 4 not run
    · 1 theorem: 1 holds". Every claim counts, also one that no run was made for."""
    return counts_line(_count_by_kind(summaries))


def short_line(summaries: Iterable[Summary]) -> str:
    """Return how many claims came out, of the first kind of which one was run: "7 of 13 claims
    reproduced". Of a kind before it the line says that it was not run."""
    parts = []
    for kind, counts in _count_by_kind(summaries).items():
        total = counts.total()
        if total > counts[NOT_RUN]:
            positive = VERDICTS[kind][0]
            came_out = _COUNTED_AS.get(positive, (positive, positive))[total != 1]
            parts.append(f"{counts[positive]} of {total} {_CLAIMS[kind][total != 1]} {came_out}")
            break
        if total:
            parts.append(_kind_text(kind, counts))
    return " · ".join(parts)


def _count_by_kind(summaries: Iterable[Summary]) -> dict[str, Counter[str]]:
    by_kind: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    for summary in summaries:
        by_kind[summary.first.metric.claim.kind][summary.verdict] += 1
    return by_kind


def counts_line(by_kind: Mapping[str, Mapping[str, int]]) -> str:
    """Return the number of claims of each kind, given by verdict, in one line (`summary_line`)."""
    parts = [_kind_text(kind, by_kind[kind]) for kind in KINDS if by_kind.get(kind)]
    return " · ".join(parts) or "no claims"


def _kind_text(kind: str, counts: Mapping[str, int]) -> str:
    """Return the verdicts on one kind of claim: "13 claims: 7 reproduced, 6 not decided"."""
    total = sum(counts.values())
    positive, negative = VERDICTS[kind]
    parts = []
    for verdict in (positive, negative, NOT_DECIDED, CLASSROOM_ONLY, NOT_RUN):
        if count := counts.get(verdict):
            one, several = _COUNTED_AS.get(verdict, (verdict, verdict))
            parts.append(f"{count} {one if count == 1 else several}")
    return f"{total} {_CLAIMS[kind][total != 1]}: {', '.join(parts)}"


def bars(counts: Mapping[str, Mapping[str, Mapping[str, int]]]) -> str:
    """Return a bar for each paper as HTML, all on one scale: its own claims by verdict; below it,
    in words, all its claims.

    `counts` holds numbers of claims by the paper's title, the kind of claim and the verdict.
    """
    longest = max((sum(kinds.get("paper", {}).values()) for kinds in counts.values()), default=0)
    rows = "".join(bar(title, kinds, longest or 1) for title, kinds in counts.items())
    return f'<ul class="bars">{rows}</ul>'


def bar(title: str, kinds: Mapping[str, Mapping[str, int]], longest: int) -> str:
    """Return one paper's bar as HTML; a bar of `longest` claims fills the width of the page."""
    of_paper = kinds.get("paper", {})
    shown = {verdict: of_paper[verdict] for verdict in _SHADES if of_paper.get(verdict)}
    parts = "".join(
        f'<span class="{_SHADES[verdict]}" style="flex: {count}">{MARKS[verdict]} {count}</span>'
        for verdict, count in shown.items()
    )
    words = counts_line(kinds) if kinds else "no run yet"
    width = 100 * sum(shown.values()) / longest
    counted = (
        f'<div class="bar" aria-hidden="true" style="width: {width:.4g}%">{parts}</div>'
        if shown
        else ""
    )
    return f"<li><strong>{escape(title)}</strong>{counted}<p>{escape(words)}</p></li>"
