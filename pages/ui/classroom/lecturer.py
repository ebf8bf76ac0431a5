"""The lecturer's side of a class: the button that asks it, and the panel with its code, how many
have answered and, once they are opened, the answers.

The lecturer is a visitor's browser, so that a class outlives a reload and is on the projector's
window, too.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from html import escape
from typing import Literal
from urllib.parse import urlsplit

import streamlit as st

from icl_core import figures
from icl_core.classroom import export, record, sessions
from icl_core.classroom import figures as class_figures
from icl_core.classroom.question import Question, Refused
from icl_core.classroom.session import ROUNDS, Result, Seen
from icl_core.sweeps import by_class
from icl_core.sweeps.setting_grid import Grid
from pages.ui.classroom import lots
from pages.ui.classroom.routes import PAGE
from pages.ui.link import pending_address, visitors
from pages.ui.look import chart
from pages.ui.look.escape import escape_markdown
from pages.ui.look.qr import qr_address
from pages.ui.look.style import theme

HELP = "For lecturers: phones answer, and you open the answers when you like"
LOTS_HELP = "For lecturers: each phone draws one of these settings, and only those are trained"
_PAUSE = 2.0  # seconds between two looks at how many have answered
_REFUSED = "class refused"  # in the session: what could not be done last
_FOLDED = "class folded"
_LOTS = "class draws lots"
_REDRAW = "class stage put"  # in the session: the page is to be drawn for the phones


def has_class() -> bool:
    """Return whether the visitor has a class."""
    return sessions.ALL.has(visitors.name())


def offer(key: str, ask: Callable[[], None]) -> None:
    """Draw the button that asks a class the question of that key; nothing while it is asked."""
    seen = sessions.ALL.seen(visitors.name())
    if seen is None or seen.question is None or seen.question.key != key:
        name = f"with-class-{key.replace(' ', '-').replace('.', '-')}"
        st.button("With the class", key=name, type="tertiary", help=HELP, on_click=ask)


def begin() -> bool:
    """Begin a class, unless the visitor has one; return whether there is one now. If there are too
    many, the panel says so."""
    try:
        sessions.ALL.open(visitors.name())
    except Refused as refused:
        st.session_state[_REFUSED] = str(refused)
        return False
    return True


def ask(question: Question) -> None:
    """Ask the visitor's class a question; begin one if there is none."""
    if begin():
        sessions.ALL.show(visitors.name(), question)
        st.session_state[_FOLDED] = False


def offer_lots(grid: Grid) -> None:
    """Draw the button that lets a class draw the settings of a grid; while it does, where phones
    join, as the panel may be out of sight."""
    seen = sessions.ALL.seen(visitors.name())
    if seen is not None and lots.is_drawn_from(grid):
        st.markdown(f"Class **{seen.code}** at {escape_markdown(_without_scheme(_address()))}")
    elif lots.can_offer(grid):
        st.button("With the class", key="lots", help=LOTS_HELP, on_click=_draw_lots, args=(grid,))


def has_begun() -> bool:
    """Return whether the button of `offer_lots` was pressed: the whole page is to be drawn then,
    which has the panel, or says why there is none."""
    return st.session_state.pop(_LOTS, False)


def _draw_lots(grid: Grid) -> None:
    st.session_state[_LOTS] = True
    if begin():
        sessions.ALL.draw_lots(visitors.name(), by_class.lot(grid))
        st.session_state[_FOLDED] = False


def reveal(key: str) -> None:
    """Let the right answer be marked, as the page shows that of the question of that key."""
    sessions.ALL.reveal(visitors.name(), key)


def show() -> None:
    """Draw the panel if the visitor has a class."""
    if has_class():
        _panel()
    elif refused := st.session_state.pop(_REFUSED, ""):
        st.warning(escape_markdown(refused))


@st.fragment(run_every=_PAUSE)
def _panel() -> None:
    seen = sessions.ALL.seen(visitors.name())
    if seen is None:
        st.rerun()  # without the panel
    with st.container(key="class", border=True):
        if _REFUSED in st.session_state:
            st.warning(escape_markdown(st.session_state[_REFUSED]))
        lot = lots.shown(seen)
        progress = lots.train(lot, seen.code) if lot else ""
        if _is_folded():
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.markdown(f"**Class {seen.code}**", width="content")
                _buttons(seen)
                _stage_toggle(seen)
            return
        with st.container(key="class-row", horizontal=True, gap="medium"):
            with st.container(key="class-place", width="content"):
                st.html(_place(seen.code, is_small=seen.result is not None))
            with st.container(key="class-answers", gap="small"):
                _answers(seen, progress)
                _stage_toggle(seen)


def _answers(seen: Seen, progress: str) -> None:
    """Draw the question, or the `progress` of what was drawn, the buttons and, once a round is
    open, its votes."""
    if progress:
        st.html(
            '<p class="class-ask">Draw a setting on your phone.</p>'
            f'<p class="class-count">{progress}</p>'
        )
    elif seen.question is None:
        st.html(
            '<p class="class-ask">No question is shown yet.</p><p>'
            "Press “With the class” beside a question of the story or below an exercise.</p>"
        )
    else:
        st.html(f'<p class="class-ask">{escape(seen.question.ask, quote=False)}</p>')
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        _buttons(seen)
    if seen.result is not None:
        _votes(seen.result, seen.revealed)
    _files(seen)


