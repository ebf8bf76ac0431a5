"""The page of claims: a bar a paper, one table of all claims with verdicts and links, and for one
claim its evidence and the button that has it verified."""

from collections.abc import Iterable, Mapping
from html import escape
from itertools import groupby
from urllib.parse import urlencode

import streamlit as st

from icl_core import registry
from icl_core.contract.experiment import STAGE
from icl_core.contract.knobs import BadSetting
from icl_core.contract.message import sentence
from icl_core.evidence import claim_rows
from icl_core.evidence.claim_rows import ClaimFilter, ClaimRow
from icl_core.machine import limits
from icl_core.runs import store
from icl_core.runs.atlas import ORIGIN as ATLAS
from icl_core.verification import background, records, verify
from icl_core.verification.records import Record
from pages.ui.claims import evidence, verdicts
from pages.ui.controls import filters
from pages.ui.controls.sweep import SWEEP
from pages.ui.link import address, pending_address, same_tab_links, visitors
from pages.ui.look import formats, menu
from pages.ui.look.escape import escape_markdown
from pages.ui.look.memory_fault import say_if_memory_ends

PAPER = "paper"
EXPERIMENT = "experiment"
KIND = "kind"
VERDICT = "verdict"
CLAIM = "claim"
_PAGE = "claims"  # what the keys of the widgets begin with
_HEADS = ("Claim", "Setting", "Kind", "Measured", "Verdict", "See it")
LONGEST_SETTING = 60  # characters that are not folded
INTERVAL = 1.0  # seconds between looks at the verification under way
_PROBLEM = "why a verification did not start"


@say_if_memory_ends
def show() -> None:
    """Draw the page of claims."""
    menu.frame("Claims")
    st.title("What the papers claim, and what comes out here", anchor=False)
    rows = claim_rows.all_rows(store.default())
    counts = claim_rows.counted(rows)
    verdicts.bars({menu.short_title(name): counts.get(name, {}) for name in registry.papers()})
    choice = _filter(rows)
    _claim(rows)
    matches = [row for row in rows if choice.takes(row)]
    for paper in registry.papers():
        of_paper = [row for row in matches if row.paper == paper]
        if of_paper:
            _section(paper, of_paper)
    if not matches:
        st.markdown("No claim is of this kind and verdict.")
        st.button("Show all claims", on_click=_clear, type="primary")
    st.caption(claim_rows.RULE)
    same_tab_links.listen()


def _filter(rows: list[ClaimRow]) -> ClaimFilter:
    """Draw the filters and return what the address asks for."""
    present = {row.summary.verdict for row in rows}
    all_verdicts = [verdict for verdict in verdicts.MARKS if verdict in present]
    choice = ClaimFilter(
        filters.names(PAPER, registry.papers()),
        filters.names(EXPERIMENT, registry.experiment_ids()),
        filters.names(KIND, verdicts.KINDS),
        filters.names(VERDICT, all_verdicts),
    )
    titles = {
        id: registry.experiment(id).title
        for id in registry.experiment_ids()
        if not choice.papers or id.partition(".")[0] in choice.papers
    }
    with st.container(key="claim-filters"):
        filters.several(_PAGE, "Paper", PAPER, registry.papers(), menu.short_title, choice.papers)
        filters.several(
            _PAGE, "Experiment", EXPERIMENT, titles, titles.__getitem__, choice.experiments
        )
        kinds = verdicts.KINDS
        filters.several(_PAGE, "Kind", KIND, kinds, kinds.__getitem__, choice.kinds)
        filters.several(
            _PAGE, "Verdict", VERDICT, all_verdicts, verdicts.mark_verdict, choice.verdicts
        )
    return choice


def _clear() -> None:
    pending_address.change({}, drop=(PAPER, EXPERIMENT, KIND, VERDICT))


def _claim(rows: list[ClaimRow]) -> None:
    """Open the evidence for the claim that the address names."""
    name = st.query_params.get(CLAIM, "")
    if not name:
        return
    named = [row for row in rows if row.name == name]
    if not named:
        st.warning(f"There is no claim {escape_markdown(name)!s:.80}.")
        return
    title = escape_markdown(named[0].claim.label)
    st.dialog(title, width="large", on_dismiss=_close)(_evidence)(named[0])


def _evidence(row: ClaimRow) -> None:
    """Draw the evidence for a claim, and links."""
    evidence.show([row.summary])
    st.html(f"<p>{_stage_link(row)} · <code>{escape(row.name)}</code></p>")
    _verification(row)


def _close() -> None:
    filters.put(**{CLAIM: ""})


def _section(paper: str, rows: list[ClaimRow]) -> None:
    """Draw the table of a paper's claims."""
    st.header(menu.short_title(paper), anchor=False)
    last = records.all_records(rows)
    words = {name: _last_words(record) for name, record in last.items()}
    st.html(_table(rows, dict(st.query_params), words))


