"""Names from a file, an address or the network, as a terminal and a page can show them."""

import re

# Of what Python does not call printable: the blanks, and what joins letters.
_HARMLESS = frozenset(
    "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
    "\u200c\u200d"
)
# A text of another direction between marks that isolate it, as `figures.character_labels` makes
# them: none is left open, and none stands within others.
_ISOLATED = re.compile("(\u200e\u2068[^\u200e\u2068\u2069]*\u2069)")


def printable(text: object) -> str:
    """Return a name from outside in which no character can move a cursor, ring a bell or turn
    others around: each of these is written as its code, ESC as \\u001b, the override of directions
    as \\u202e, and a mark that isolates as \\u2068."""
    whole = str(text)
    if whole.isprintable():
        return whole
    return "".join(_code(each) if _is_escaped(each) else each for each in whole)


def printable_sentence(text: object) -> str:
    """Return a sentence that is `printable` except for the marks around what was isolated in it."""
    whole = str(text)
    if whole.isprintable():
        return whole
    pieces = _ISOLATED.split(whole)
    pieces[::2] = map(printable, pieces[::2])
    pieces[1::2] = [f"{each[:2]}{printable(each[2:-1])}{each[-1:]}" for each in pieces[1::2]]
    return "".join(pieces)


def printable_lines(text: object) -> str:
    """Return several lines of which each is a `printable_sentence`."""
    return "\n".join(printable_sentence(line) for line in str(text).split("\n"))


def _is_escaped(character: str) -> bool:
    return not character.isprintable() and character not in _HARMLESS


def _code(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
