"""What a claim says beside what came out: a word and a mark, never colour alone."""

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
    **{kept: "✓" for kept, _ in VERDICTS.values()},
}
_UNIT = {"paper": "reproduced", "theory": "hold", "ours": "found"}
_SHADES = {
    VERDICTS["paper"][0]: "kept",
    NOT_DECIDED: "open",
    VERDICTS["paper"][1]: "failed",
}  # the best first
KINDS = {"paper": "The paper", "theory": "Exact theory", "ours": "Ours"}


def value_text(metric: Metric) -> str:
    """The value with its error, or that there is none."""
    if metric.value is None or math.isnan(metric.value):
        return "not run"
    error = f" ± {number(metric.error, 2)}" if metric.error else ""
    return f"{number(metric.value)}{error}"


def bound_text(claim: Claim) -> str:
    """What it should be, and what counts as well: "expected: near 1 ± 0.1", "expected: at least 1
    (0.9 counts)"."""
    told = f"expected: {claim.relation} {number(claim.bound)}"
    if not claim.tolerance:
        return told
    if claim.relation == "near":
        return f"{told} ± {number(claim.tolerance, 2)}"
    bound = claim.bound + claim.tolerance * (1 if claim.relation == "at most" else -1)
    return f"{told} ({number(bound)} counts)"


def origin(finding: Finding) -> str:
    """Whose claim it is, in which words, of which setting."""
    claim = finding.metric.claim
    quote = f": “{claim.quote}”" if claim.quote else ""
    return f"{KINDS[claim.kind]}{quote} ({claim.source}; {finding.setting})"


def mark_verdict(verdict: str) -> str:
    """A verdict after its mark: "✓ holds"."""
    return f"{MARKS[verdict]} {verdict}"


def counts_text(found: Iterable[Summary]) -> str:
    """How many claims have each verdict, failing ones first: "✗ not reproduced 1, ✓
    reproduced 5"."""
    counts = Counter(summary.verdict for summary in found)
    return ", ".join(
        f"{mark_verdict(verdict)} {counts[verdict]}" for verdict in sorted(counts, key=verdict_rank)
    )


def summary_line(found: Iterable[Summary]) -> str:
    """How the paper's own claims of some experiments fared, in a line: "The paper, here: 5 of 7
    reproduced, 2 open"; others' where it has none that was run at its setting."""
    for kind, words in KINDS.items():
        every = [each for each in found if each.first.metric.claim.kind == kind]
        mine = [each.verdict for each in every if each.here]
        if mine:
            return f"{words}, here: {_fared(kind, mine, len(every) - len(mine))}"
    return "Claims"


def _fared(kind: str, verdicts: list[str], left: int) -> str:
    """In few words, for one line: of those that are decided how many are kept, and how many are
    open, which is no failure; where none is decided, why."""
    undecided = verdicts.count(NOT_DECIDED)
    decided = len(verdicts) - undecided
    if not decided:
        return ", ".join(
            f"{count} {words}"
            for count, words in ((undecided, NOT_DECIDED), (left, NOT_RUN))
            if count
        )
    kept = f"{verdicts.count(VERDICTS[kind][0])} of {decided} {_UNIT[kind]}"
    return f"{kept}, {undecided + left} open" if undecided + left else kept


def bars(counted: Mapping[str, Mapping[str, Mapping[str, int]]]) -> None:
    """A bar a paper: how many of its own claims have which verdict, all on one scale; below it in
    words, the other claims too. `counted` is by title, kind and verdict."""
    longest = max((sum(kinds.get("paper", {}).values()) for kinds in counted.values()), default=0)
    rows = "".join(bar(title, kinds, longest or 1) for title, kinds in counted.items())
    st.html(f'<ul class="bars">{rows}</ul>')


def bar(title: str, kinds: Mapping[str, Mapping[str, int]], longest: int) -> str:
    """One paper's bar, as wide as `longest` claims would fill the page."""
    mine = {verdict: count for verdict in _SHADES if (count := kinds.get("paper", {}).get(verdict))}
    parts = "".join(
        f'<span class="{_SHADES[verdict]}" style="flex: {count}">{MARKS[verdict]} {count}</span>'
        for verdict, count in mine.items()
    )
    words = (
        " · ".join(_words(kind, kinds.get(kind, {})) for kind in KINDS if kinds.get(kind))
        or "no run yet"
    )
    width = 100 * sum(mine.values()) / longest
    return (
        f'<li><strong>{escape(title)}</strong><div class="bar" aria-hidden="true" style="width: '
        f'{width:.4g}%">{parts}'
        f"</div><p>{escape(words)}</p></li>"
    )


def _words(kind: str, counts: Mapping[str, int]) -> str:
    """How the claims of one kind fared: "Exact theory: ✓ holds 7"."""
    told = ", ".join(
        f"{mark_verdict(verdict)} {counts[verdict]}"
        for verdict in reversed(MARKS)
        if counts.get(verdict)
    )
    return f"{KINDS[kind]}: {told}"
