"""Texts of papers and lessons in Markdown: what is read, what is refused, and that a dashboard that
runs takes a changed file."""

from pathlib import Path

import pytest

from icl_core import registry
from icl_core.contract import words as module
from icl_core.contract.experiment import Opening, Paper, Run, Try
from icl_core.contract.paper_words import LessonWords, PaperWords
from icl_core.contract.publication import FollowUp
from icl_core.contract.words_file import WordsError

PAPER = r"""# Its title

What it is
about.

Another paragraph.

## found

One sentence.

## follow-up 2402.11004

It goes on.

## opening

Where?

Look there.

own: Type your own

## panel picture
numbers: layers

{layers} layers

Lower is better.

## errata

- Eq. 1 lacks
  a sign.
- Eq. 2 has two.

## glossary

| code | symbol | meaning |
|---|---|---|
| C | C_t | the window [x_t, x_{t+1}], |x|² long |

## mathematics

A state $x_{t+1}$ is
$$
\sum_i x_i ,
$$
**Floor.** Its least value.
"""

LESSON = """# Look back

## able

- say what each does
- predict it

## exercise order

How many steps? Within 3.

unit: steps
hint: Look.
because: It is {right:0} of {all:0}.

## note board
minutes: 6

ask: What comes next?

- “b.”
- “That
  depends.”

Leave them {working} minutes.

show: The maps
set: alpha = 1.5
set: seed = 2
set: matrix = constructed
step: 40
drawer: Graft
marks: first, second
"""


@pytest.fixture(autouse=True)
def _no_other_file(monkeypatch):
    """A test's files are read again in this test alone."""
    monkeypatch.setattr(module, "_ALL", [])


def paper_of(folder: Path, text: str = PAPER) -> Paper:
    (folder / "words.md").write_text(text)
    return Paper(
        name="toy",
        authors="N. N.",
        year=1805,
        experiments={},
        words=PaperWords(str(folder / "__init__.py")),
        follow_ups=(FollowUp("Later", "M. M.", 2024, "2402.11004", "walk"),),
        opening=Opening(("toy.walk", "line"), lambda run, index: "", {}, Try("", step=3)),
    )


def lesson_of(folder: Path, text: str = LESSON):
    (folder / "some_lesson.md").write_text(text)
    words = LessonWords(
        str(folder / "some_lesson.py"),
        right={"order": (lambda run: 12.0, 3)},
        readings={"all": lambda run: float(run["all"])},
    )
    return words.lesson(name="look", experiment="walk", preset="line", working=15)


def test_a_paper_takes_its_texts(tmp_path: Path) -> None:
    paper = paper_of(tmp_path)
    assert (paper.title, paper.found, paper.bridge) == ("Its title", "One sentence.", "")
    assert paper.introduction == "What it is about.\n\nAnother paragraph."
    assert paper.follow_ups[0].here == "It goes on."
    assert paper.errata == ("Eq. 1 lacks a sign.", "Eq. 2 has two.")
    assert paper.glossary == (("C", "C_t", "the window [x_t, x_{t+1}], |x|² long"),)
    assert paper.mathematics == "\n" + PAPER.partition("## mathematics\n\n")[2]
    opening = paper.opening
    assert opening is not None and opening.own == Try("Type your own", step=3)
    assert (opening.title, opening.say) == ("Where?", "Look there.")
    assert paper.words is not None
    panel = paper.words.panel("picture", layers=4)
    assert (panel.title, panel.caption) == ("4 layers", "Lower is better.")


