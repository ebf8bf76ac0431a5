"""What the paper says beside what came out: a word and a mark, never colour alone."""

import math
from collections.abc import Iterable

import streamlit as st

from icl_core.experiment import Metric

MARKS = {"not reproduced": "✗", "undecided": "?", "reproduced": "✓"}  # in the order in which they are shown


def rank(verdict: str) -> int:
    """Failing first, reproduced last."""
    return list(MARKS).index(verdict)


def measured(metric: Metric) -> str:
    """The value with its error, or that there is none."""
    if metric.value is None or math.isnan(metric.value):
        return "not run"
    error = f" ± {metric.error:.2g}" if metric.error else ""
    return f"{_number(metric.value)}{error}"


def promised(metric: Metric) -> str:
    """What it should be, and what counts as well: "paper: near 1 ± 0.1", "expected: at least 1 (0.9 counts)"."""
    claim = metric.claim
    says = "expected" if claim.source.startswith(("not in the paper", "against", "exact")) else "paper"
    told = f"{says}: {claim.relation} {_number(claim.predicted)}"
    if not claim.tolerance:
        return told
    if claim.relation == "near":
        return f"{told} ± {_number(claim.tolerance, 2)}"
    bound = claim.predicted + claim.tolerance * (1 if claim.relation == "at most" else -1)
    return f"{told} ({_number(bound)} counts)"


def _number(value: float, digits: int = 3) -> str:
    return f"{value:.{digits}g}".replace("-", "\N{MINUS SIGN}")


def chips(metrics: Iterable[Metric]) -> None:
    """A chip for each claim, which opens the claim, its source and the reason for its verdict."""
    with st.container(horizontal=True, gap="small", key="chips"):
        for metric in sorted(metrics, key=lambda metric: rank(metric.verdict)):
            _chip(metric)


def _chip(metric: Metric) -> None:
    claim, verdict = metric.claim, metric.verdict
    with st.container(width="content", key=f"chip-{verdict.split()[0]}-{claim.id}"):
        label = f"{claim.label} {measured(metric)} · {promised(metric)} · {MARKS[verdict]} {verdict}"
        with st.popover(label):
            st.markdown(claim.text)
            allowed = f" Within {claim.tolerance:.3g} of it counts as well." if claim.tolerance else ""
            st.caption(f"{claim.source}.{allowed}")
            if claim.reason:
                st.markdown(f"**Why it may differ.** {claim.reason}")
