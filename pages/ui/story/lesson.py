"""A lesson on its paper's page: what it is called, a way out, its exercises."""

import streamlit as st

from icl_core.contract.experiment import Run
from icl_core.contract.lesson import Exercise, Lesson
from pages.ui.link import address, pending_address
from pages.ui.link.address import Setting
from pages.ui.link.widget_events import set_widget
from pages.ui.look.escape import escape_markdown

EXERCISES = "Exercises"


def show_in_sidebar(setting: Setting) -> None:
    """In the sidebar: the lesson's title, and what one will be able to do."""
    if setting.lesson is not None:
        st.subheader(setting.lesson.title, anchor=False)
        st.markdown(aims_text(setting.lesson))


def aims_text(lesson: Lesson) -> str:
    """What students will be able to do, as Markdown."""
    return "You will be able to\n" + "".join(f"\n- {escape_markdown(each)}" for each in lesson.able)


def leave_button(setting: Setting) -> None:
    """The button that leaves the lesson; what is on screen stays."""
    if setting.lesson is not None:
        st.button(
            "Leave the lesson", key="leave", type="tertiary", on_click=_leave, args=(setting.name,)
        )


def _leave(experiment: str) -> None:
    gone = [
        "lesson",
        *(["drawer"] if pending_address.current_query().get("drawer") == EXERCISES else []),
    ]
    pending_address.change({"experiment": experiment}, drop=gone)


def exercises(setting: Setting, run: Run) -> None:
    """The drawer: a field for each exercise, checked here when something is entered."""
    if setting.lesson is None:
        return
    if setting.config != setting.preset.config or setting.preset.name != setting.lesson.preset:
        st.info("The exercises ask about the lesson's own setting, not about this one.")
        back = {"experiment": setting.name, "preset": setting.lesson.preset, "drawer": EXERCISES}
        st.button("Back to the lesson's setting", on_click=address.go, kwargs=back)
        return
    for number, exercise in enumerate(setting.lesson.exercises, 1):
        with st.container(border=True, key=f"exercise-{exercise.name}"):
            _exercise(setting.lesson, run, number, exercise)
    st.caption("The answers stand in the lecturer's notes, on the page Lessons.")


def _exercise(lesson: Lesson, run: Run, number: int, exercise: Exercise) -> None:
    kept, key = f"given {lesson.name} {exercise.name}", f"exercise {lesson.name} {exercise.name}"
    st.markdown(f"**{number}.** {escape_markdown(exercise.ask)}")
    known = st.session_state.get(kept, "")
    set_widget(key, known)
    with st.container(horizontal=True, vertical_alignment="center"):
        label = f"Answer {number}, {exercise.unit}"
        st.text_input(label, known, key=key, max_chars=20, width=140, label_visibility="collapsed",
                      on_change=_keep, args=(kept, key))  # fmt: skip
        st.markdown(escape_markdown(exercise.unit))
    if given := st.session_state.get(kept, ""):
        _judge(run, exercise, given)


def _keep(kept: str, key: str) -> None:
    """What was entered stays for the visit, also while its field is not on the page."""
    st.session_state[kept] = st.session_state[key].strip()


def _judge(run: Run, exercise: Exercise, given: str) -> None:
    """Right, with how the number comes about, or not yet, with where to look."""
    if exercise.accepts(run, given):
        st.success(f"✓ Right: {escape_markdown(exercise.answer(run))}")
    else:
        st.info(f"Not yet: {escape_markdown(given)}. {escape_markdown(exercise.hint)}")
