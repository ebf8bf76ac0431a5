"""Read a `words.md`, the texts of an experiment or of a paper as sections of Markdown, and fill in
its numbers.

    # The title

    The introduction, paragraph by paragraph.

    ## panel bars
    numbers: least

    The title of the panel, such as: one step gains {gain:2}, at least {least}

    Its caption.

A heading of two signs says what follows: a kind, such as "panel", and a name. The lines of
a paragraph are joined. A line that begins with the name of a field and a colon, such as "marks:",
is a field, together with the lines after it up to an empty line or the next field; a field may be
followed by a list. A line that begins with a bar belongs to a table. `words.Words` says which kinds
and fields there are.

The numbers of a text stand in braces. What stands after the colon says how a value is written:

    {x}              a text as it is, a whole number as it is, any other number with 3 places
    {x:2}            with 2 places, a minus sign, and a power of ten if it is very large
    {x:~3}           with 3 significant digits, and a power of ten if it is very small or large
    {x:%}            a share in percent, with as many digits as it needs: 93%, 0.03%
    {x:.0%} {x:,}    any other format of Python's
    {x:?yes|no}      one of two texts, by whether x is true
    {x:@a|b|c}       one of several texts, by the number x, counted from 0
    {x:#layer|layers}   singular or plural: the first text where x is 1

The texts of the last three may have numbers in braces themselves. {{ and }} are braces.
"""

import numbers
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Formatter
from typing import Any

from icl_core.contract.number_text import number_text, percent, significant

Lookup = Callable[[str], Any]  # takes a name and returns its value
_FIELD = re.compile(r"([a-z]+):(?:\s+(.*))?$")
_RULE = re.compile(r"\|(\s*:?-+:?\s*\|)+$")  # between the head of a table and its rows


class WordsError(ValueError):
    """A `words.md` that cannot be read. The message names the file, the line, what was expected and
    what came."""


@dataclass
class Section:
    """What stands under one heading.

    kind, name  the words of the heading: "panel", "gains"; of the title "" and the title itself
    line        the heading's line in the file, from 1
    paragraphs  the texts that belong to no field, each with its lines joined
    fields      texts by the name of their field; a field that comes several times has as many
    lists       the entries of the list under a field; of a list under no field, by ""
    rows        the rows of the table, its head first
    source      all lines as they stand
    """

    kind: str
    name: str
    line: int
    paragraphs: list[str] = field(default_factory=list)
    fields: dict[str, list[str]] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)
    rows: list[list[str]] = field(default_factory=list)
    source: list[str] = field(default_factory=list)

    def only(self, name: str) -> str:
        """Return the text of a field; empty if the section has none."""
        return next(iter(self.fields.get(name, ())), "")

    def entries(self, name: str) -> tuple[str, ...]:
        """Return what a field lists, separated by commas."""
        return tuple(entry.strip() for entry in self.only(name).split(",") if entry.strip())


def read_sections(path: Path, kinds: Mapping[str, tuple[str, ...]]) -> list[Section]:
    """Return the sections of a file in order, that of the title first.

    kinds  the names of the fields that each kind of section may have; the title's kind is ""

    Raises `WordsError` for a kind that is not among them, and if the file begins with no title.
    """
    sections: list[Section] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("## "):
            kind, _, name = line[3:].strip().partition(" ")
            if kind not in kinds or not kind:
                raise WordsError(
                    f"{path}, line {number}: a heading must begin with one of "
                    f"{', '.join(filter(None, kinds))}, got {line!r}"
                )
            sections.append(Section(kind, name.strip(), number))
        elif line.startswith("# ") and not sections:
            sections.append(Section("", line[2:].strip(), number))
        elif sections:
            sections[-1].source.append(line)
        elif line.strip():
            raise WordsError(f"{path}, line {number}: expected a title, # …, got {line!r}")
    for section in sections:
        _read_source(section, kinds[section.kind])
    return sections


def _read_source(section: Section, fields: tuple[str, ...]) -> None:
    """Sort the lines of a section into paragraphs, fields, lists and rows."""
    current: list[str] | None = None  # the texts whose last one goes on in the next line
    last_field = ""
    for line in section.source:
        text = line.strip()
        match = _FIELD.match(text)
        if not text:
            current = None
        elif text.startswith("|"):
            if not _RULE.match(text):
                cells = text.removeprefix("|").removesuffix("|").split(" | ")
                section.rows.append([cell.strip() for cell in cells])
            current = None
        elif match and match[1] in fields:
            last_field = match[1]
            current = section.fields.setdefault(last_field, [])
            current.append(match[2] or "")
        elif text.startswith("- ") and current is not section.paragraphs:
            current = section.lists.setdefault(last_field, [])
            current.append(text[2:])
        elif current is not None:
            current[-1] = f"{current[-1]} {text}".strip()
        else:
            section.paragraphs.append(text)
            current = section.paragraphs


_CHOICES = "?@#"  # what begins a form that holds texts
_parse_template = Formatter().parse


def names_in(template: str) -> Iterator[str]:
    """Yield every name that stands in braces; `ValueError` if a brace has no other, or a choice has
    too few texts."""
    for _, name, form, conversion in _parse_template(template):
        if name is None:
            continue
        if conversion:
            raise ValueError(
                f"a number must be written as {{{name}:…}}, got {{{name}!{conversion}}}"
            )
        yield name
        if form and form[0] in _CHOICES:
            if len(list(_alternatives(form[1:]))) < 2:
                raise ValueError(f"a choice must have two texts or more, got {{{name}:{form}}}")
            yield from names_in(form[1:])


def fill(template: str, lookup: Lookup) -> str:
    """Return the text with the value of every name. A name is looked up only where its text is
    chosen."""
    parts: list[str] = []
    for text, name, form, _ in _parse_template(template):
        parts.append(text)
        if name is not None:
            parts.append(_value_text(lookup(name), form or "", lookup))
    return "".join(parts)


def _value_text(value: Any, form: str, lookup: Lookup) -> str:
    """Return a value in the given form."""
    if form[:1] in _CHOICES and form:
        index = {"?": int(not value), "#": int(value != 1)}.get(form[0])
        texts = list(_alternatives(form[1:]))
        return fill(texts[int(value) if index is None else index], lookup)
    if form == "%":
        return percent(value)
    if form.startswith("~"):
        return significant(float(value), int(form[1:]))
    if form.isdigit():
        return number_text(float(value), int(form))
    if form:
        return format(value, form)
    if isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral):
        return number_text(float(value))
    return str(value)


def _alternatives(form: str) -> Iterator[str]:
    """Yield the texts between the bars of a choice, but for bars within braces."""
    depth = 0
    start = 0
    for index, character in enumerate(form):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "|" and not depth:
            yield form[start:index]
            start = index + 1
    yield form[start:]
