"""The lecturer's side of a class: what the page offers, shows and tells, without a browser."""

import json
import re
from urllib.parse import urlencode

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from test_classroom import CHOICE, NUMBER, phone
from test_lesson import LESSONS
from test_links import open_page

from icl_core.classroom import figures, sessions
from icl_core.classroom.session import Result, Seen
from icl_core.classroom.sessions import Sessions
from icl_core.figures.style import themed

STORY = "beat=order"


@pytest.fixture(autouse=True)
def classes(monkeypatch) -> Sessions:
    classes = Sessions()
    monkeypatch.setattr(sessions, "ALL", classes)
    return classes


def opened(app: AppTest) -> AppTest:
    assert not app.exception and not app.error
    return app


def press(app: AppTest, label: str) -> AppTest:
    (button,) = [button for button in app.button if button.label == label]
    return opened(button.click().run())


def labels(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def html(app: AppTest) -> str:
    return " ".join(element.proto.body for element in app.get("html"))


def said(app: AppTest) -> str:
    """The page's sentences without their escapes."""
    return re.sub(r"\\(\W)", r"\1", " ".join(markdown.value for markdown in app.markdown))


def the(classes: Sessions) -> Seen:
    """What the only lecturer sees."""
    (owner,) = [session.owner for session in classes._by_code.values()]
    seen = classes.seen(owner)
    assert seen is not None
    return seen


def vote(classes: Sessions, round: int, *answers: object) -> None:
    seen = the(classes)
    number = classes.state(seen.code, phone(0))["number"]
    for index, answer in enumerate(answers):
        classes.vote(seen.code, phone(index), number, round, answer)


def first_question(page: str = "birth") -> tuple[AppTest, str]:
    """A page at its first beat with a question, and that beat's name."""
    from icl_core import registry

    paper = registry.papers()[page]
    name = next(iter(paper.experiments))
    story = registry.experiment(f"{page}.{name}").story
    assert story is not None
    beat = next(beat for beat in story.beats if beat.ask)
    return opened(open_page(page, f"beat={beat.name}")), beat.name


def test_a_question_is_asked_with_the_class_and_its_answer_marked_once_it_is_shown(
    classes: Sessions,
) -> None:
    app, beat = first_question()
    assert labels(app).count("With the class") == 1 and "Open the answers" not in labels(app)
    press(app, "With the class")
    seen = the(classes)
    assert seen.question and seen.question.key == f"birth.induction {beat}"
    assert seen.code in html(app) and "QR code of" in html(app) and "/join" in html(app)
    assert "With the class" not in labels(app)  # it is being asked
    vote(classes, 1, 0, 1, 1, 2)
    assert "<b>4</b> answered, 4 phones here" in html(opened(app.run()))
    assert "4 answered." not in said(app)
    press(app, "Open the answers")
    assert "4 answered." in said(app)
    assert not the(classes).revealed and "Open the answers" not in labels(app)
    press(app, "Vote again")
    vote(classes, 2, 1, 1, 1, 1)
    press(app, "Open the answers")
    assert "Vote again" not in labels(app)
    assert "4 answered, then 4: 2 of 4 changed their answer." in said(app)
    assert "Right: " not in said(app)
    press(app, "Show me")
    assert the(classes).revealed
    assert "to the right one. Right: " in said(opened(app.run()))
    press(app, "End the class")
    assert "End the class" not in labels(app) and not classes._by_code


def test_a_question_that_the_lecturer_has_answered_is_open_again(classes: Sessions) -> None:
    app, _ = first_question("gdssm")
    press(app, "Show me")
    assert "Show me" not in labels(app)
    press(app, "With the class")
    assert "Show me" in labels(app) and the(classes).question and not the(classes).revealed


def test_a_lesson_begins_with_the_class_and_asks_a_number(classes: Sessions) -> None:
    name = "induction-head"
    paper, lesson = LESSONS[name]
    link = urlencode({"experiment": lesson.experiment, "lesson": name})
    app = opened(open_page(paper.name, link))
    assert labels(app).count("With the class") == 0  # a student's
    (owner,) = {app.session_state["visitor"]}
    classes.open(owner)
    opened(app.run())
    assert "No question is shown yet." in html(app)
    assert labels(app).count("With the class") == 3
    app.button(key=f"with-class-{name}-{lesson.exercises[2].name}").click().run()
    seen = the(classes)
    assert seen.question and seen.question.right == 49152 and seen.question.unit == "numbers"
    vote(classes, 1, "49152", "128", "3")
    opened(app.run())
    press(app, "Open the answers")
    assert "3 answered." in said(app) and "Right: " not in said(app)
    press(app, "Show the true value")
    assert "3 answered. Right: 1." in said(app)


def test_the_page_of_lessons_begins_a_class(classes: Sessions) -> None:
    app = opened(open_page("lessons", ""))
    assert labels(app).count("With the class") == len(LESSONS)
    app.button(key="class induction-head").click().run()
    assert the(classes).question is None


def test_too_many_classes_are_told(classes: Sessions, monkeypatch) -> None:
    monkeypatch.setattr("icl_core.machine.limits.CLASSES", 1)
    classes.open("another")
    app, _ = first_question("gdssm")
    press(app, "With the class")
    assert [warning.value for warning in app.warning if "holds 1 classes" in warning.value]
    assert "End the class" not in labels(app)


def test_a_folded_panel_leaves_one_line(classes: Sessions) -> None:
    app, _ = first_question("gdssm")
    press(app, "With the class")
    press(app, "Fold")
    assert "QR code of" not in html(app) and "Open the answers" in labels(app)
    press(app, "Unfold")
    assert "QR code of" in html(app)


def drawn(result: Result, marks_right: bool) -> str:
    figure = figures.answers(result, marks_right)
    figure.plotly()  # plotly checks it
    return json.dumps(themed(figure, True).to_dict(), default=str, ensure_ascii=False)


def test_bars_have_the_counts_and_a_mark_only_if_it_is_to_be_marked() -> None:
    result = Result(CHOICE, ((0, 1, 1, 1), (1, 1)), 2, 1, 1)
    figure = figures.answers(result, True)
    assert [list(trace["text"]) for trace in figure.data] == [
        ["1 (25%)", "3 (75%)", "0 (0%)"],
        ["0 (0%)", "2 (100%)", "0 (0%)"],
    ]
    assert list(figure.data[0]["y"]) == ["this", "<b>✓ right: that</b>", "neither"]
    assert "✓" not in drawn(result, False) and "✓ right" in drawn(result, True)
    assert figures.sentence(result, False) == "4 answered, then 2: 1 of 2 changed their answer."
    assert figures.sentence(result, True) == (
        "4 answered, then 2: 1 of 2 changed their answer, 1 to the right one. Right: 3, then 2."
    )


def test_a_histogram_counts_every_number_but_those_far_away() -> None:
    values = (64.0, 100.0, 127.5, 128.0, 128.0, 256.0, 1e30, -1e30)
    result = Result(NUMBER, (tuple(sorted(values)),))
    assert "✓" not in drawn(result, False) and "✓ right: 128" in drawn(result, True)
    trace = figures.answers(result, True).data[0]
    assert int(np.sum(trace["y"])) == 6 and max(trace["x"]) < 300
    assert figures.sentence(result, True) == (
        "8 answered. Right: 3. 2 too far from the others to be drawn."
    )
    assert "128" not in drawn(Result(NUMBER, ((3.0, 4.0),)), False)


@pytest.mark.parametrize("votes", [(), (5.0,), (0.0, 0.0), (1e30,), (-1.0, 1e-300)])
def test_any_numbers_can_be_drawn(votes: tuple[float, ...]) -> None:
    for marks_right in (False, True):
        assert "NaN" not in drawn(Result(NUMBER, (votes, votes), len(votes)), marks_right)
