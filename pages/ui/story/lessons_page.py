"""The page of lessons: each with its aims, its link, a lecturer's notes, and exercises with
answers."""

from urllib.parse import urlencode

import streamlit as st

from icl_core import registry
from icl_core.contract.experiment import Paper, Run
from icl_core.contract.lesson import Exercise, Lesson, Note
from icl_core.contract.story import Try
from icl_core.runs import store
from pages.ui.link import address, same_tab_links
from pages.ui.look import menu
from pages.ui.look.escape import escape_markdown
from pages.ui.look.memory_fault import say_if_memory_ends
from pages.ui.story.lesson import aims_text
from pages.ui.story.tour import sight_query


@say_if_memory_ends
def show() -> None:
    """Draw the page of lessons."""
    menu.frame("Lessons")
    st.title("Lessons, ready to teach", anchor=False)
    st.markdown(
        "A lesson is a page of the app with less on it: some settings are fixed, a prediction "
        "comes before its answer, and three exercises are checked as they are answered. Give "
        "students the link. The notes give all answers. Students can open this page, too: the "
        "exercises are there to learn from, not to be marked."
    )
    for paper, lesson in registry.lessons().values():
        with st.container(border=True, key=f"lesson-{lesson.name}"):
            _lesson(paper, lesson)
    same_tab_links.listen()


def _lesson(paper: Paper, lesson: Lesson) -> None:
    st.header(lesson.title, anchor=False)
    st.markdown(aims_text(lesson))
    st.caption(
        f"{escape_markdown(paper.title)} · {lesson.minutes} minutes · {len(lesson.exercises)} "
        "exercises"
    )
    query = {"experiment": lesson.experiment, "lesson": lesson.name}
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("Open the lesson", key=f"open {lesson.name}", type="primary"):
            st.switch_page(f"pages/{paper.name}.py", query_params=query)
        page = (st.context.url or "").split("?")[0].rpartition("/")[0]
        st.code(f"{page}/{paper.name}?{urlencode(query)}", language=None, wrap_lines=True)
    with st.expander("Lecturer's notes"):
        for number, note in enumerate(lesson.notes, 1):
            _note(paper, lesson, number, note)
    with st.expander("Exercises, with answers"):
        for number, exercise in enumerate(lesson.exercises, 1):
            _exercise(paper, lesson, number, exercise)


def _note(paper: Paper, lesson: Lesson, number: int, note: Note) -> None:
    st.markdown(f"**{number}. Ask:** {escape_markdown(note.ask)} ({note.minutes} minutes)")
    st.markdown(f"**They will say:** {escape_markdown(' '.join(note.they_say))}")
    st.markdown(f"**Then:** {escape_markdown(note.tell)}")
    menu.link(paper.name, f"Show: {note.show.say}", _query(lesson, note.show))


def _query(lesson: Lesson, item: Try) -> dict[str, str]:
    """Return the address of something to show; outside the lesson, which may withhold part of
    it."""
    query = {"experiment": lesson.experiment}
    for name, value in item.fields.items():
        query[name] = address.value_text(value)
    return query | sight_query(item)


def _exercise(paper: Paper, lesson: Lesson, number: int, exercise: Exercise) -> None:
    """Draw a question; its answer is computed from a run, so only if it is asked for."""
    st.markdown(f"**{number}.** {escape_markdown(exercise.ask)}")
    if st.checkbox(f"Show answer {number}", key=f"answer {lesson.name} {exercise.name}"):
        run = _run(f"{paper.name}.{lesson.experiment}", lesson.preset)
        if run is None:
            st.markdown("It needs a run: `python -m icl_core build` makes it.")
        else:
            st.markdown(escape_markdown(exercise.answer(run)))


def _run(experiment_id: str, preset: str) -> Run | None:
    header = store.default().preset(experiment_id, preset)
    return store.default().load(header) if header else None
