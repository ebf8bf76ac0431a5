"""The table of claims as HTML: what each says, at which setting, what was measured, its verdict,
and links to the stage and to its evidence."""

from collections.abc import Callable, Iterable, Mapping
from html import escape
from itertools import groupby
from urllib.parse import urlencode

from icl_core import registry
from icl_core.contract.drawers import SWEEP
from icl_core.contract.experiment import STAGE
from icl_core.contract.settings_io import value_text
from icl_core.evidence import claim_rows, verdicts
from icl_core.evidence.claim_rows import ClaimRow
from icl_core.runs.atlas import ORIGIN as ATLAS
from icl_core.runs.request import run_fields

_HEADS = ("Claim", "Setting", "Kind", "Measured", "Verdict", "See it")
LONGEST_SETTING = 60  # characters that are not folded


def table(
    rows: Iterable[ClaimRow],
    evidence_link: Callable[[ClaimRow], str],
    verified: Mapping[str, str],
) -> str:
    """Return the table of `rows`.

    evidence_link  takes a row and returns the HTML of the link to its evidence
    verified       when a claim was last verified and how, in words by the claim's name
    """
    heads = "".join(f'<th scope="col">{head}</th>' for head in _HEADS)
    lines = ""
    for experiment_id, members in groupby(rows, key=lambda row: row.experiment):
        title = escape(registry.experiment(experiment_id).title)
        lines += f'<tr><th colspan="{len(_HEADS)}" scope="rowgroup">{title}</th></tr>'
        lines += "".join(
            _line(row, evidence_link(row), verified.get(row.name, "")) for row in members
        )
    return (
        f'<table class="claim-table"><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>'
    )


def _line(row: ClaimRow, evidence: str, verified: str) -> str:
    claim = row.claim
    words = f"“{claim.quote}”" if claim.quote else claim.text
    measured = "not run"
    if row.deciding is not None:
        measured = verdicts.value_text(row.deciding.metric)
    last = f"<small>{escape(verified)}</small>" if verified else ""
    cells = (
        f"<em>{escape(claim.label)}</em><q>{escape(words)}</q><small>{escape(row.place)}</small>",
        _setting(row.summary.first.setting),
        escape(verdicts.KINDS[claim.kind]),
        f"<b>{escape(measured)}</b><small>{escape(verdicts.bound_text(claim))}</small>"
        f"<small>{escape(row.size)}</small>",
        f"<b>{escape(verdicts.mark_verdict(row.summary.verdict))}</b>{last}",
        f"{stage_link(row)}<br>{evidence}",
    )
    pairs = zip(_HEADS, cells, strict=True)
    tds = "".join(f'<td data-head="{head}">{cell}</td>' for head, cell in pairs)
    return f"<tr>{tds}</tr>"


def _setting(words: str) -> str:
    """Return a setting in words; what goes beyond two lines is folded."""
    if len(words) <= LONGEST_SETTING:
        return f"<small>{escape(words)}</small>"
    beginning = words[:LONGEST_SETTING].rpartition("; ")[0] or words[:LONGEST_SETTING]
    rest = words[len(beginning) :].removeprefix("; ")
    return (
        f"<details><summary>{escape(beginning)} …</summary><small>{escape(rest)}</small></details>"
    )


def stage_link(row: ClaimRow) -> str:
    """Return the HTML of a link to the stage at the claim's setting, with its panel marked."""
    fields = _stage_fields(row)
    url = f"{row.paper}?{escape(urlencode(fields))}"
    name = escape(f"Open {row.claim.label} on the stage")
    return f'<a href="{url}" target="_self" aria-label="{name}">Stage</a>'


def _stage_fields(row: ClaimRow) -> dict[str, str]:
    """Return the fields of the address at which the run that decides a claim is on the stage, and
    the panel that shows it is marked; without a run, the settings that the claim names."""
    name = row.experiment.partition(".")[2]
    header = row.deciding.header if row.deciding else None
    if header is not None and header.origin == ATLAS:
        return {"experiment": name, "drawer": SWEEP}
    if header is None:
        values = claim_rows.at_fields(row.claim)
        texts = {field: value_text(value) for field, value in values.items()}
        return {"experiment": name, **texts}
    presets = header.info.get("presets") or ()
    if presets:
        fields = {"experiment": name, "preset": presets[0]}
    else:
        fields = {"experiment": name, **run_fields(row.experiment, header.config)}
    return {**fields, **_marks(row)}


def _marks(row: ClaimRow) -> dict[str, str]:
    """Return the fields that mark the panel of a claim, and open its drawer if it is in one."""
    panel = row.claim.panel
    drawings = {drawing.name: drawing for drawing in registry.experiment(row.experiment).drawings}
    if panel not in drawings:
        return {}
    place = drawings[panel].place
    return {"marks": panel} if place == STAGE else {"marks": panel, "drawer": place}
