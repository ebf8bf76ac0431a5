"""What the stories of several experiments share: a prompt of numbers as a sentence shows it, and
one on y = 2 x."""

from itertools import chain, starmap

from icl_core.contract.story import Example

# Without a blank "0.4−0.5" would read as one number; lines break between pairs alone.
APART = (" ", "")
WITHIN = ("\N{NO-BREAK SPACE}", "")


def prompt(*pairs: tuple[str, str], query: str, answer: str) -> Example:
    """Return a prompt: pairs (x, y), each number followed by a blank, then the x whose y is asked
    for; an empty x is left out."""
    pieces = chain.from_iterable(starmap(_pieces, pairs))
    return Example((*pieces, (query, "query")), answer)


def _pieces(x: str, y: str) -> tuple[tuple[str, str], ...]:
    """Return the pieces of one pair, each with its kind."""
    return ((x, "x"), WITHIN, (y, "y"), APART) if x else ((y, "y"), APART)


EXAMPLE = prompt(("0.2", "0.4"), ("−0.5", "−1"), query="0.3", answer="0.6")
