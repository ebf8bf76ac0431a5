"""The evidence for claims: each claim's verdict, the measured values, and links to their runs."""

import re
from collections.abc import Iterable
from html import escape
from urllib.parse import urlencode

import streamlit as st

from icl_core import registry
from icl_core.contract.experiment import Preset
from icl_core.findings.findings import Finding, Summary
from icl_core.runs.atlas import ORIGIN as ATLAS
from icl_core.runs.header import Header
from pages.ui.claims import verdicts
from pages.ui.controls.sweep import SWEEP

_PAPER_GROUP = "Paper's setting"  # of experiment.GROUPS


def show(summaries: Iterable[Summary]) -> None:
    """Draw the claims as a list, in the order given, each with links to the settings measured."""
    rows = "".join(_row(summary) for summary in summaries)
    st.html(f'<ul class="claims">{_without_breaks(rows)}</ul>')


def _row(summary: Summary) -> str:
    claim = summary.first.metric.claim
    values = _values(summary.here) or "not run at its own setting"
    other_values = _values(summary.elsewhere)
    if other_values:
        values += f"; elsewhere: {other_values}"
    return (
        f"<li><strong>{escape(verdicts.mark_verdict(summary.verdict))}</strong>"
        f"<p>{escape(claim.text)}</p>"
        f'<p class="more">{escape(verdicts.origin(summary.first))}<br>'
        f"{escape(claim.label)}: {values} · "
        f"{escape(verdicts.bound_text(claim))}{_reasons(summary)}</p></li>"
    )


def _without_breaks(html: str) -> str:
    """Return the HTML with no-break spaces around relation signs, as in "f = 3"."""
    return re.sub(r" ([=≤≥]) ", "\u00a0\\1\u00a0", html)


def _reasons(summary: Summary) -> str:
    """Return the measured reasons for the values, as HTML lines.

    A line names its runs only if the runs have different reasons.
    """
    by_reason: dict[str, list[Finding]] = {}
    for finding in summary.here:
        by_reason.setdefault(finding.why, []).append(finding)
    lines = ""
    for reason, findings in by_reason.items():
        if not reason:
            continue
        runs = f", in {', '.join(map(_run_links, findings))}" if len(by_reason) > 1 else ""
        lines += f"<br>Why{runs}: {escape(reason)}"
    return lines


def _values(findings: Iterable[Finding]) -> str:
    """Return the measured values with their runs, as HTML; empty if nothing was run."""
    return "; ".join(
        f"{escape(verdicts.value_text(finding.metric))} in "
        f"{_run_links(finding)}{_seeds(finding.header)}"
        for finding in findings
        if finding.header
    )


def _seeds(header: Header) -> str:
    """Return the run's number of seeds in brackets; empty for the runs of a sweep."""
    if header.origin == ATLAS:
        return ""
    seeds = header.config.get("seeds", 1)
    return f" ({seeds} seed{'s' * (seeds != 1)})"


def _run_links(finding: Finding) -> str:
    """Return HTML that names the finding's run: links to its presets, or to the included sweep."""
    paper, _, name = finding.experiment.partition(".")
    header = finding.header
    if header and header.origin == ATLAS:
        return _link(paper, "all runs of the included sweep", experiment=name, drawer=SWEEP)
    titles = {
        preset.name: _title(preset) for preset in registry.experiment(finding.experiment).presets
    }
    if finding.presets:
        return ", ".join(
            _link(paper, titles.get(preset, preset), experiment=name, preset=preset)
            for preset in finding.presets
        )
    return f"a run made here, {header.key[:6]}" if header else ""


def _title(preset: Preset) -> str:
    """Return a preset's title; at the paper's sizes with its group, as classroom presets have the
    same titles."""
    if preset.group == _PAPER_GROUP:
        return f"{preset.title} ({preset.group.lower()})"
    return preset.title


def _link(page: str, label: str, **query: str) -> str:
    return f'<a href="{page}?{escape(urlencode(query))}" target="_self">{escape(label)}</a>'
