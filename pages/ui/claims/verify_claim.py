"""The button that has a claim verified, what came of it last, and the verification under way."""

import streamlit as st

from icl_core.contract.knobs import BadSetting
from icl_core.contract.message import sentence
from icl_core.evidence.claim_rows import ClaimRow
from icl_core.machine import limits
from icl_core.verification import background, records, verify
from icl_core.verification.records import Record
from pages.ui.link import visitors
from pages.ui.look import formats
from pages.ui.look.escape import escape_markdown

INTERVAL = 1.0  # seconds between looks at the verification under way
_SAID = "why a verification did not start"
_OUTCOMES = {
    verify.AGREE: "agrees",
    verify.DIFFER: "differs",
    verify.NOT_VERIFIED: "not verified",
}


def last_words(record: Record) -> str:
    """Return when a claim was last verified and how, in words."""
    return f"{_OUTCOMES.get(record.outcome, record.outcome)} when trained anew, {record.date} UTC"


def show(row: ClaimRow) -> None:
    """Draw the last outcome of a claim, and the button that verifies it, or why there is none."""
    record = records.last_record(row)
    if record is not None:
        st.markdown(f"Last verified: {escape_markdown(last_words(record))}.")
    if limits.read_only():
        return
    if reason := verify.refusal(row):
        st.caption(f"It cannot be verified: {escape_markdown(reason)}.")
        return
    if problem := st.session_state.pop(_SAID, ""):
        st.error(escape_markdown(sentence(problem)))
    _offer(row, record)


@st.fragment(run_every=INTERVAL)
def _offer(row: ClaimRow, shown: Record | None) -> None:
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
            on_click=_start,
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


def _start(row: ClaimRow) -> None:
    try:
        background.start(row, visitors.name())
    except (BadSetting, OSError) as problem:
        st.session_state[_SAID] = f"it cannot be verified: {problem}"
