"""Texts in words.md: what stands in braces, what is refused when the file is read, and what an
experiment's page says of a changed file."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from icl_core.contract import words as module
from icl_core.contract.experiment import Run
from icl_core.contract.knobs import settings, slider
from icl_core.contract.story import Example
from icl_core.contract.words import Words, WordsError
from icl_core.contract.words_file import fill, names_in, read_sections

VALUES = {"gain": 0.93219, "tiny": 0.0002517, "layers": 1, "four": 4, "word": "loss", "yes": True}


@settings
class Config:
    N: int = slider("pairs, N", 1, 20, default=10)

    @property
    def twice(self) -> int:
        return 2 * self.N


@settings
class View:
    times: float = slider("length", -1, 3, default=1.0)


FILE = """# The title

What it is about,
on two lines.

## headline

One step removes {gain:%}.

## task

{N} examples, {twice} numbers.

## panel bars
numbers: least

Gains {gain:2}, at least {least}

A caption on
two lines.

| formula | gain |
|---|---|
| one step, |x| | {gain:2} |

## beat first
at: last
marks: bars, lines
set: times = 2.5

At {times:1} times the length.

ask: How much?

- All
- Nothing

answer: {gain:%}
why: So it is.
hides: headline, bars
do: Move it.
then: It is {times:1} now.

## try it
set: N = 3
step: 40

Try three.
"""


def words_of(folder: Path, text: str = FILE, **more) -> Words:
    (folder / "words.md").write_text(text)
    rules = {
        "readings": {"gain": lambda run, view: 0.93219 * view.times},
        "right": {"first": lambda run, view: 1},
        "done": {"first": lambda view: view.times > 2},
        "example": Example((("x", ""),)),
    }
    return Words(str(folder / "words.py"), Config, View, **{**rules, **more})


RUN = Run(Config(), {})


@pytest.fixture(autouse=True)
def _no_other_file(monkeypatch):
    """A test's files are read again in this test alone."""
    monkeypatch.setattr(module, "_ALL", [])


@pytest.mark.parametrize(
    ("template", "text"),
    {
        "{gain}": "0.932",
        "{gain:2}": "0.93",
        "{gain:%}": "93%",
        "{tiny:%}": "0.025%",
        "{tiny:~3}": "0.000252",
        "{gain:.1%}": "93.2%",
        "{layers} {layers:#layer|layers}, {four} {four:#layer|layers}": "1 layer, 4 layers",
        "{yes:?has {word}|has none}": "has loss",
        "{layers:@none|one {gain:2}|two}": "one 0.93",
        "{{word}}": "{word}",
    }.items(),
)
def test_a_number_is_written_as_its_form_says(template: str, text: str) -> None:
    assert fill(template, VALUES.__getitem__) == text


def test_a_text_that_is_not_chosen_needs_no_values() -> None:
    assert fill("{yes:?a|{absent}}", VALUES.__getitem__) == "a"
    assert list(names_in("{yes:?a|{absent}}")) == ["yes", "absent"]


