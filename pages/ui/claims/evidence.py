"""Every claim with its verdict, what the runs measured for it, and links to the settings that show
it."""

import re
from collections.abc import Iterable
from html import escape
from urllib.parse import urlencode

import streamlit as st

from icl_core import registry
from icl_core.contract.experiment import GROUPS, Preset
from icl_core.findings.findings import Finding, Summary
from icl_core.runs.atlas import ORIGIN as ATLAS
from icl_core.runs.header import Header
from pages.ui.claims import verdicts
from pages.ui.controls.sweep import SWEEP


def show(found: Iterable[Summary]) -> None:
    """Every claim with what the runs measured, failing ones first, each with links to the settings
    that show it."""
    st.html(f'<ul class="claims">{_unbroken("".join(map(_row, found)))}</ul>')


def _row(summary: Summary) -> str:
    claim = summary.first.metric.claim
    others = _values(summary.elsewhere)
    elsewhere = f"; elsewhere: {others}" if others else ""
    values = f"{_values(summary.here) or 'not run at its own setting'}{elsewhere}"
    return (
        f"<li><strong>{escape(verdicts.mark_verdict(summary.verdict))}</strong><p>{escape(claim.text)}</p>"
        f'<p class="more">{escape(verdicts.origin(summary.first))}<br>'
        f"{escape(claim.label)}: {values} · "
        f"{escape(verdicts.bound_text(claim))}{_because(summary)}</p></li>"
    )


def _unbroken(html: str) -> str:
    """No line ends within "f = 3"."""
    return re.sub(r" ([=≤≥]) ", "\u00a0\\1\u00a0", html)


def _because(summary: Summary) -> str:
    """Why it came out so, as far as that was measured; of which run, unless one reason is that of
    all."""
    reasons: dict[str, list[Finding]] = {}
    for finding in summary.here:
        reasons.setdefault(finding.why, []).append(finding)
    said = {
        reason: f", in {', '.join(map(_where, of))}" if len(reasons) > 1 else ""
        for reason, of in reasons.items()
    }
    return "".join(f"<br>Why{where}: {escape(reason)}" for reason, where in said.items() if reason)


def _values(found: Iterable[Finding]) -> str:
    return "; ".join(
        f"{escape(verdicts.value_text(finding.metric))} in "
        f"{_where(finding)}{_seeds(finding.header)}"
        for finding in found
        if finding.header
    )


def _seeds(header: Header) -> str:
    """Over how many seeds a run has measured, in brackets; nothing of many runs."""
    if header.origin == ATLAS:
        return ""
    seeds = header.config.get("seeds", 1)
    return f" ({seeds} seed{'s' * (seeds != 1)})"


def _title(preset: Preset) -> str:
    """A preset as the page's menu calls it, with its group, as the paper's sizes have the names of
    those in class."""
    return preset.title + (f" ({preset.group.lower()})" if preset.group == GROUPS[1] else "")


def _where(finding: Finding) -> str:
    """The presets whose run it is, as links to their figures, or the sweep that all its runs are
    of."""
    paper, _, name = finding.experiment.partition(".")
    if finding.header and finding.header.origin == ATLAS:
        return _link(paper, "all runs of the included sweep", experiment=name, drawer=SWEEP)
    titles = {each.name: _title(each) for each in registry.experiment(finding.experiment).presets}
    links = [
        _link(paper, titles.get(each, each), experiment=name, preset=each)
        for each in finding.presets
    ]
    return ", ".join(links) or (
        f"a run made here, {finding.header.key[:6]}" if finding.header else ""
    )


def _link(page: str, label: str, **asked: str) -> str:
    return f'<a href="{page}?{escape(urlencode(asked))}" target="_self">{escape(label)}</a>'
