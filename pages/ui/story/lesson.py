"""A lesson on its paper's page: title, exercises and aims in the sidebar, the button that leaves
it. And the page of all lessons: each with its aims, its link, a lecturer's notes, and exercises
with answers."""

from dataclasses import dataclass
from functools import partial
from urllib.parse import urlencode

import streamlit as st

from icl_core import registry
from icl_core.classroom import record
from icl_core.classroom.question import Question
from icl_core.contract.experiment import Paper, Run
from icl_core.contract.lesson import Exercise, Lesson, Note, readings
from icl_core.contract.story import Try
from icl_core.runs import store
from pages.ui.classroom import lecturer
from pages.ui.link import address, answers, pending_address, same_tab_links
from pages.ui.link.address import Setting
from pages.ui.link.widget_events import set_widget
from pages.ui.look import menu
from pages.ui.look.escape import escape_markdown
from pages.ui.look.memory_fault import say_if_memory_ends

FORMER_DRAWER = "Exercises"  # of links made before the exercises stood in the sidebar
NO_NUMBER = "Enter the result as a number: 1,250 or 0.5, for instance."


@dataclass(frozen=True)
class _Check:
    """What came of an answer: the run that it was checked against, the answer, the verdict."""

    digest: str
    given: str
    right: bool
    text: str


def show_in_sidebar(setting: Setting, run: Run | None) -> None:
    """Draw the lesson's title, its exercises if there is a run, and its aims."""
    if setting.lesson is None:
        return
    st.subheader(setting.lesson.title, anchor=False)
    with st.container(key="exercises", gap="small"):
        if run is not None:
            _exercises(setting, setting.lesson, run)
    with st.expander("Aims"):
        st.markdown(aims_text(setting.lesson))


def aims_text(lesson: Lesson) -> str:
    """Return what students will be able to do, as Markdown."""
    return "You will be able to\n" + "".join(f"\n- {escape_markdown(aim)}" for aim in lesson.able)


def result_text(lesson: Lesson) -> str:
    """Return how many of the lesson's exercises the visitor has answered."""
    count = len(lesson.exercises)
    right = sum(_is_right(lesson, exercise) for exercise in lesson.exercises)
    if right:
        return f"You answered {right} of {count} exercises."
    return f"Its {count} exercises stand in the sidebar."


def leave_button(setting: Setting) -> None:
    """Draw the button that leaves the lesson; what is on screen stays."""
    if setting.lesson is not None:
        st.button(
            "Leave the lesson", key="leave", type="tertiary", on_click=_leave, args=(setting.name,)
        )


def _leave(experiment: str) -> None:
    pending_address.change({"experiment": experiment}, drop=["lesson"])


def _exercises(setting: Setting, lesson: Lesson, run: Run) -> None:
    """Draw a field for each exercise, checked when an answer is entered, and the result."""
    if setting.config != setting.preset.config or setting.preset.name != lesson.preset:
        st.info("The exercises ask about the lesson's own setting, not about this one.")
        query = {"experiment": setting.name, "preset": lesson.preset}
        st.button("Back to the lesson's setting", on_click=address.go, kwargs=query)
        return
    for number, exercise in enumerate(lesson.exercises, 1):
        with st.container(key=f"exercise-{exercise.name}", gap="xsmall"):
            _exercise(lesson, run, number, exercise)
    if all(_is_right(lesson, exercise) for exercise in lesson.exercises):
        _show_result(lesson)
    if any(_answer_key(lesson, exercise) in st.session_state for exercise in lesson.exercises):
        st.button(
            "Clear my answers",
            key="clear answers",
            type="tertiary",
            on_click=_clear,
            args=(lesson,),
        )


def _exercise(lesson: Lesson, run: Run, number: int, exercise: Exercise) -> None:
    answer_key = _answer_key(lesson, exercise)
    widget_key = f"exercise {lesson.name} {exercise.name}"
    st.markdown(f"**{number}.** {escape_markdown(exercise.ask)}")
    answer = st.session_state.get(answer_key, "")
    set_widget(widget_key, answer)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.text_input(
            f"Answer {number}, {exercise.unit}",
            answer,
            key=widget_key,
            max_chars=20,
            width=140,
            label_visibility="collapsed",
            on_change=_store_answer,
            args=(answer_key, widget_key),
        )
        st.markdown(escape_markdown(exercise.unit))
    key = f"{lesson.name} {exercise.name}"
    if lecturer.has_class():  # students' lessons have no such buttons
        lecturer.offer(key, partial(_ask_class, run, exercise, key))
    if not answer:
        return
    check = _check(lesson, exercise, run, answer)
    if check.right:
        st.success(escape_markdown(check.text))
        lecturer.reveal(key)
    else:
        st.info(escape_markdown(check.text))


