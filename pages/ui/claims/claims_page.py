"""The page of claims: a bar a paper, and one table of all claims, with verdicts and links."""

from html import escape

import streamlit as st

from icl_core import registry
from icl_core.evidence import claim_rows
from icl_core.evidence.claim_rows import ClaimFilter, ClaimRow
from icl_core.runs import store
from icl_core.verification import records
from pages.ui.claims import claim_table, evidence, verdicts, verify_claim
from pages.ui.controls import filters
from pages.ui.link import pending_address, same_tab_links
from pages.ui.look import menu
from pages.ui.look.escape import escape_markdown
from pages.ui.look.memory_fault import say_if_memory_ends

PAPER = "paper"
EXPERIMENT = "experiment"
KIND = "kind"
VERDICT = "verdict"
CLAIM = "claim"
_PAGE = "claims"  # what the keys of the widgets begin with


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
    st.caption(
        "Each claim is tested in every run at its own setting, and counts as reproduced only if "
        "it holds in all of them; where there are runs at other settings only, it is called “toy”. "
        "± is one standard error. A value that is not on one side of the limit with 95% "
        "confidence (Student's t) leaves the claim undecided: of three seeds it must be 4.3 "
        "standard errors away, of five 2.8."
    )
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
        each: registry.experiment(each).title
        for each in registry.experiment_ids()
        if not choice.papers or each.partition(".")[0] in choice.papers
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
    st.html(f"<p>{claim_table.stage_link(row)} · <code>{escape(row.name)}</code></p>")
    verify_claim.show(row)


def _close() -> None:
    filters.put(**{CLAIM: ""})


def _section(paper: str, rows: list[ClaimRow]) -> None:
    """Draw the table of a paper's claims."""
    st.header(menu.short_title(paper), anchor=False)
    last = records.all_records(rows)
    words = {name: verify_claim.last_words(record) for name, record in last.items()}
    st.html(claim_table.html(rows, dict(st.query_params), words))
