"""What the scripts of several experiments share: a prompt of numbers as it is told, and one on y = 2 x."""

from icl_core.script import Example

APART = " ", ""  # else "0.4−0.5" would be read as one


def prompt(*pairs: tuple[str, str], query: str, answer: str) -> Example:
    """Pairs (x, y), a blank after each of the two, then the x whose y is asked for; an x that is "" is not told."""
    told = [piece for x, y in pairs for piece in ((x, "x"), APART, (y, "y"), APART) if piece != ("", "x")]
    return Example((*told, (query, "query")), answer)


EXAMPLE = prompt(("0.2", "0.4"), ("−0.5", "−1"), query="0.3", answer="0.6")
