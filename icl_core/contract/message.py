"""Messages to visitors, on pages and in a terminal.

A refusal becomes a sentence, a name from a file, an address or the network is written so that it
can be shown, and a mistyped name is answered with the one that it probably stands for.
"""

import difflib
import re
from collections.abc import Iterable

# Of what Python does not call printable: the blanks, and what joins letters.
_HARMLESS = frozenset(
    "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
    "\u200c\u200d"
)
# A text of another direction between marks that isolate it, as `figures.character_labels` makes
# them: none is left open, and none stands within others.
_ISOLATED = re.compile("(\u200e\u2068[^\u200e\u2068\u2069]*\u2069)")
LONGEST_COMPARED = 80  # characters of a mistyped name that are compared


def sentence(words: str) -> str:
    """Return the words with a capital letter in front and a full stop behind."""
    return f"{words[:1].upper()}{words[1:]}."


def printable(text: object) -> str:
    """Return a name from outside in which no character can move a cursor, ring a bell or turn
    others around: each of these is written as its code, ESC as \\u001b, the override of directions
    as \\u202e, and a mark that isolates as \\u2068."""
    whole = str(text)
    if whole.isprintable():
        return whole
    return "".join(_code(sign) if _is_escaped(sign) else sign for sign in whole)


def printable_sentence(text: object) -> str:
    """Return a sentence that is `printable` except for the marks around what was isolated in it."""
    whole = str(text)
    if whole.isprintable():
        return whole
    pieces = _ISOLATED.split(whole)
    pieces[::2] = map(printable, pieces[::2])
    pieces[1::2] = [f"{text[:2]}{printable(text[2:-1])}{text[-1:]}" for text in pieces[1::2]]
    return "".join(pieces)


def printable_lines(text: object) -> str:
    """Return several lines of which each is a `printable_sentence`."""
    return "\n".join(printable_sentence(line) for line in str(text).split("\n"))


def _is_escaped(character: str) -> bool:
    return not character.isprintable() and character not in _HARMLESS


def _code(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def nearest_name(typed: str, names: Iterable[str]) -> str:
    """Return the name that is most like `typed`, whatever the case; empty if none is like it."""
    by_lower_case = {name.lower(): name for name in names}
    near = difflib.get_close_matches(typed[:LONGEST_COMPARED].lower(), by_lower_case, 1)
    return by_lower_case[near[0]] if near else ""


def did_you_mean(typed: str, names: Iterable[str]) -> str:
    """Return " (did you mean 'seeds'?)", which ends a sentence about `typed`; empty if no name is
    like it."""
    name = nearest_name(typed, names)
    return f" (did you mean {name!r}?)" if name else ""
