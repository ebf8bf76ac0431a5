"""What the scripts of several experiments share: a prompt of numbers as it is told, and one on y = 2 x."""

from icl_core.script import Example

# Else "0.4−0.5" would be read as one; a line breaks between pairs alone.
APART, WITHIN = (" ", ""), ("\N{NO-BREAK SPACE}", "")


def prompt(*pairs: tuple[str, str], query: str, answer: str) -> Example:
    """Pairs (x, y), a blank after each of the two, then the x whose y is asked for; an x that is "" is not told."""
    told = [piece for x, y in pairs for piece in (*(((x, "x"), WITHIN) if x else ()), (y, "y"), APART)]
    return Example((*told, (query, "query")), answer)


EXAMPLE = prompt(("0.2", "0.4"), ("−0.5", "−1"), query="0.3", answer="0.6")
