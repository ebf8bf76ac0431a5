"""Predictions: a beat may ask for one before it shows what came out.

A prediction is never graded and is optional unless a lesson asks for it. The session keeps it for
the visit; made in a lesson, it outlives a reload.
"""

from typing import Any

import streamlit as st

from icl_core.classroom import question as class_question
from icl_core.classroom.curves import drawable
from icl_core.contract.experiment import Run
from icl_core.contract.story import Beat, Question, seen_at, sentence_of
from pages.ui.classroom import lecturer
from pages.ui.link import address, answers, pending_address
from pages.ui.link.address import Setting
from pages.ui.look.escape import escape_markdown
from pages.ui.story import places
from pages.ui.story.glossary import line
from pages.ui.story.places import answer_key

PASSED = -1  # stored in place of a choice: the visitor pressed "Show me"


def ask(run: Run, beat: Beat, question: Question, required: bool) -> None:
    """Draw the choices as buttons, with "Show me" beside them unless a lesson requires a
    prediction."""
    with st.container(key="choices", horizontal=True, gap="small"):
        for index, choice in enumerate(question.choices):
            st.button(
                choice, key=f"choice {index}", on_click=_store_answer, args=(run, beat, index)
            )
        if not required:
            st.button("Show me", key="pass", type="tertiary", on_click=pass_over, args=(run, beat))


def class_key(experiment_id: str, beat: Beat) -> str:
    """Return the key of a beat's question in a class."""
    return f"{experiment_id} {beat.name}"


def offer_class(setting: Setting, run: Run, beat: Beat, question: Question) -> None:
    """Draw the button that asks a class; the page then waits for the answer, too, also if the
    visitor has given it."""
    key = class_key(setting.id, beat)

    def ask_class() -> None:
        right = question.right(run, seen_at(beat, run, setting.base_view))
        lecturer.ask(class_question.Question(key, question.ask, right, question.choices))
        answers.forget(answer_key(run, beat))

    if not lecturer.has_class():
        lecturer.offer(key, ask_class)
        return
    help = "The class draws a curve, which the question hides or a closed drawer has"
    with st.container(key="asks", horizontal=True, gap="small"):
        lecturer.offer(key, ask_class)
        draws = st.button("Let them draw", key="let-them-draw", type="tertiary", help=help)
    if draws:
        _choose_curve(setting, run, beat, question)


@st.dialog("Which curve shall the class draw?")
def _choose_curve(setting: Setting, run: Run, beat: Beat, question: Question) -> None:
    """Draw a button for each curve of the run that is not on screen, which asks for it."""
    view = seen_at(beat, run, setting.base_view)
    drawer = st.query_params.get("drawer", "")
    curves = drawable(setting.experiment, run, view, question.hides, drawer)
    if not curves:
        st.markdown("This run has no curve that the question hides or a closed drawer has.")
    for number, (curve, is_hidden) in enumerate(curves):
        label = f"{escape_markdown(curve.name)}: {curve.y} against {curve.x}"
        if st.button(label, key=f"curve {number}", type="tertiary"):
            ask = f"Draw “{curve.name}” as you expect it: {curve.y} against {curve.x}."
            # one that the question hides may be seen once it is answered, one of a drawer may not
            place = class_question.IN_PLACE if is_hidden else " in a drawer: "
            key = f"{class_key(setting.id, beat)}{place}{curve.name}, {curve.y}"
            lecturer.ask(class_question.Question(key, ask, 0.0, curve=curve))
            answers.forget(answer_key(run, beat))
            pending_address.apply_pending()
            st.rerun()


def answer(experiment_id: str, run: Run, beat: Beat, question: Question, view: Any) -> None:
    """Draw the visitor's answer, what came out in the beat's `view`, and a popover that asks
    why."""
    chosen = st.session_state[answer_key(run, beat)]
    outcome = _outcome(question, chosen, question.right(run, view))
    _outcomes()[experiment_id, beat.name] = outcome
    paper = experiment_id.partition(".")[0]
    with st.container(key="answered", horizontal=True, vertical_alignment="center", gap="small"):
        line(paper, f"{outcome} {sentence_of(question.answer, run, view)}")
        with st.popover("Why?", type="tertiary", width="content"):
            reason = st.text_input(
                "Why, do you think?", key=f"why {answer_key(run, beat)}", max_chars=300
            )
            if reason or st.button("Show our explanation", key="ours"):
                line(paper, question.why)


def _outcome(question: Question, chosen: int, right: int) -> str:
    """Return the visitor's choice and the answer; what a choice has in brackets is left out."""
    choices = [choice.partition(" (")[0] for choice in question.choices]
    if chosen == PASSED:
        return f"The answer: {choices[right]}."
    if chosen == right:
        return f"Right, as you chose: {choices[right]}."
    return f"The answer: {choices[right]}. You chose: {choices[chosen]}."


def _outcomes() -> dict[tuple[str, str], str]:
    return st.session_state.setdefault("outcomes", {})


def outcomes(experiment_id: str) -> list[str]:
    """Return the visitor's answers in an experiment, with the right ones, in this visit."""
    return [text for (id, _), text in _outcomes().items() if id == experiment_id]


def pass_over(run: Run, beat: Beat) -> None:
    """Show what a question asks about, without a prediction."""
    _store_answer(run, beat, PASSED)


def _store_answer(run: Run, beat: Beat, index: int) -> None:
    answers.store(answer_key(run, beat), index)
    address.write_all(places.play_query(run, (), beat))
