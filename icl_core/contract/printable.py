"""Names from a file, an address or the network, as a terminal and a page can show them."""

import unicodedata

# of control and format characters, what joins letters and what isolates a text of another direction
_HARMLESS = frozenset("\u200c\u200d\u2068\u2069")
_ESCAPED = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")  # categories of Unicode


def printable(text: object) -> str:
    """Return a text in which no character can move a cursor, ring a bell or turn others around:
    each of these is written as its code, ESC as \\u001b and the override of directions as \\u202e.
    """
    whole = str(text)
    if whole.isprintable():
        return whole
    return "".join(_code(each) if _is_escaped(each) else each for each in whole)


def printable_lines(text: object) -> str:
    """Return several lines of which each is `printable`."""
    return "\n".join(printable(line) for line in str(text).split("\n"))


def _is_escaped(character: str) -> bool:
    return unicodedata.category(character) in _ESCAPED and character not in _HARMLESS


def _code(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
