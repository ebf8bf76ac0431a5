"""Read a `words.md`: the texts of an experiment or of a paper, as sections of Markdown.

    # The title

    The introduction, paragraph by paragraph.

    ## panel gains
    numbers: right, Q

    The title of the panel, such as: one step gains {right:2}; with Q as printed {Q}

    Its caption.

A heading of two signs says what follows: a kind, such as "panel", and a name. The lines of
a paragraph are joined. A line that begins with the name of a field and a colon, such as "marks:",
is a field, together with the lines after it up to an empty line or the next field; a field may be
followed by a list. A line that begins with a bar belongs to a table. `words.Words` says which kinds
and fields there are, and what stands in braces.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

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