def test_a_lesson_takes_its_texts(tmp_path: Path) -> None:
    lesson = lesson_of(tmp_path)
    assert (lesson.title, lesson.able) == ("Look back", ("say what each does", "predict it"))
    (exercise,) = lesson.exercises
    assert (exercise.ask, exercise.unit) == ("How many steps? Within 3.", "steps")
    assert (exercise.within, exercise.hint) == (3, "Look.")
    assert exercise.answer(Run(None, {"all": 30})) == "12. It is 12 of 30."
    (note,) = lesson.notes
    assert (note.minutes, note.ask) == (6, "What comes next?")
    assert note.they_say == ("“b.”", "“That depends.”")
    assert note.tell == "Leave them 15 minutes."
    assert note.show == Try(
        "The maps",
        fields={"alpha": 1.5, "seed": 2, "matrix": "constructed"},
        step=40,
        drawer="Graft",
        marks=("first", "second"),
    )


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("{layers} layers", "{layer} layers", "panel picture: there is no {layer}"),
        ("One sentence", "One {sentence}", "found : there is no {sentence}"),
        ("## found", "## finding", "must begin with one of found, .*, got '## finding'"),
        ("## found\n\nOne sentence.\n", "", "must have a section “## found"),
        ("What it is\nabout.\n\nAnother paragraph.\n", "", "Its title: it must have a text"),
        ("2402.11004", "2402.11005", "must have a section “## follow-up 2402.11004”"),
        ("Look there.\n", "", "it must have a title and a text"),
        ("- Eq. 1 lacks\n  a sign.\n- Eq. 2 has two.\n", "", "errata : it must have a list"),
        ("| code | symbol |", "| name | symbol |", "must be code | symbol | meaning"),
        ("| C | C_t |", "| C |", "must be code | symbol | meaning"),
    ],
)
def test_what_a_paper_must_not_say_is_refused(
    tmp_path: Path, before: str, after: str, problem: str
) -> None:
    assert before in PAPER
    with pytest.raises(WordsError, match=problem.replace("|", r"\|")):
        paper_of(tmp_path, PAPER.replace(before, after, 1))


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("{all:0}", "{every:0}", "exercise order: there is no {every} in .*; there are all, right"),
        ("Look.", "Look at {all}.", "exercise order: there is no {all}"),
        ("{working}", "{minutes}", "note board: there is no {minutes} in .*; there are working"),
        ("predict it", "predict {it}", "able : there is no {it}"),
        ("## exercise order", "## exercise other", "must have a rule in `right`; there are order"),
        (LESSON[LESSON.index("## exercise") : LESSON.index("## note")], "", "“## exercise order”"),
        ("hint: Look.\n", "", "exercise order: it must have hint"),
        ("- “b.”\n- “That\n  depends.”\n", "", "note board: it must have a list"),
        ("minutes: 6", "minutes: six", "minutes and step must be whole numbers"),
        ("seed = 2", "seed 2", "set: must be NAME = VALUE"),
    ],
)
def test_what_a_lesson_must_not_say_is_refused(
    tmp_path: Path, before: str, after: str, problem: str
) -> None:
    assert before in LESSON
    with pytest.raises(WordsError, match=problem):
        lesson_of(tmp_path, LESSON.replace(before, after, 1))


def test_a_changed_file_is_taken_and_a_broken_one_keeps_the_texts(
    tmp_path: Path, monkeypatch
) -> None:
    paper = paper_of(tmp_path)
    lesson = lesson_of(tmp_path)
    monkeypatch.setattr(registry, "papers", lambda: {"toy": paper})
    (tmp_path / "words.md").write_text(PAPER.replace("One sentence", "Two sentences"))
    (tmp_path / "some_lesson.md").write_text(LESSON.replace("Look.", "Look again."))
    registry.take_changed_words()
    assert paper.found == "Two sentences." and lesson.exercises[0].hint == "Look again."
    (tmp_path / "words.md").write_text(PAPER.replace("One sentence", "One {sentence}"))
    (problem,) = registry.take_changed_words()
    assert "there is no {sentence}" in problem
    assert paper.found == "Two sentences."


@pytest.mark.parametrize("paper", registry.papers().values(), ids=lambda paper: paper.name)
def test_no_text_of_a_paper_is_left_over(paper: Paper) -> None:
    """A follow-up, or what came later, that Python does not name would never be read."""
    assert paper.words is not None
    there = {name for kind, name in paper.words._sections if kind == "follow-up"}
    assert there == {later.arxiv for later in paper.follow_ups}
    assert bool(paper.words.later) <= bool(paper.publication)
    assert paper.words.has("opening") == bool(paper.opening)
