"""The characters of a text that are counted: one line end, one blank, nothing that cannot be seen,
accents put together with their letters.

All of it is decided by fixed tables, and the composition of accents (Unicode's NFC) is that of
Unicode 14.0, Python 3.11's, with every Python. A code point that Unicode 14.0 does not know is left
as it is and divides the text for `unicodedata.normalize`, as such a code point does in Unicode 14.0
itself; of all others Unicode promises that their NFC never changes. So a text has one digest for
ever, which tables of a newer Unicode, such as those of the package pyunormalize, would not give: it
would change whenever these were renewed.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from icl_core.papers.birth.shared.unicode_tables import (
    BLANKS,
    INVISIBLE,
    LINE_ENDS,
    UNASSIGNED_IN_14,
    members,
)

NEWLINE = ord("\n")
SPACE = ord(" ")
_RETURN = ord("\r")
_CRLF = "carriage return with line feed"
_NAMES = {  # of characters to which Unicode gives no name, or an older one
    "\t": "tab",
    "\v": "vertical tab",
    "\f": "form feed",
    "\r": "carriage return",
    "\x1b": "escape",
    "\x85": "next line",
    "\ufeff": "byte order mark",
}


@dataclass(frozen=True, eq=False)
class Characters:
    """What is counted of a text, and what became of the rest, each by name with its number.

    codes      code points in their order
    left_out   what cannot be seen
    blanks     what has become a space
    line_ends  what has become a newline
    """

    codes: np.ndarray
    left_out: Mapping[str, int]
    blanks: Mapping[str, int]
    line_ends: Mapping[str, int]


@lru_cache(maxsize=8)
def _members(table: str) -> np.ndarray:
    return members(table)


def characters_of(text: str) -> Characters:
    """Return what is counted of a text.

    A line end of any kind is one newline, a tab or another blank one space. What cannot be seen,
    such as a soft hyphen, a joiner, a control character or what is no character, is as if it were
    not there: its neighbours are neighbours.
    """
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    occurrences = np.bincount(codes)
    left_out = _named(occurrences, INVISIBLE)
    blanks = _named(occurrences, BLANKS)
    codes, line_ends = _with_one_line_end(codes[~_members(INVISIBLE)[codes]])
    codes = np.where(_members(BLANKS)[codes], np.uint32(SPACE), codes)
    return Characters(_composed(codes), left_out, blanks, line_ends)


def as_counted(text: str) -> str:
    """Return a text that was typed as it would be counted, so that its characters can be found
    among those of a counted text."""
    return _text_of(characters_of(text).codes)


def _with_one_line_end(codes: np.ndarray) -> tuple[np.ndarray, Mapping[str, int]]:
    """Return code points with each line end as one newline, and how many of which kind these
    were, newlines apart."""
    pairs = np.zeros(len(codes), bool)  # carriage returns of which a line feed follows
    pairs[:-1] = (codes[:-1] == _RETURN) & (codes[1:] == NEWLINE)
    codes = codes[~pairs]
    numbers = _named(np.bincount(codes), LINE_ENDS)
    if pairs.any():
        numbers = _by_number({_CRLF: int(pairs.sum()), **numbers})
    return np.where(_members(LINE_ENDS)[codes], np.uint32(NEWLINE), codes), numbers


def _composed(codes: np.ndarray) -> np.ndarray:
    """Return code points in the NFC of Unicode 14.0."""
    text = _text_of(codes)
    later = _members(UNASSIGNED_IN_14)[codes]
    bounds = [0, *(np.flatnonzero(np.diff(later)) + 1).tolist(), len(text)]
    pieces = [text[start:end] for start, end in pairwise(bounds)]
    is_later = bool(later[:1].any())  # so is every second piece from here
    for index in range(int(is_later), len(pieces), 2):
        pieces[index] = unicodedata.normalize("NFC", pieces[index])
    return np.frombuffer("".join(pieces).encode("utf-32-le", "surrogatepass"), np.uint32)


def _text_of(codes: np.ndarray) -> str:
    return codes.tobytes().decode("utf-32-le", "surrogatepass")


def _named(occurrences: np.ndarray, table: str) -> dict[str, int]:
    """Return how often each character of the table occurs, by its name, the most frequent first."""
    numbers: dict[str, int] = {}
    codes = np.flatnonzero(occurrences)
    for code in codes[_members(table)[codes]]:
        character = chr(code)
        name = _NAMES.get(character) or unicodedata.name(character, "").lower()
        numbers[name or f"U+{code:04X}"] = int(occurrences[code])
    return _by_number(numbers)


def _by_number(numbers: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(numbers.items(), key=lambda item: -item[1]))
