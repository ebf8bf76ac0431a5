"""The texts of an experiment, from the `words.md` in its folder.

    WORDS = Words(__file__, Config, View, readings={"gain": lambda run, view: best_gain(run)})
    WORDS.panel("bars", run, view, figure, least=0.25)

A text has numbers in braces; `contract.words_file` says in which forms. A name in braces is

- a reading: a function of run and view in `readings`, computed where a text names it;
- a setting of the config or of the view, or a property of one of them;
- in a panel, a text or a table: a number that the code hands in, which the section declares in its
  field "numbers".

Any other name is an error when the file is read. A file has these sections, in any order:

    # TITLE              the experiment's title, and its `about`
    ## headline          one sentence
    ## task              its sentences. Names are settings, or functions of a config in `of_config`
    ## brief, ## seen    the task in one sentence; what the run has shown
    ## panel NAME        title, caption, and a table if the panel is one. Fields: numbers, note
    ## text NAME         a text that the code asks for. Field: numbers
    ## beat NAME         its sentence. Fields: at (first, last, a step, or a rule in `at`), marks,
                         set (a field of the view = its value; once for each), drawer, do, then, and
                         for a question ask, followed by the list of choices, answer, why, hides
                         (drawings, headline, marks), there (yes). Which choice is right is a
                         function in `right`, by the beat's name; when what is to `do` is done, one
                         in `done`
    ## try NAME          the link's text. Fields: preset, set (as above, of config or view), step,
                         drawer, marks

A shared folder has a `words.md` of its own, with panels and texts alone.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from icl_core.contract import story
from icl_core.contract.figure import Figure, Panel
from icl_core.contract.knobs import knobs_of
from icl_core.contract.run import Run
from icl_core.contract.story import Beat, Example, Question, Rule, Story, Task, Try, When
from icl_core.contract.words_file import Section, WordsError, fill, names_in, read_sections

Reading = Callable[[Run, Any], Any]  # takes a run and a view

KINDS = {
    "": (),
    "headline": (),
    "task": (),
    "brief": (),
    "seen": (),
    "panel": ("numbers", "note"),
    "text": ("numbers",),
    "beat": (
        *("at", "marks", "set", "drawer", "do", "then"),
        *("ask", "answer", "why", "hides", "there"),
    ),
    "try": ("preset", "set", "step", "drawer", "marks"),
}
_RESERVED = {"figure", "table", "data"}  # what a panel is handed besides its numbers
_PLAIN = ("do", "ask", "why")  # fields of a beat that hold no names


class Words:
    """The texts of one `words.md`, and the functions whose values stand in them."""

    kinds: Mapping[str, tuple[str, ...]] = KINDS

    def __init__(
        self,
        beside: str,
        config: type | None = None,
        view: type | None = None,
        *,
        file: str = "words.md",
        readings: Mapping[str, Reading] | None = None,
        of_config: Mapping[str, Callable[[Any], Any]] | None = None,
        at: Mapping[str, Rule] | None = None,
        right: Mapping[str, Callable[[Run, Any], int]] | None = None,
        done: Mapping[str, Callable[[Any], bool]] | None = None,
        example: Example | Callable[[Any], Example] | None = None,
    ) -> None:
        """Read the file. `beside` is the path of a module in its folder; see above for the rest.

        Raises `WordsError` for what cannot be read, and for a name that does not exist.
        """
        self.path = Path(beside).with_name(file)
        self._config = config
        self._view = view
        self._readings = readings or {}
        self._of_config = of_config or {}
        self._at = at or {}
        self._right = right or {}
        self._done = done or {}
        self._example = example
        self._sections: dict[tuple[str, str], Section] = {}
        self.problem = ""  # why the file as it is now cannot be read
        self.read()
        _ALL.append(self)

    def read(self) -> None:
        """Read the file, or read it again. Raises `WordsError`, and keeps the texts."""
        self.stamp = self.path.stat().st_mtime_ns  # changes with the file
        before = self._sections
        try:
            self._sections = self._checked_sections()
            self._take_texts()
        except WordsError as problem:
            self._sections = before
            self.problem = str(problem)
            raise
        self.problem = ""

    def _take_texts(self) -> None:
        """Hand the texts on to what was made of them before. Raises `WordsError`."""

    def _checked_sections(self) -> dict[tuple[str, str], Section]:
        sections = read_sections(self.path, self.kinds)
        by_heading = {(section.kind, section.name): section for section in sections}
        if len(by_heading) < len(sections):
            raise WordsError(f"{self.path}: two sections have the same heading")
        for section in sections:
            self._check(section)
        return by_heading

    @property
    def title(self) -> str:
        """The experiment's title."""
        return next(iter(self._sections.values())).name

    @property
    def about(self) -> str:
        """The text under the title."""
        return "\n".join(next(iter(self._sections.values())).source).strip()

    def has(self, kind: str, name: str = "") -> bool:
        """Return whether there is such a section."""
        return (kind, name) in self._sections

    def headline(self, run: Run, view: Any) -> str:
        """Return the headline."""
        return self._filled("headline", "", run, view)

    def text(self, name: str, run: Run | None = None, view: Any = None, /, **numbers: Any) -> str:
        """Return the text called `name`, with the numbers that it declares."""
        self._check_numbers(self._section("text", name), numbers)
        return self._filled("text", name, run, view, numbers)

    def panel(
        self,
        name: str,
        run: Run | None = None,
        view: Any = None,
        /,
        figure: Figure | None = None,
        *,
        table: pd.DataFrame | None = None,
        data: pd.DataFrame | None = None,
        **numbers: Any,
    ) -> Panel:
        """Return a panel with its texts. Its table, if none is given, is the one of the section;
        such a table is also its data."""
        section = self._section("panel", name)
        self._check_numbers(section, numbers)
        lookup = self._lookup(run, view, numbers)
        if section.rows and table is None:
            head, *rows = [[fill(cell, lookup) for cell in row] for row in section.rows]
            table = pd.DataFrame(rows, columns=head)
            data = table if data is None else data
        title, *caption = [fill(paragraph, lookup) for paragraph in section.paragraphs]
        note = fill(section.only("note"), lookup)
        return Panel(title, "\n\n".join(caption), figure, table, data, note)

    def story(self) -> Story | None:
        """Return the story; None if there is no task."""
        if not self.has("task"):
            return None
        if self._example is None:
            raise WordsError(f"{self.path}: a task needs an example")
        brief = partial(self._of_setting, "brief") if self.has("brief") else ""
        return Story(
            task=Task(partial(self._of_setting, "task"), self._example),
            beats=tuple(self._beat(section) for section in self._all("beat")),
            tries=tuple(self._try(section) for section in self._all("try")),
            brief=brief,
            seen=partial(self._filled, "seen", "") if self.has("seen") else "",
        )

    def _beat(self, section: Section) -> Beat:
        filled = partial(self._filled, "beat", section.name)
        return Beat(
            name=section.name,
            say=filled,
            at=self._when(section),
            marks=section.entries("marks"),
            view=self._values(section, (self._view,)),
            drawer=section.only("drawer"),
            ask=self._question(section) if "ask" in section.fields else None,
            do=section.only("do"),
            done=self._done.get(section.name),
            then=partial(filled, field="then") if "then" in section.fields else "",
        )

    def _question(self, section: Section) -> Question:
        return Question(
            ask=section.only("ask"),
            choices=tuple(section.lists["ask"]),
            right=self._right[section.name],
            answer=partial(self._filled, "beat", section.name, field="answer"),
            why=section.only("why"),
            hides=section.entries("hides"),
            there=section.only("there") == "yes",
        )

    def _try(self, section: Section) -> Try:
        step = section.only("step")
        return Try(
            say="\n\n".join(section.paragraphs),
            preset=section.only("preset"),
            fields=self._values(section, (self._config, self._view)),
            step=int(step) if step else None,
            drawer=section.only("drawer"),
            marks=section.entries("marks"),
        )

    def _when(self, section: Section) -> When | None:
        at = section.only("at")
        if at in ("", story.FIRST, story.LAST):
            return at or None
        return self._at[at] if at in self._at else int(at)

    def _values(self, section: Section, settings: Iterable[type | None]) -> dict[str, Any]:
        """Return the values of the fields that a section sets, by name."""
        knobs = {
            name: knob
            for settings_class in settings
            if settings_class
            for name, knob in knobs_of(settings_class).items()
        }
        values = {}
        for text in section.fields.get("set", ()):
            name, equals, value = (part.strip() for part in text.partition("="))
            if name not in knobs or not equals:
                raise self._error(section, f"set: must be NAME = VALUE, got {text!r}", knobs)
            values[name] = knobs[name].parse(name, value)
        return values

    def _of_setting(self, kind: str, config: Any) -> str:
        """Return the text of a section that speaks of a config alone."""

        def lookup(name: str) -> Any:
            function = self._of_config.get(name)
            return function(config) if function else getattr(config, name)

        return fill("\n\n".join(self._section(kind, "").paragraphs), lookup)

    def _filled(
        self,
        kind: str,
        name: str,
        run: Run | None,
        view: Any,
        numbers: Mapping[str, Any] | None = None,
        *,
        field: str = "",
    ) -> str:
        """Return the text of a section, or of one of its fields."""
        section = self._section(kind, name)
        text = section.only(field) if field else "\n\n".join(section.paragraphs)
        return fill(text, self._lookup(run, view, numbers or {}))

    def _lookup(self, run: Run | None, view: Any, numbers: Mapping[str, Any]) -> Callable[..., Any]:
        def lookup(name: str) -> Any:
            if name in numbers:
                return numbers[name]
            if run is None:
                raise KeyError(f"{self.path}: {name} needs a run")
            if name in self._readings:
                return self._readings[name](run, view)
            return getattr(view if hasattr(view, name) else run.config, name)

        return lookup

    def _all(self, kind: str) -> list[Section]:
        return [section for section in self._sections.values() if section.kind == kind]

    def _section(self, kind: str, name: str) -> Section:
        if (kind, name) not in self._sections:
            raise WordsError(f"{self.path} must have a section “## {kind} {name}”")
        return self._sections[kind, name]

    def _check(self, section: Section) -> None:
        """Raise `WordsError` if a section lacks a part, or names what does not exist."""
        if section.kind == "panel" and len(section.paragraphs) < 2:
            raise self._error(section, "a panel must have a title and a caption")
        if section.kind == "":
            return
        if not section.paragraphs:
            raise self._error(section, "the section must have a text")
        if section.rows and section.kind != "panel":
            raise self._error(section, "a table must stand in a panel")
        if section.lists.keys() - ({"ask"} if section.kind == "beat" else set()):
            raise self._error(section, "a list must be that of a question's choices")
        if section.kind == "beat":
            self._check_beat(section)
        if reserved := _RESERVED & set(section.entries("numbers")):
            raise self._error(section, f"numbers must not be called {', '.join(sorted(reserved))}")
        known = self._known_names(section)
        plain = [section.only(name) for name in _PLAIN] + section.lists.get("ask", [])
        plain += section.paragraphs if section.kind == "try" else []
        filled = [] if section.kind == "try" else [*section.paragraphs]
        filled += [section.only(name) for name in ("note", "answer", "then")]
        filled += [cell for row in section.rows for cell in row]
        for texts, names in ((filled, known), (plain, set())):
            for text in texts:
                self._check_text(section, text, names)

    def _check_text(self, section: Section, text: str, known: Iterable[str]) -> None:
        try:
            unknown = [name for name in names_in(text) if name not in known]
        except ValueError as problem:
            raise self._error(section, f"{problem} in {text!r:.80}") from problem
        if unknown:
            raise self._error(section, f"there is no {{{unknown[0]}}} in {text!r:.80}", known)

    def _check_beat(self, section: Section) -> None:
        asks = "ask" in section.fields
        if asks and len(section.lists.get("ask", ())) < 2:
            raise self._error(section, "a question must have two choices or more")
        if asks != (section.name in self._right):
            raise self._error(section, "a question, and it alone, must have a rule in `right`")
        if ("do" in section.fields) != (section.name in self._done):
            raise self._error(section, "what is to do, and it alone, must have a rule in `done`")
        try:
            self._when(section)
        except ValueError:
            raise self._error(section, "at must be a step or a rule", self._at) from None

    def _known_names(self, section: Section) -> set[str]:
        """Return the names that may stand in a section's braces."""
        config = _names_of(self._config)
        if section.kind in ("task", "brief"):
            return {*self._of_config, *config}
        known = {*self._readings, *config, *_names_of(self._view)}
        return known.union(section.entries("numbers"))

    def _check_numbers(self, section: Section, numbers: Mapping[str, Any]) -> None:
        """Raise TypeError if the code hands in other numbers than a section declares."""
        declared = set(section.entries("numbers"))
        if declared != set(numbers):
            raise TypeError(
                f"{self.path}, line {section.line}: numbers: {', '.join(sorted(declared))} was "
                f"expected, {', '.join(sorted(numbers))} came"
            )

    def _error(self, section: Section, problem: str, known: Iterable[str] = ()) -> WordsError:
        choices = ", ".join(sorted(known))
        return WordsError(
            f"{self.path}, line {section.line}, {section.kind} {section.name}: {problem}"
            + f"; there are {choices}" * bool(choices)
        )


_ALL: list[Words] = []
_changes = 0  # of files that were read, since this process began


def stamp() -> int:
    """Return a number that is another after each change of a file that was read. A file that is
    read for the first time changes nothing that was drawn before."""
    return _changes


def read_changed() -> bool:
    """Read every file again that has changed on disk; return whether one has. The texts of one that
    cannot be read stay as they were, and `problems` says so."""
    global _changes
    before = _changes
    for words in _ALL:
        with suppress(FileNotFoundError):  # an editor is replacing it
            if words.path.stat().st_mtime_ns != words.stamp:
                _changes += 1
                with suppress(WordsError):
                    words.read()
    return _changes > before


def problems() -> list[str]:
    """Return a sentence for each file that cannot be read as it is now."""
    return [words.problem for words in _ALL if words.problem]


def _names_of(settings: type | None) -> set[str]:
    """Return the names of the fields and properties of a settings class."""
    return set() if settings is None else {n for n in dir(settings) if not n.startswith("_")}