def _ask_class(run: Run, exercise: Exercise, key: str) -> None:
    right = exercise.right(run)
    lecturer.ask(Question(key, exercise.ask, right, (), exercise.unit, exercise.within))


def _check(lesson: Lesson, exercise: Exercise, run: Run, answer: str) -> _Check:
    """Return what comes of an answer. It is kept, as some answers take a while to compute."""
    key = f"check {lesson.name} {exercise.name}"
    check = st.session_state.get(key)
    if check is None or (check.digest, check.given) != (run.digest, answer):
        right = exercise.accepts(run, answer)
        if right:
            text = f"✓ Right: {exercise.answer(run)}"
        elif readings(answer):
            text = f"Not yet: {answer}. {exercise.hint}"
        else:
            text = NO_NUMBER
        check = _Check(run.digest, answer, right, text)
        st.session_state[key] = check
    return check


def _is_right(lesson: Lesson, exercise: Exercise) -> bool:
    check = st.session_state.get(f"check {lesson.name} {exercise.name}")
    return check is not None and check.right


def _show_result(lesson: Lesson) -> None:
    """Draw the lesson's result and the way to the next lesson, or to the gallery after the last."""
    count = len(lesson.exercises)
    st.success(f"You answered {count} of {count}. This lesson is done.")
    names = list(registry.lessons())
    following = names[names.index(lesson.name) + 1 :]
    if following:
        paper, other = registry.lessons()[following[0]]
        query = {"experiment": other.experiment, "lesson": other.name}
        menu.link(paper.name, f"Next lesson: {other.title}", query)
    else:
        menu.link("gallery", "To the gallery of all findings")


def _answer_key(lesson: Lesson, exercise: Exercise) -> str:
    return f"given {lesson.name} {exercise.name}"


def _store_answer(answer_key: str, widget_key: str) -> None:
    """Keep an answer for the visit, and over a reload."""
    answers.store(answer_key, st.session_state[widget_key].strip())


def _clear(lesson: Lesson) -> None:
    """Forget all answers in the lesson."""
    answers.clear()
    for exercise in lesson.exercises:
        for key in (_answer_key(lesson, exercise), f"check {lesson.name} {exercise.name}"):
            st.session_state.pop(key, None)


@say_if_memory_ends
def show_all() -> None:
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
        if st.button("With the class", key=f"class {lesson.name}", help=lecturer.HELP):
            lecturer.begin()
            st.switch_page(f"pages/{paper.name}.py", query_params=query)
        page = (st.context.url or "").split("?")[0].rpartition("/")[0]
        st.code(f"{page}/{paper.name}?{urlencode(query)}", language=None, wrap_lines=True)
    with st.expander("Lecturer's notes"):
        for number, note in enumerate(lesson.notes, 1):
            _note(paper, lesson, number, note)
        _rooms(paper, lesson)
    with st.expander("Exercises, with answers"):
        for number, exercise in enumerate(lesson.exercises, 1):
            _exercise_with_answer(paper, lesson, number, exercise)


def _note(paper: Paper, lesson: Lesson, number: int, note: Note) -> None:
    st.markdown(f"**{number}. Ask:** {escape_markdown(note.ask)} ({note.minutes} minutes)")
    st.markdown(f"**They will say:** {escape_markdown(' '.join(note.they_say))}")
    st.markdown(f"**Then:** {escape_markdown(note.tell)}")
    menu.link(paper.name, f"Show: {note.show.say}", _note_query(lesson, note.show))


def _rooms(paper: Paper, lesson: Lesson) -> None:
    """Draw what rooms have answered before, on this computer."""
    beginnings = (f"{paper.name}.{lesson.experiment} ", f"{lesson.name} ")
    for rooms in record.records(beginnings):
        lines = "".join(f"\n- {escape_markdown(line)}" for line in rooms.lines())
        st.markdown(f"**Rooms answered:** {escape_markdown(rooms.ask)} ({rooms.head()})\n{lines}")


def _note_query(lesson: Lesson, item: Try) -> dict[str, str]:
    """Return the address of something to show; outside the lesson, which may withhold part of
    it."""
    query = {"experiment": lesson.experiment}
    for name, value in item.fields.items():
        query[name] = address.value_text(value)
    return query | item.sight


def _exercise_with_answer(paper: Paper, lesson: Lesson, number: int, exercise: Exercise) -> None:
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