def _buttons(seen: Seen) -> None:
    """Draw how many have answered, and what the lecturer can do now."""
    question = seen.question
    phones = "1 phone" if seen.phones == 1 else f"{seen.phones} phones"
    vote = "Second vote: " if seen.round > 1 else ""
    lot = lots.shown(seen)
    if question:
        count = f"{vote}<b>{seen.answered}</b> answered, {phones} here"
    elif lot:
        count = f"Drawn by <b>{len(lot.drawn)}</b>, {phones} here"
    else:
        count = f"{phones} here"
    st.html(f'<p class="class-count" role="status">{count}</p>', width="content")
    if question is not None and not seen.opened:
        _button("Open the answers", _open_answers, "primary")
    if seen.opened and seen.round < ROUNDS:
        _button("Vote again", sessions.ALL.vote_again)
    if question is not None and not question.choices and seen.opened and not seen.revealed:
        label = "Show the measured curve" if question.curve else "Show the true value"
        _button(label, partial(sessions.ALL.reveal, key=question.key))
    _button("Unfold" if _is_folded() else "Fold", _fold, "tertiary")
    with st.popover("End", type="tertiary", width="content"):
        st.markdown("Its phones are sent away, and its results can no longer be saved.")
        _button("End the class", sessions.ALL.end)


def _stage_toggle(seen: Seen) -> None:
    """Draw the toggle for the stage on phones, which is off again at the next question."""
    key = f"class stage {seen.id}"
    st.session_state[key] = seen.has_stage  # as the lecturer's other windows have set it
    put = partial(sessions.ALL.put_stage, on=not seen.has_stage)
    waits = " (once no question is open)" if seen.has_stage and not seen.shows_stage else ""
    st.toggle(f"Stage on phones{waits}", key=key, on_change=_put_stage, args=(put,))
    if st.session_state.pop(_REDRAW, False):
        pending_address.apply_pending()
        st.rerun()  # the whole page: it knows the stage


def _put_stage(put: Callable[[str], None]) -> None:
    _act(put)
    st.session_state[_REDRAW] = True


def _button(
    label: str,
    act: Callable[[str], None],
    type: Literal["primary", "secondary", "tertiary"] = "secondary",
) -> None:
    """Draw a button that does something to the visitor's class."""
    st.button(label, key=f"class {label}", type=type, on_click=_act, args=(act,))


def _votes(result: Result, marks_right: bool) -> None:
    """Draw the votes in the visitor's theme."""
    figure = figures.themed(class_figures.answers(result, marks_right), theme().dark)
    if theme().projector:
        figure = figures.enlarged(figure)
    said = class_figures.sentence(result, marks_right)
    st.markdown(f"**{escape_markdown(said)}**")
    plays = bool(result.question.curve) and marks_right
    with st.container(key="class-measured" if plays else "class-drawn"):
        chart.show_chart(figure, "class figure", said)


def _files(seen: Seen) -> None:
    """Draw the downloads of what the class has answered so far, with the right answers."""
    results = [*seen.former, *([seen.result] if seen.result else [])]
    if not results:
        return
    title = f"What the class {seen.code} answered, {datetime.now():%Y-%m-%d}"
    files = {
        "Results (CSV)": (export.table(results), "csv"),
        "Results to print (HTML)": (export.page(results, title), "html"),
    }
    with st.container(horizontal=True, gap="small"):
        for label, (content, kind) in files.items():
            name = f"class-{seen.code}.{kind}"
            st.download_button(label, content, name, type="tertiary", on_click="ignore")


def _address() -> str:
    """Return the address at which phones join."""
    page = (st.context.url or "").split("?")[0].rpartition("/")[0]
    return f"{page}/{PAGE}"


def _without_scheme(address: str) -> str:
    return address.removeprefix(f"{urlsplit(address).scheme}://")


def _place(code: str, is_small: bool) -> str:
    """Return where phones join, as HTML: the QR code, the code, the address."""
    address = _address()
    shown = escape(_without_scheme(address), quote=False)
    note = ""
    if not visitors.is_open_to_others(st.context.url or ""):
        note = (
            '<p class="class-note">Only this computer can open it. Start the dashboard as “Serving '
            "a class” says (pages/README.md) and open it under that name.</p>"
        )
    picture = escape(qr_address(f"{address}?code={code}"))
    size = " small" if is_small else ""
    return (
        f'<div class="class-place{size}"><img src="{picture}" alt="QR code of {shown}">'
        f"<b>{code}</b><p>{shown}</p>{note}</div>"
    )


def _act(act: Callable[[str], None]) -> None:
    """Do something to the visitor's class, which may have ended since the panel was drawn."""
    st.session_state.pop(_REFUSED, None)
    try:
        act(visitors.name())
    except Refused as refused:
        st.session_state[_REFUSED] = str(refused)


def _open_answers(owner: str) -> None:
    """Open the answers, and keep their counts for the notes of the page of lessons."""
    sessions.ALL.open_answers(owner)
    seen = sessions.ALL.seen(owner)
    if seen is None or seen.result is None:
        return
    try:
        record.keep(seen.id, seen.result)
    except OSError as problem:
        st.session_state[_REFUSED] = f"The counts could not be kept on this computer: {problem}."


def _is_folded() -> bool:
    return st.session_state.get(_FOLDED, False)


def _fold(_: str) -> None:
    st.session_state[_FOLDED] = not _is_folded()
