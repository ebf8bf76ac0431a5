"""The page of claims: a bar a paper, one table of all claims with verdicts and links, and for one
claim its evidence and the button that has it verified."""

from html import escape

import streamlit as st

from icl_core import registry
from icl_core.contract.knobs import BadSetting
from icl_core.contract.message import sentence
from icl_core.evidence import claim_rows, claim_table, verdicts
from icl_core.evidence.claim_rows import ClaimFilter, ClaimRow
from icl_core.evidence.evidence_html import evidence_html
from icl_core.machine import limits
from icl_core.runs import store
from icl_core.verification import background, records, verify
from icl_core.verification.records import Record
from pages.ui.controls import filters
from pages.ui.link import pending_address, same_tab_links, visitors
from pages.ui.look import formats, menu
from pages.ui.look.escape import escape_markdown
from pages.ui.look.memory_fault import say_if_memory_ends

PAPER = "paper"
EXPERIMENT = "experiment"
KIND = "kind"
VERDICT = "verdict"
CLAIM = "claim"
_PAGE = "claims"  # what the keys of the widgets begin with
INTERVAL = 1.0  # seconds between looks at the verification under way
_PROBLEM = "why a verification did not start"


@say_if_memory_ends
def show() -> None:
    """Draw the page of claims."""
    menu.frame("Claims")
    st.title("What the papers claim, and what comes out here", anchor=False)
    rows = claim_rows.all_rows(store.default())
    counts = claim_rows.counted(rows)
    by_title = {menu.short_title(name): counts.get(name, {}) for name in registry.papers()}
    st.html(verdicts.bars(by_title))
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
    st.html(evidence_html([row.summary]))
    st.html(f"<p>{claim_table.stage_link(row)} · <code>{escape(row.name)}</code></p>")
    _verification(row)


def _close() -> None:
    filters.put(**{CLAIM: ""})


def _section(paper: str, rows: list[ClaimRow]) -> None:
    """Draw the table of a paper's claims."""
    st.header(menu.short_title(paper), anchor=False)
    last = records.all_records(rows)
    words = {name: _last_words(record) for name, record in last.items()}
    query = dict(st.query_params)

    def evidence_link(row: ClaimRow) -> str:
        return same_tab_links.link("claims", "Evidence", {**query, CLAIM: row.name})

    st.html(claim_table.table(rows, evidence_link, words))


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