def _table(rows: Iterable[ClaimRow], query: Mapping[str, str], verified: Mapping[str, str]) -> str:
    """Return the table of `rows`.

    query     the page's present address, which a link to a claim's evidence keeps
    verified  when a claim was last verified and how, in words by the claim's name
    """
    heads = "".join(f'<th scope="col">{head}</th>' for head in _HEADS)
    lines = ""
    for experiment_id, members in groupby(rows, key=lambda row: row.experiment):
        title = escape(registry.experiment(experiment_id).title)
        lines += f'<tr><th colspan="{len(_HEADS)}" scope="rowgroup">{title}</th></tr>'
        lines += "".join(_table_line(row, query, verified.get(row.name, "")) for row in members)
    return (
        f'<table class="claim-table"><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>'
    )


def _table_line(row: ClaimRow, query: Mapping[str, str], verified: str) -> str:
    claim = row.claim
    words = f"“{claim.quote}”" if claim.quote else claim.text
    measured = "not run"
    if row.deciding is not None:
        measured = verdicts.value_text(row.deciding.metric)
    evidence = same_tab_links.link("claims", "Evidence", {**query, "claim": row.name})
    last = f"<small>{escape(verified)}</small>" if verified else ""
    cells = (
        f"<em>{escape(claim.label)}</em><q>{escape(words)}</q><small>{escape(row.place)}</small>",
        _setting(row.summary.first.setting),
        escape(verdicts.KINDS[claim.kind]),
        f"<b>{escape(measured)}</b><small>{escape(verdicts.bound_text(claim))}</small>"
        f"<small>{escape(row.size)}</small>",
        f"<b>{escape(verdicts.mark_verdict(row.summary.verdict))}</b>{last}",
        f"{_stage_link(row)}<br>{evidence}",
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


def _stage_link(row: ClaimRow) -> str:
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
        texts = {field: address.value_text(value) for field, value in values.items()}
        return {"experiment": name, **texts}
    presets = header.info.get("presets") or ()
    if presets:
        fields = {"experiment": name, "preset": presets[0]}
    else:
        fields = {"experiment": name, **address.run_fields(row.experiment, header.config)}
    return {**fields, **_marks(row)}


def _marks(row: ClaimRow) -> dict[str, str]:
    """Return the fields that mark the panel of a claim, and open its drawer if it is in one."""
    panel = row.claim.panel
    drawings = {drawing.name: drawing for drawing in registry.experiment(row.experiment).drawings}
    if panel not in drawings:
        return {}
    place = drawings[panel].place
    return {"marks": panel} if place == STAGE else {"marks": panel, "drawer": place}


_OUTCOMES = {
    verify.AGREE: "agrees",
    verify.DIFFER: "differs",
    verify.NOT_VERIFIED: "not verified",
}


def _last_words(record: Record) -> str:
    """Return when a claim was last verified and how, in words."""
    return f"{_OUTCOMES.get(record.outcome, record.outcome)} when trained anew, {record.date} UTC"


def _verification(row: ClaimRow) -> None:
    """Draw the last outcome of a claim, and the button that verifies it, or why there is none."""
    record = records.last_record(row)
    if record is not None:
        st.markdown(f"Last verified: {escape_markdown(_last_words(record))}.")
    if limits.read_only():
        return
    if reason := verify.refusal(row):
        st.caption(f"It cannot be verified: {escape_markdown(reason)}.")
        return
    if problem := st.session_state.pop(_PROBLEM, ""):
        st.error(escape_markdown(sentence(problem)))
    _offer_verification(row, record)


@st.fragment(run_every=INTERVAL)
def _offer_verification(row: ClaimRow, shown: Record | None) -> None:
    """Draw the button, or the verification under way."""
    current = background.state()
    if records.last_record(row) != shown:
        st.rerun()  # the page and this dialog say what came out
    if current is None:
        seconds = verify.estimated_seconds(row)
        st.button(
            f"Verify: train its runs anew · {formats.duration(seconds)}",
            type="primary",
            key="verify",
            on_click=_verify,
            args=(row,),
            help="Numbers and verdicts are compared with those that are stored, which stay. The "
            f"same in a terminal: python -m icl_core verify {row.name}",
        )
        return
    does = "waits until a training has its place free" if current.waits else "is verified now"
    st.markdown(f"{escape_markdown(current.claim)} {does}.")
    visitor = None if visitors.is_at_machine() else visitors.name()
    if visitor in (None, current.visitor):
        st.button("Cancel", key="cancel verification", on_click=background.cancel, args=(visitor,))


def _verify(row: ClaimRow) -> None:
    try:
        background.start(row, visitors.name())
    except (BadSetting, OSError) as problem:
        st.session_state[_PROBLEM] = f"it cannot be verified: {problem}"
