"""The lessons that are ready: what students will be able to do, a link, a lecturer's notes,
exercises with answers."""

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
from pages.ui.story import lesson


def show() -> None:
    """Draw the page of lessons."""
    menu.frame("Lessons")
    st.title("Lessons, ready to teach", anchor=False)
    st.markdown(
        "A lesson is a page of the app with less on it: some settings are fixed, a prediction "
        "comes before its answer, "
        "and three exercises are checked as they are answered. Give students the link. The "
        "notes are for you: they "
        "withhold nothing. Students can open this page, too: the exercises are there to learn "
        "from, not to be marked."
    )
    for paper, each in registry.lessons().values():
        with st.container(border=True, key=f"lesson-{each.name}"):
            _lesson(paper, each)
    same_tab_links.listen()


def _lesson(paper: Paper, each: Lesson) -> None:
    st.header(each.title, anchor=False)
    st.markdown(lesson.aims_text(each))
    st.caption(
        f"{escape_markdown(paper.title)} · {each.minutes} minutes · {len(each.exercises)} exercises"
    )
    query = {"experiment": each.experiment, "lesson": each.name}
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("Open the lesson", key=f"open {each.name}", type="primary"):
            st.switch_page(f"pages/{paper.name}.py", query_params=query)
        page = (st.context.url or "").split("?")[0].rpartition("/")[0]
        st.code(f"{page}/{paper.name}?{urlencode(query)}", language=None, wrap_lines=True)
    with st.expander("Lecturer's notes"):
        for number, note in enumerate(each.notes, 1):
            _note(paper, each, number, note)
    with st.expander("Exercises, with answers"):
        for number, exercise in enumerate(each.exercises, 1):
            _exercise(paper, each, number, exercise)


def _note(paper: Paper, each: Lesson, number: int, note: Note) -> None:
    st.markdown(f"**{number}. Ask:** {escape_markdown(note.ask)} ({note.minutes} minutes)")
    st.markdown(f"**They will say:** {escape_markdown(' '.join(note.they_say))}")
    st.markdown(f"**Then:** {escape_markdown(note.tell)}")
    menu.link(paper.name, f"Show: {note.show.say}", _query(each, note.show))


def _query(each: Lesson, what: Try) -> dict[str, str]:
    """The address of something to show: not within the lesson, where some of it may be withheld."""
    found = {"experiment": each.experiment} | {
        name: address.value_text(value) for name, value in what.fields.items()
    }
    found |= {"step": str(what.step)} if what.step is not None else {}
    found |= {"drawer": what.drawer} if what.drawer else {}
    return found | ({"marks": ",".join(what.marks)} if what.marks else {})


def _exercise(paper: Paper, each: Lesson, number: int, exercise: Exercise) -> None:
    """What is asked; the answer, which is computed, when it is asked for."""
    st.markdown(f"**{number}.** {escape_markdown(exercise.ask)}")
    if st.checkbox(f"Show answer {number}", key=f"answer {each.name} {exercise.name}"):
        run = _run(f"{paper.name}.{each.experiment}", each.preset)
        st.markdown(
            escape_markdown(exercise.answer(run))
            if run
            else "It needs a run: `python -m icl_core build` makes it."
        )


def _run(id: str, preset: str) -> Run | None:
    header = store.default().preset(id, preset)
    return store.default().load(header) if header else None