def test_a_file_gives_title_headline_panel_and_story(tmp_path: Path) -> None:
    words = words_of(tmp_path)
    view = View(times=0.5)
    assert (words.title, words.about) == ("The title", "What it is about,\non two lines.")
    assert words.headline(RUN, view) == "One step removes 47%."
    panel = words.panel("bars", RUN, view, least=0.25)
    assert (panel.title, panel.caption) == ("Gains 0.47, at least 0.250", "A caption on two lines.")
    assert panel.table is not None
    assert panel.table.to_dict("list") == {"formula": ["one step, |x|"], "gain": ["0.47"]}
    story = words.story()
    assert story is not None
    assert story.task.say(Config(N=7)) == "7 examples, 14 numbers."  # type: ignore[operator]
    (beat,) = story.beats
    assert (beat.at, beat.marks, beat.view) == ("last", ("bars", "lines"), {"times": 2.5})
    assert beat.say(RUN, view) == "At 0.5 times the length."  # type: ignore[operator]
    assert beat.ask is not None and beat.ask.choices == ("All", "Nothing")
    assert beat.ask.answer(RUN, view) == "47%"  # type: ignore[operator]
    assert (beat.do, beat.then(RUN, view)) == ("Move it.", "It is 0.5 now.")  # type: ignore[operator]
    (attempt,) = story.tries
    assert (attempt.say, attempt.fields, attempt.step) == ("Try three.", {"N": 3}, 40)


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("{gain:%}.", "{gian:%}.", "headline : there is no {gian} in .*; there are N, gain, times"),
        ("{N} examples", "{times} examples", "task : there is no {times}"),
        ("{least}", "{most}", "panel bars: there is no {most}"),
        ("So it is.", "So {gain} is.", "beat first: there is no {gain}"),
        ("Gains {gain:2}", "Gains {gain:2", "panel bars: .* in 'Gains"),
        ("## try it", "## tries it", "must begin with one of .*, got '## tries it'"),
        ("- Nothing\n", "", "a question must have two choices"),
        ("at: last", "at: sometime", "at must be a step or a rule"),
        ("set: times = 2.5", "set: tiems = 2.5", "set: must be NAME = VALUE"),
        ("# The title", "The title", "line 1: expected a title"),
        ("\n\n| formula", "\n\n- a list\n\n| formula", "must be that of a question"),
        ("{gain:%}.", "{gain:?yes}.", "headline : a choice must have two texts or more"),
        ("{gain:%}.", "{gain!r}.", "headline : a number must be written as"),
        ("## task", "## headline", "two sections have the same heading"),
    ],
)
def test_what_cannot_be_read_is_refused(
    tmp_path: Path, before: str, after: str, problem: str
) -> None:
    with pytest.raises(WordsError, match=problem):
        words_of(tmp_path, FILE.replace(before, after, 1)).story()


def test_a_rule_without_its_section_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WordsError, match="must have a rule in `right`"):
        words_of(tmp_path, right={})
    with pytest.raises(WordsError, match="must have a rule in `done`"):
        words_of(tmp_path, done={})


def test_code_hands_in_the_numbers_that_the_file_declares(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="numbers: least was expected, most came"):
        words_of(tmp_path).panel("bars", RUN, View(), most=1)


def test_a_changed_file_is_read_again_and_a_broken_one_keeps_the_texts(tmp_path: Path) -> None:
    words = words_of(tmp_path)
    before = module.stamp()
    (tmp_path / "words.md").write_text(FILE.replace("One step removes", "A step takes"))
    assert module.read_changed()
    assert words.headline(RUN, View()) == "A step takes 93%."
    assert module.stamp() != before
    assert not module.read_changed()
    (tmp_path / "words.md").write_text(FILE.replace("{gain:%}", "{gian:%}"))
    assert module.read_changed() and "there is no {gian}" in module.problems()[0]
    assert words.headline(RUN, View()) == "A step takes 93%."
    assert not module.read_changed() and module.problems()  # until it is mended
    (tmp_path / "words.md").unlink()
    assert not module.read_changed()  # an editor is replacing it
    (tmp_path / "words.md").write_text(FILE)
    assert module.read_changed() and not module.problems()


def test_what_was_drawn_is_not_out_of_date_because_another_file_is_read(tmp_path: Path) -> None:
    words_of(tmp_path)
    before = module.stamp()
    (tmp_path / "other").mkdir()
    words_of(tmp_path / "other")
    assert not module.read_changed() and module.stamp() == before


def test_of_a_run_in_training_only_what_a_text_names_is_asked_for(tmp_path: Path) -> None:
    def never(run, view):
        raise AssertionError

    words = words_of(tmp_path, readings={"gain": lambda run, view: 1.0, "later": never})
    assert words.headline(SimpleNamespace(config=Config()), View()) == "One step removes 100%."


PAPERS = Path(__file__).parents[1] / "icl_core" / "papers"
PREFIX = re.compile(r'f"(\w[^"{]*)\{')  # of a name that is put together: f"headline {which}"


@pytest.mark.parametrize(
    "file",
    sorted(PAPERS.glob("*/*/words.md")),
    ids=lambda file: str(file.parent.relative_to(PAPERS)),
)
def test_every_panel_and_text_is_asked_for(file: Path) -> None:
    """Texts that nobody sees are not kept."""
    folder = file.parent.parent if file.parent.name == "shared" else file.parent
    code = "\n".join(path.read_text() for path in folder.rglob("*.py"))
    prefixes = tuple(PREFIX.findall(code))
    names = [
        section.name
        for section in read_sections(file, module.KINDS)
        if section.kind in ("panel", "text")
    ]
    assert not [n for n in names if f'"{n}"' not in code and not n.startswith(prefixes)]
