"""How characters of a text are shown and typed. Different characters have different labels."""

import re
from collections.abc import Collection, Sequence

from icl_core.contract.message import printable
from icl_core.figures.combining_marks import COMBINING_MARKS

_SIGNS = {" ": "␣", "\n": "↵", "\t": "⇥"}
_CHARACTERS = {sign: character for character, sign in _SIGNS.items()}
# Where Unicode has letters that run from right to left, and room for more of them.
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
# Before and after a text with a direction of its own. The first of them is a letter from left to
# right that cannot be seen: a cell of a table takes its direction from its first letter.
_BEFORE, _AFTER = "\u200e\u2068", "\u2069"
MARKS = _BEFORE + _AFTER


def visible_characters(characters: Sequence[str]) -> list[str]:
    """Return the label of each character: a space as ␣, a newline as ↵, a tab as ⇥; these signs
    themselves as \\␣, \\↵ and \\⇥; an accent or a vowel sign, which has no letter here, on ◌.

    A letter that runs from right to left stands between marks that isolate it, so that it turns
    around nothing of what stands beside it. No title, axis or sentence need know that.
    """
    return [isolated(_on_a_circle(_label(character))) for character in characters]


def shown_name(name: object, most: int) -> str:
    """Return a name from outside for a sentence: the first `most` characters of what is printable
    of it, isolated."""
    return isolated(printable(name)[:most])


def isolated(text: str) -> str:
    """Return a printable text from outside for a sentence: between marks, if anything in it runs
    from right to left."""
    return f"{_BEFORE}{text}{_AFTER}" if _RIGHT_TO_LEFT.search(text) else text


def label_width(label: str) -> int:
    """Return how many characters of a label can be seen."""
    return len(unisolated(label))


def unisolated(text: str) -> str:
    """Return a text without the marks around letters that run from right to left."""
    return text.translate(dict.fromkeys(map(ord, MARKS)))


def typed_form(characters: Sequence[str]) -> str:
    """Return a sequence of characters as a visitor types it."""
    return "".join(map(_label, characters))


def typed_characters(text: str, vocabulary: Collection[str]) -> list[str]:
    """Return the characters that a visitor has typed: ␣ is a space, and \\␣ is ␣ itself where the
    vocabulary has it; ↵ and ⇥ alike."""
    signs = "".join(sign for sign in _CHARACTERS if sign in vocabulary)
    pieces = re.findall(rf"\\[{signs}]|.", text, re.DOTALL) if signs else list(text)
    return [_typed(piece, vocabulary) for piece in pieces]


def _typed(piece: str, vocabulary: Collection[str]) -> str:
    """Return the character that a sign stands for, or that a backslash is before."""
    character = _CHARACTERS.get(piece, piece[-1])
    is_only_a_sign = piece in vocabulary and character not in vocabulary
    return piece if is_only_a_sign else character


def _label(character: str) -> str:
    if character in _CHARACTERS:
        return f"\\{character}"
    return _SIGNS.get(character, character)


def _on_a_circle(label: str) -> str:
    return f"◌{label}" if label[:1] in COMBINING_MARKS else label
