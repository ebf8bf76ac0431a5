"""What the scripts of several experiments share: a prompt of numbers as it is told, and one on y =
2 x."""

from icl_core.contract.story import Example

# Without a blank "0.4−0.5" would read as one number; lines break between pairs alone.
APART, WITHIN = (" ", ""), ("\N{NO-BREAK SPACE}", "")


def prompt(*pairs: tuple[str, str], query: str, answer: str) -> Example:
    """Pairs (x, y), each number followed by a blank, then the x whose y is asked for; an empty x is
    left out."""
    return Example(
        (*(piece for pair in pairs for piece in _pieces(*pair)), (query, "query")), answer
    )


def _pieces(x: str, y: str) -> tuple[tuple[str, str], ...]:
    return ((x, "x"), WITHIN, (y, "y"), APART) if x else ((y, "y"), APART)


EXAMPLE = prompt(("0.2", "0.4"), ("−0.5", "−1"), query="0.3", answer="0.6")
