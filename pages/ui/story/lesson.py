"""A lesson on its paper's page: title and aims, the button that leaves it, the exercises."""

import streamlit as st

from icl_core.contract.experiment import Run
from icl_core.contract.lesson import Exercise, Lesson
from pages.ui.link import address, pending_address
from pages.ui.link.address import Setting
from pages.ui.link.widget_events import set_widget
from pages.ui.look.escape import escape_markdown

EXERCISES = "Exercises"


def show_in_sidebar(setting: Setting) -> None:
    """Draw the lesson's title and its aims."""
    if setting.lesson is not None:
        st.subheader(setting.lesson.title, anchor=False)
        st.markdown(aims_text(setting.lesson))


def aims_text(lesson: Lesson) -> str:
    """Return what students will be able to do, as Markdown."""
    return "You will be able to\n" + "".join(f"\n- {escape_markdown(aim)}" for aim in lesson.able)


def leave_button(setting: Setting) -> None:
    """Draw the button that leaves the lesson; what is on screen stays."""
    if setting.lesson is not None:
        st.button(
            "Leave the lesson", key="leave", type="tertiary", on_click=_leave, args=(setting.name,)
        )


def _leave(experiment: str) -> None:
    dropped = ["lesson"]
    if pending_address.current_query().get("drawer") == EXERCISES:
        dropped.append("drawer")
    pending_address.change({"experiment": experiment}, drop=dropped)


def exercises(setting: Setting, run: Run) -> None:
    """Draw the drawer: a field for each exercise, checked when an answer is entered."""
    if setting.lesson is None:
        return
    if setting.config != setting.preset.config or setting.preset.name != setting.lesson.preset:
        st.info("The exercises ask about the lesson's own setting, not about this one.")
        query = {"experiment": setting.name, "preset": setting.lesson.preset, "drawer": EXERCISES}
        st.button("Back to the lesson's setting", on_click=address.go, kwargs=query)
        return
    for number, exercise in enumerate(setting.lesson.exercises, 1):
        with st.container(border=True, key=f"exercise-{exercise.name}"):
            _exercise(setting.lesson, run, number, exercise)
    st.caption("The answers stand in the lecturer's notes, on the page Lessons.")


def _exercise(lesson: Lesson, run: Run, number: int, exercise: Exercise) -> None:
    answer_key = f"given {lesson.name} {exercise.name}"
    widget_key = f"exercise {lesson.name} {exercise.name}"
    st.markdown(f"**{number}.** {escape_markdown(exercise.ask)}")
    answer = st.session_state.get(answer_key, "")
    set_widget(widget_key, answer)
    with st.container(horizontal=True, vertical_alignment="center"):
        label = f"Answer {number}, {exercise.unit}"
        st.text_input(
            label,
            answer,
            key=widget_key,
            max_chars=20,
            width=140,
            label_visibility="collapsed",
            on_change=_store_answer,
            args=(answer_key, widget_key),
        )
        st.markdown(escape_markdown(exercise.unit))
    if not answer:
        return
    if exercise.accepts(run, answer):
        st.success(f"✓ Right: {escape_markdown(exercise.answer(run))}")
    else:
        st.info(f"Not yet: {escape_markdown(answer)}. {escape_markdown(exercise.hint)}")


def _store_answer(answer_key: str, widget_key: str) -> None:
    """Keep an answer for the visit, also while its field is not on the page."""
    st.session_state[answer_key] = st.session_state[widget_key].strip()
