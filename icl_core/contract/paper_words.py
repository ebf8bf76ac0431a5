"""The texts of a paper, from the `words.md` in its folder, and of a lesson, from the `lesson.md`
beside its `lesson.py`.

    WORDS = PaperWords(__file__)
    PAPER = Paper(name="toy", words=WORDS, …)
    LESSON = LessonWords(__file__, right={"order": (apart, 3)}).lesson(name="induction-head", …)

A paper's `words.md` has these sections, in any order; it needs the first two:

    # TITLE              the paper's title, and its introduction
    ## found             one sentence: what the paper found
    ## bridge            the sentence that leads here from the paper before
    ## later             what came with later versions of the paper
    ## follow-up ARXIV   what speaks here to the later paper of this number
    ## errata            a list
    ## deviations        a table: where | the paper | here | why
    ## glossary          a table: code | symbol | meaning
    ## mathematics       Markdown with formulas, which stays as it is, braces too
    ## opening           title and text of what the front page plays. Field: own, the text of a link
    ## panel NAME        title and caption of a panel, such as the picture. Field: numbers
    ## text NAME         a text that the code asks for. Field: numbers

A lesson's file has these:

    # TITLE              the lesson's title
    ## able              a list: what completes “You will be able to”
    ## exercise NAME     the question. Fields: unit; hint; because, how the answer comes about, with
                         numbers in braces: {right}, the right answer, and the functions of the run
                         in `readings`. `right` has the function that computes the answer, and how
                         far from it an accepted one may be
    ## note NAME         what to tell the students; {working} are the minutes that they have for the
                         exercises. Fields: minutes; ask, followed by the list of what they may say;
                         show, the text of a link, and where it leads: set (a field of the view =
                         its value, a number or a word; once for each), step, drawer, marks

`contract.words_file` says how a number is written, `contract.words` what numbers are. A name in
braces that does not exist is an error when the file is read.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from icl_core.contract.lesson import Exercise, Lesson, Note
from icl_core.contract.run import Run
from icl_core.contract.story import Try
from icl_core.contract.words import Words
from icl_core.contract.words_file import Section, fill

PAPER_KINDS = {
    **dict.fromkeys(("", "found", "bridge", "later", "follow-up", "errata"), ()),
    **dict.fromkeys(("deviations", "glossary", "mathematics"), ()),
    "opening": ("own",),
    "panel": ("numbers",),
    "text": ("numbers",),
}
LESSON_KINDS = {
    "": (),
    "able": (),
    "exercise": ("unit", "hint", "because"),
    "note": ("minutes", "ask", "show", "set", "step", "drawer", "marks"),
}
# what a section must have, by its kind: paragraphs, 1 if it is not named; a list, by the field
# before it; fields
_PARAGRAPHS = {"opening": 2, "panel": 2, "errata": 0, "deviations": 0, "glossary": 0, "able": 0}
_LISTS = {"errata": "", "able": "", "note": "ask"}
_FIELDS = {"exercise": LESSON_KINDS["exercise"], "note": ("minutes", "ask", "show")}
HEADS = {  # of tables
    "glossary": ["code", "symbol", "meaning"],
    "deviations": ["where", "the paper", "here", "why"],
}

Answer = tuple[Callable[[Run], float], float]  # the right one, and how far from it one may be


class PaperWords(Words):
    """The texts of a paper."""

    kinds = PAPER_KINDS

    def values(self) -> dict[str, Any]:
        """Return the texts that are fields of `Paper`, by name."""
        formulas = ["\n".join(section.source).strip("\n") for section in self._all("mathematics")]
        return {
            "title": self.title,
            "introduction": _text(self._all("")),
            "found": _text([self._section("found", "")]),
            "bridge": _text(self._all("bridge")),
            "glossary": self._table("glossary"),
            "deviations": self._table("deviations"),
            "errata": tuple(text for section in self._all("errata") for text in section.lists[""]),
            "mathematics": "".join(f"\n{formula}\n" for formula in formulas),
        }

    def _table(self, kind: str) -> tuple[tuple[str, ...], ...]:
        """Return the rows of a table, without its head."""
        return tuple(tuple(row) for section in self._all(kind) for row in section.rows[1:])

    @property
    def later(self) -> str:
        """What came with later versions of the paper; may be empty."""
        return _text(self._all("later"))

    @property
    def opening(self) -> tuple[str, str, str]:
        """Title and text of the opening, and the text of its link."""
        section = self._section("opening", "")
        return section.paragraphs[0], "\n\n".join(section.paragraphs[1:]), section.only("own")

    def follow_up(self, arxiv: str) -> str:
        """Return what speaks to a later paper. Raises `WordsError` if nothing does."""
        return _text([self._section("follow-up", arxiv)])

    def _check(self, section: Section) -> None:
        if missing := _missing(section):
            raise self._error(section, f"it must have {missing}")
        if head := HEADS.get(section.kind):
            if section.rows[:1] != [head] or any(len(row) != len(head) for row in section.rows):
                raise self._error(section, f"each row must be {' | '.join(head)}, as its head")
        elif section.kind != "mathematics":
            for text in (*section.paragraphs, *section.lists.get("", ()), section.only("own")):
                self._check_text(section, text, section.entries("numbers"))


class LessonWords(Words):
    """The texts of a lesson, and the functions whose values stand in them."""

    kinds = LESSON_KINDS

    def __init__(
        self,
        beside: str,
        right: Mapping[str, Answer],
        readings: Mapping[str, Callable[[Run], Any]] | None = None,
    ) -> None:
        """Read the file that is called as the module whose path is `beside`, but for its .md."""
        self._answers = right
        self._functions = readings or {}
        self._lesson: Lesson | None = None
        super().__init__(beside, file=f"{Path(beside).stem}.md")

    def lesson(self, **plan: Any) -> Lesson:
        """Return the lesson, of which `plan` gives all fields that hold no text. It takes its texts
        anew when the file is read again."""
        self._lesson = Lesson(**self._values_of(plan["working"]), **plan)
        return self._lesson

    def _take_texts(self) -> None:
        if self._lesson is not None:
            for name, value in self._values_of(self._lesson.working).items():
                object.__setattr__(self._lesson, name, value)

    def _values_of(self, working: int) -> dict[str, Any]:
        """Return the fields of a lesson that hold texts, by name. Raises `WordsError` if a section
        is missing."""
        for name in self._answers:
            self._section("exercise", name)
        return {
            "title": self.title,
            "able": tuple(self._section("able", "").lists[""]),
            "exercises": tuple(self._exercise(section) for section in self._all("exercise")),
            "notes": tuple(self._note(section, working) for section in self._all("note")),
        }

    def _exercise(self, section: Section) -> Exercise:
        right, within = self._answers[section.name]
        functions = {**self._functions, "right": right}
        unit, hint, because = (section.only(name) for name in ("unit", "hint", "because"))

        def how(run: Run) -> str:
            return fill(because, lambda name: functions[name](run))

        return Exercise(section.name, _text([section]), unit, right, within, how, hint)

    def _note(self, section: Section, working: int) -> Note:
        fields = (text.partition("=") for text in section.fields.get("set", ()))
        step = section.only("step")
        show = Try(
            section.only("show"),
            fields={name.strip(): _value(value.strip()) for name, _, value in fields},
            step=int(step) if step else None,
            drawer=section.only("drawer"),
            marks=section.entries("marks"),
        )
        minutes, they_say = int(section.only("minutes")), tuple(section.lists["ask"])
        tell = fill(_text([section]), {"working": working}.__getitem__)
        return Note(minutes, section.only("ask"), they_say, tell, show)

    def _check(self, section: Section) -> None:
        missing = _missing(section) if section.kind else ""
        if missing:
            raise self._error(section, f"it must have {missing}")
        if section.kind == "exercise" and section.name not in self._answers:
            raise self._error(section, "an exercise must have a rule in `right`", self._answers)
        if not all((section.only(name) or "0").isdigit() for name in ("minutes", "step")):
            raise self._error(section, "minutes and step must be whole numbers")
        if not all("=" in text for text in section.fields.get("set", ())):
            raise self._error(section, "set: must be NAME = VALUE")
        plain = [section.only(name) for name in ("unit", "hint", "ask", "show")]
        plain += [entry for entries in section.lists.values() for entry in entries]
        self._check_text(section, section.only("because"), {"right", *self._functions})
        for text in section.paragraphs:
            self._check_text(section, text, {"working"} if section.kind == "note" else set())
        for text in plain:
            self._check_text(section, text, set())


def _missing(section: Section) -> str:
    """Return what a section lacks: paragraphs, its list, fields."""
    parts = [name for name in _FIELDS.get(section.kind, ()) if not section.only(name)]
    if section.kind in _LISTS and not section.lists.get(_LISTS[section.kind]):
        parts.append("a list")
    if len(section.paragraphs) < (least := _PARAGRAPHS.get(section.kind, 1)):
        parts.append("a title and a text" if least > 1 else "a text")
    return ", ".join(parts)


def _text(sections: Iterable[Section]) -> str:
    """Return the paragraphs of sections."""
    return "\n\n".join(text for section in sections for text in section.paragraphs)


def _value(text: str) -> int | float | str:
    """Return the number that a text is, or the text."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text
