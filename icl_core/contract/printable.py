"""Names from a file, an address or the network, as a terminal and a page can show them."""

# Of what Python does not call printable: the blanks, what joins letters, and what isolates a text
# of another direction.
_HARMLESS = frozenset(
    "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
    "\u200c\u200d\u200e\u2068\u2069"
)


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
    return not character.isprintable() and character not in _HARMLESS


def _code(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
