"""The evidence for claims: each claim's verdict, the measured values, and links to their runs."""

import re
from collections.abc import Iterable
from html import escape
from urllib.parse import urlencode

from icl_core import registry
from icl_core.contract.claims import VERDICTS
from icl_core.contract.drawers import SWEEP
from icl_core.evidence import claim_rows, verdicts
from icl_core.evidence.claim_scale import Point, scale_html
from icl_core.evidence.measurements import Finding, Summary
from icl_core.runs.atlas import ORIGIN as ATLAS
from icl_core.runs.header import Header
from icl_core.runs.request import run_fields

_KEY = (
    '<p class="more key">● is what was measured, with a bar of one standard error to each side. '
    "Shaded is what the claim allows; the line is its limit.</p>"
)
MOST_LISTED = 40  # runs of a claim
_SHADES = {
    **{positive: "kept" for positive, _ in VERDICTS.values()},
    **{negative: "failed" for _, negative in VERDICTS.values()},
}


def evidence_html(summaries: Iterable[Summary]) -> str:
    """Return the claims as a list, in the order given: each as a scale with what was measured, then
    in words with links to the runs."""
    summaries = list(summaries)
    rows = "".join(_row(summary) for summary in summaries)
    total = escape(verdicts.summary_line(summaries))
    return f'<p>{total}.</p>{_KEY}<ul class="claims">{_without_breaks(rows)}</ul>'


def _row(summary: Summary) -> str:
    claim = summary.first.metric.claim
    values = _values(summary.here) or "not run at its own setting"
    return (
        f"<li><strong>{escape(verdicts.mark_verdict(summary.verdict))}</strong>"
        f"<em>{escape(claim.label)}</em>{_scale(summary)}"
        f'<div class="more"><p>{escape(claim.text)}</p>'
        f"<p>Measured: {values}{_reasons(summary)}</p>{_details(summary)}</div></li>"
    )


def _scale(summary: Summary) -> str:
    """Return the scale of a claim with the runs at its setting, the one that decides first."""
    claim = summary.first.metric.claim
    points = []
    for finding in sorted(summary.here, key=claim_rows.rank)[:MOST_LISTED]:
        if finding.metric.value is not None:
            kind = _SHADES.get(finding.verdict, "open")
            label = verdicts.value_text(finding.metric)
            points.append(Point(finding.metric.value, finding.metric.error or 0.0, kind, label))
    return scale_html(claim, points, verdicts.bound_text(claim)) or "<span></span>"


def _details(summary: Summary) -> str:
    """Return what is folded: the words of the paper, the setting, and the runs at other
    settings."""
    claim = summary.first.metric.claim
    other_values = _values(summary.elsewhere)
    count = sum(finding.header is not None for finding in summary.elsewhere)
    runs = f", {count} run{'s' * (count != 1)} at other settings" if count else ""
    elsewhere = f"<p>Elsewhere: {other_values}</p>" if other_values else ""
    return (
        f"<details><summary>Source and setting{runs}</summary>"
        f"<p>{escape(verdicts.origin(summary.first))}</p>"
        f"<p>{escape(claim.label)}: {escape(verdicts.bound_text(claim))}</p>{elsewhere}</details>"
    )


def _without_breaks(html: str) -> str:
    """Return the HTML with no-break spaces around relation signs, as in "f = 3"."""
    return re.sub(r" ([=≤≥]) ", "\u00a0\\1\u00a0", html)


def _reasons(summary: Summary) -> str:
    """Return the measured reasons for the values, as HTML lines, and what would decide those that
    are not decided.

    A line names its runs only if the runs have different reasons.
    """
    by_reason: dict[tuple[str, str], list[Finding]] = {}
    for finding in summary.here:
        by_reason.setdefault((finding.why, finding.to_decide), []).append(finding)
    lines = ""
    for (reason, to_decide), findings in by_reason.items():
        if not reason:
            continue
        links = ", ".join(map(_run_links, findings[:MOST_LISTED]))
        runs = f", in {links}" if len(by_reason) > 1 else ""
        lines += f"<br>Why{runs}: {escape(reason)}"
        lines += f"<br>What would decide it: {escape(to_decide)}" if to_decide else ""
    return lines


def _values(findings: Iterable[Finding]) -> str:
    """Return the measured values with their runs, as HTML; empty if nothing was run."""
    of_runs = [(finding, finding.header) for finding in findings if finding.header]
    texts = [
        f"{escape(verdicts.value_text(finding.metric))} in {_run_links(finding)}{_seeds(header)}"
        for finding, header in of_runs[:MOST_LISTED]
    ]
    more = len(of_runs) - len(texts)
    return "; ".join([*texts, f"and {more:,} more"] if more else texts)


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
        preset.name: preset.full_title for preset in registry.experiment(finding.experiment).presets
    }
    if finding.presets:
        return ", ".join(
            _link(paper, titles.get(preset, preset), experiment=name, preset=preset)
            for preset in finding.presets
        )
    return _own_run_link(header) if header else ""


def _own_run_link(header: Header) -> str:
    """Return HTML that names a run made here: a link that writes its settings out."""
    paper, _, name = header.experiment.partition(".")
    label = f"a run made here, {header.key[:6]}"
    fields = run_fields(header.experiment, header.config)
    return _link(paper, label, experiment=name, **fields)


def _link(page: str, label: str, **query: str) -> str:
    return f'<a href="{page}?{escape(urlencode(query))}" target="_self">{escape(label)}</a>'
