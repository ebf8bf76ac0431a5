"""Names from a file, an address or the network, as a terminal and a page can show them."""


def printable(text: object) -> str:
    """Return a text in which no character can move a cursor, ring a bell or turn the text around:
    what is not printable is written as its escape, ESC as \\x1b and U+202E as \\u202e."""
    return "".join(each if each.isprintable() else _escape(each) for each in str(text))


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
